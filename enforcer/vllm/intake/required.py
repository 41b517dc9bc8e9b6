"""Servers that serve nothing unenforced (`ENFORCER_REQUIRE`), and requests that end V2's worker.

The engine rejects both, since requests reach it without the API server too: by other front ends,
gRPC, or routes that take token ids. The API server asks before it, so that its clients get a 400,
and before a streamed reply begins.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from vllm.exceptions import VLLMValidationError

from enforcer.request import carrier
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import reads_extra
from enforcer.vllm.intake import sampling_options
from enforcer.vllm.intake.rejections import option_rejection
from enforcer.vllm.native import native_tags
from enforcer.vllm.observe import metric_defs, metrics
from enforcer.vllm.server import served_model

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
    """Kinds of requests that `ENFORCER_REQUIRE_EXCEPT` may exempt."""

    COMPLETIONS = "completions"  # by route; in the engine by the form of the request's id
    STRUCTURED = "structured"  # with structured outputs of vLLM's own


def preprocess_add_request(original: Any, self: Any, request: Any) -> Any:
    """Wrap `EngineCore.preprocess_add_request`, by which every request comes into the engine.

    vLLM answers what it raises: in 0.32 with HTTP 500, in 0.33 with 400.
    """
    config = self.vllm_config
    if settings.current().require:
        named = _COMPLETIONS.match(request.request_id) is not None
        if missing := unmet(request, config.model_config, is_completion=named):
            metrics.failed(metric_defs.Failure.UNENFORCED, request.request_id)
            raise VLLMValidationError(missing)
    sampling_options.reject_over_worker_limits(request.sampling_params, config)
    return original(self, request)


def reject_unmet(request: Any, model_config: Any, *, is_completion: bool) -> None:
    """Reject a request that lacks what this server requires; arguments as for `unmet`."""
    if missing := unmet(request, model_config, is_completion=is_completion):
        raise option_rejection("tools", missing)


def unmet(request: Any, model_config: Any, *, is_completion: bool) -> str | None:
    """Return what a request lacks of what this server requires, as a message; None if nothing.

    Args:
        request: the engine's request, or the request as its route takes it.
        model_config: vLLM's.
        is_completion: whether it is a raw completion, as far as the caller can tell.

    Raises:
        ValueError: the sampling options are invalid; vLLM rejects them next.

    """
    chosen = settings.current()
    if not chosen.require:
        return None
    params = carrier.declared(request, "sampling_params")
    if params is None and hasattr(type(request), "to_sampling_params"):
        params = request.to_sampling_params(1, {})
    if params is None:  # nothing is generated
        return None
    excepted, extra = chosen.require_except, carrier.from_extra(params.extra_args)
    if is_completion and RequestKind.COMPLETIONS.value in excepted:
        return None
    if extra is not None and reads_extra(model_config.logits_processors):
        return None
    own = params.structured_outputs
    if own is None or own.all_constraints_none():
        return _BARE
    tag = own.structural_tag
    if carrier.from_structural_tag(tag) is not None or RequestKind.STRUCTURED.value in excepted:
        return None
    concerned = [
        dialect for dialect in served_model.dialects() if native_tags.concerns(tag, dialect)
    ]
    if not concerned:
        return _BARE
    free = [name for dialect in concerned for name in native_tags.left_free(tag, dialect)]
    names = ", ".join(f"{name!r:.80}" for name in free[:_NAMED])
    more = ", …" if len(free) > _NAMED else ""
    return _LEFT_FREE.format(names=names + more) if free else None
