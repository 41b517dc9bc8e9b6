"""Where nothing is served unenforced: the engine refuses what brings nothing to enforce.

Owns: which requests these are, and which of them the operator excepts. Must not know: how
requests are enforced. Runs in the engine process, behind which no front end can hide: not a
foreign one, not gRPC, not a route that takes token ids. vLLM's own asks beforehand, so that its
clients get a 400.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMValidationError

from enforcer.request import spec as specs
from enforcer.vllm import metrics, served, settings, stock
from enforcer.vllm.names import reads_extra

if TYPE_CHECKING:
    from collections.abc import Callable

REASON = (
    f"{specs.REQUIRES}, and this one brings no tools to the engine: send it with what "
    "`enforcer.extra_body` builds; chat routes bring them by themselves where the server has "
    "--tool-call-parser NAME_enforced"
)
# As vLLM's own front end names the requests of /v1/completions.
_COMPLETIONS = "cmpl-"


class RequestKind(Enum):
    """Requests that can be excepted."""

    COMPLETIONS = "completions"  # by the name that the front end has given them
    STRUCTURED = "structured"  # with structured outputs of vLLM's own


def preprocess_add_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `EngineCore.preprocess_add_request`, by which every request comes into the engine.

    vLLM answers what it raises: in 0.32 with HTTP 500, in 0.33 with 400.
    """

    def _preprocess_add_request(self: Any, request: Any) -> Any:
        if lacks(request, self.vllm_config):
            metrics.failed(metrics.Failure.UNENFORCED, request.request_id)
            raise VLLMValidationError(REASON)
        return original(self, request)

    return _preprocess_add_request


def lacks(request: Any, vllm_config: Any) -> bool:
    """Tell whether a request to the engine lacks what this server requires of it."""
    chosen = settings.current()
    loaded = vllm_config.model_config.logits_processors
    return chosen.requires() and not _may_pass(request, chosen.excepted(), loaded)


def _may_pass(request: Any, excepted: frozenset[str], loaded: object) -> bool:
    params = request.sampling_params
    if params is None:
        return True  # nothing is generated
    if specs.from_extra(params.extra_args) is not None and reads_extra(loaded):
        return True
    own = params.structured_outputs
    if own is not None and not own.all_constraints_none():
        tag = own.structural_tag
        if specs.from_structural_tag(tag) is not None:
            return True
        if any(stock.concerns(tag, dialect) for dialect in served.dialects()):
            return True
        if RequestKind.STRUCTURED.value in excepted:
            return True
    return RequestKind.COMPLETIONS.value in excepted and request.request_id.startswith(_COMPLETIONS)
