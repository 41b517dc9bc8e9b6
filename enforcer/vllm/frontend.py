"""What is refused before generation begins, as HTTP 400.

Owns: checking a spec in the API server, on vLLM's worker threads, whatever route it
came by. Must not know: parsers, the engine process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMValidationError

from enforcer import spec as specs
from enforcer.errors import RequestError
from enforcer.vllm import runtime
from enforcer.vllm.requests import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

_BACKENDS = ("auto", "xgrammar")


def validate_structured_outputs(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SamplingParams._validate_structured_outputs`, which every route passes."""

    def _validate_structured_outputs(
        self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any
    ) -> None:
        wanted = self.structured_outputs
        spec = specs.from_structural_tag(wanted.structural_tag) if wanted else None
        if spec is not None:
            _refuse(spec, structured_outputs_config)
        original(self, model_config, structured_outputs_config, tokenizer)

    return _validate_structured_outputs


def _refuse(spec: str, config: Any) -> None:
    if config is None or config.backend not in _BACKENDS:
        raise VLLMValidationError(
            "the enforcer rides on vLLM's xgrammar backend, and this server was started with "
            f"{getattr(config, 'backend', None)!r}: its operator must remove `backend` from "
            "--structured-outputs-config"
        )
    try:
        runtime.check(spec)
    except RequestError as error:
        raise refusal(error) from error
