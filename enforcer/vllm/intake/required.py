"""Where nothing is served unenforced: the engine refuses what brings nothing to enforce, or less.

Owns: which requests these are, and which of them the operator excepts. Must not know: how
requests are enforced. Runs in the engine process, behind which no front end can hide: not a
foreign one, not gRPC, not a route that takes token ids. vLLM's own asks beforehand, so that its
clients get a 400, and before a streamed reply begins.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMValidationError

from enforcer.request import carrier
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import reads_extra
from enforcer.vllm.intake import worker_limits
from enforcer.vllm.native import stock
from enforcer.vllm.observe import families, metrics
from enforcer.vllm.server import served_model

if TYPE_CHECKING:
    from collections.abc import Callable

_BARE = (
    f"{carrier.REQUIRES}, and this one brings no tools to the engine: send it with what "
    "`enforcer.extra_body` builds; chat routes bring them by themselves where the server has "
    "--tool-call-parser NAME_enforced, and ENFORCER_REQUIRE_EXCEPT=completions serves plain text"
)
_LEFT_FREE = (
    f"{carrier.REQUIRES}, and vLLM's front end leaves the arguments of {{names}} free, as it does "
    "with tools that declare no `parameters` or do not say `strict`: say `strict: true`, send "
    "what `enforcer.extra_body` builds, or serve with --tool-strict-level parameter or with "
    "--tool-call-parser NAME_enforced"
)
_NAMED = 3  # tools, in a message
# As vLLM's own front end names the requests of /v1/completions, and each of several replies. By
# /v1/responses a client's id comes as it is, so that the front end looks at the route, not at this.
_COMPLETIONS = re.compile(r"(?:\d+_)?cmpl-")


class RequestKind(Enum):
    """Requests that can be excepted."""

    COMPLETIONS = "completions"  # by their route; in the engine by the front end's name for them
    STRUCTURED = "structured"  # with structured outputs of vLLM's own


def preprocess_add_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `EngineCore.preprocess_add_request`, by which every request comes into the engine.

    vLLM answers what it raises: in 0.32 with HTTP 500, in 0.33 with 400.
    """

    def _preprocess_add_request(self: Any, request: Any) -> Any:
        named = _COMPLETIONS.match(request.request_id) is not None
        missing = unmet(request, self.vllm_config, is_completion=named)
        if missing is not None:
            metrics.failed(families.Failure.UNENFORCED, request.request_id)
            raise VLLMValidationError(missing)
        worker_limits.refuse(request.sampling_params, self.vllm_config)
        return original(self, request)

    return _preprocess_add_request


def unmet(request: Any, vllm_config: Any, *, is_completion: bool) -> str | None:
    """Say what a request to the engine lacks of what this server requires; None if nothing.

    Args:
        request: the engine's.
        vllm_config: likewise.
        is_completion: whether it is a raw completion, as far as whoever asks can tell.

    """
    params = request.sampling_params
    return _unmet(params, vllm_config.model_config, is_completion=is_completion)


def unmet_in(body: Any, model_config: Any, *, is_completion: bool) -> str | None:
    """Say the same of a request whose prompt has been rendered, and is no engine's yet.

    Args:
        body: the request, as its route takes it.
        model_config: vLLM's.
        is_completion: whether it is a raw completion.

    Raises:
        ValueError: vLLM takes no such options, and would say so next.

    """
    if not settings.current().require:
        return None
    params = getattr(body, "sampling_params", None)
    if params is None and hasattr(body, "to_sampling_params"):
        params = body.to_sampling_params(1, {})  # else nothing is generated of it
    return _unmet(params, model_config, is_completion=is_completion)


def _unmet(params: Any, model_config: Any, *, is_completion: bool) -> str | None:
    chosen = settings.current()
    if not chosen.require or params is None:  # without parameters nothing is generated
        return None
    excepted = chosen.require_except
    if is_completion and RequestKind.COMPLETIONS.value in excepted:
        return None
    return _lacking(params, excepted, model_config.logits_processors)


def _lacking(params: Any, excepted: frozenset[str], loaded: object) -> str | None:
    if carrier.from_extra(params.extra_args) is not None and reads_extra(loaded):
        return None
    own = params.structured_outputs
    if own is None or own.all_constraints_none():
        return _BARE
    tag = own.structural_tag
    if carrier.from_structural_tag(tag) is not None or RequestKind.STRUCTURED.value in excepted:
        return None
    concerned = [dialect for dialect in served_model.dialects() if stock.concerns(tag, dialect)]
    if not concerned:
        return _BARE
    free = [name for dialect in concerned for name in stock.left_free(tag, dialect)]
    if not free:
        return None
    names = ", ".join(f"{name!r:.80}" for name in free[:_NAMED])
    return _LEFT_FREE.format(names=names + (", …" if len(free) > _NAMED else ""))
