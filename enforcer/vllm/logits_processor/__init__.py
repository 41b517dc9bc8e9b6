"""The logits processor, for servers that cannot have the plugin, and the middleware beside it."""

from enforcer.vllm.logits_processor.early import RefuseEarly
from enforcer.vllm.logits_processor.processor import EnforcerLogitsProcessor

__all__ = ["EnforcerLogitsProcessor", "RefuseEarly"]
