"""Middleware that rejects requests with a spec where the installed vLLM does not fit.

It knows nothing of vLLM but the command line, as nothing else may hold here.

vLLM itself ends some of these requests with an error, for the tag that carries a spec is one that
it cannot compile. But it drops the tag on `/v1/messages` and puts one of its own in its place where
a call is demanded, and nobody reads `vllm_xargs`: those would be served as if they had no spec.
"""

from __future__ import annotations

import json
import logging
import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from enforcer.request import carrier
from enforcer.vllm.config.names import reads_extra
from enforcer.vllm.server import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("vllm.enforcer")

_RUST = "VLLM_USE_RUST_FRONTEND"
_NOTHING = (
    "nothing is enforced on this server, so that a request with a spec of `enforcer.extra_body` "
    "(at `$.{where}`) is not served"
)
_MEND = "The server's operator has to mend this; without the spec, nothing would be enforced"
_why = "this vLLM does not fit"


def refuse_because(reason: str) -> None:
    """Remember why nothing is enforced, for the answers of this process."""
    global _why  # noqa: PLW0603 - the process's own
    _why = reason


def takes_middleware() -> bool:
    """Return whether a server takes any: with vLLM's Rust front end it does not start with one."""
    return os.environ.get(_RUST, "").strip().lower() in ("", "0", "false")


def from_cli_args(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `EngineArgs.from_cli_args`, which an API server calls before it is built."""

    def _from_cli_args(cls: Any, args: Any) -> Any:
        middleware = getattr(args, "middleware", None)
        # The logits processor has its own ways, and may be served where the plugin may not.
        if isinstance(middleware, list) and not reads_extra(
            getattr(args, "logits_processors", None)
        ):
            name = f"{RefuseSpecs.__module__}.{RefuseSpecs.__name__}"
            args.middleware = [*middleware, *({name} - {*middleware})]
        return original(cls, args)

    return _from_cli_args


class RefuseSpecs(bodies.BodyCheck):
    """Answers a request that brings a spec with HTTP 501, whatever the route; others pass it."""

    async def check(self, raw: bytes, scope: Any) -> bodies.Rejection | None:  # noqa: ARG002
        """Reject a body with a spec."""
        where = _place(raw)
        if where is None:
            return None
        logger.warning("enforcer: %s", _NOTHING.format(where=where))
        message = f"{_NOTHING.format(where=where)}: {_why}. {_MEND}"
        return bodies.Rejection(HTTPStatus.NOT_IMPLEMENTED, message, where)


def _place(raw: bytes) -> str | None:
    """Return which field of a body carries a spec; None for a body that carries none."""
    if not carrier.may_be_in(raw):
        return None
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None  # vLLM says what is wrong with it
    within = body.get("sampling_params") if isinstance(body, dict) else None  # of token ids
    return _field(body) or (f"sampling_params.{field}" if (field := _field(within)) else None)


def _field(body: Any) -> str | None:
    if not isinstance(body, dict):
        return None
    own = body.get("structured_outputs")
    tag = own.get("structural_tag") if isinstance(own, dict) else None
    if carrier.from_structural_tag(tag) is not None:
        return "structured_outputs.structural_tag"
    carriers = (key for key in ("vllm_xargs", "extra_args") if carrier.from_extra(body.get(key)))
    return next((f"{key}.{carrier.KEY}" for key in carriers), None)
