"""What is left where the installed vLLM does not fit: a request that brings a spec is refused.

Owns: an ASGI application (https://asgi.readthedocs.io) around vLLM's that reads the bodies which
carry a spec, and how it gets onto the command line. Must not know: anything of vLLM but that, for
whatever else is known of it may not hold here; how anything is enforced.

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
    from collections.abc import Awaitable, Callable, Iterator

logger = logging.getLogger("vllm.enforcer")

_MESSAGES = "/v1/messages"
_RUST = "VLLM_USE_RUST_FRONTEND"
_why = "this vLLM does not fit"


def refuse_because(reason: str) -> None:
    """Remember why nothing is enforced, for the answers of this process."""
    global _why  # noqa: PLW0603 - the process's own
    _why = reason


def takes_middleware() -> bool:
    """Tell whether a server takes any: with vLLM's Rust front end it does not start with one."""
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


class RefuseSpecs:
    """Answers a request that brings a spec with HTTP 501, whatever the route; others pass it."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return

        async def refuse(raw: bytes) -> str | None:
            return _place(raw)

        async def answer(send: Any, where: str) -> None:
            logger.warning(
                "enforcer: nothing is enforced on this server, so a request with a spec in "
                "%s is refused",
                where,
            )
            await _answer(send, where, is_anthropic=scope.get("path", "").endswith(_MESSAGES))

        await bodies.serve(self._app, scope, receive, send, refuse=refuse, answer=answer)


def _place(raw: bytes) -> str | None:
    """Say which field of a body carries a spec; None for a body that carries none."""
    if not carrier.may_be_in(raw):
        return None
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None  # vLLM says what is wrong with it
    return next(_places(body, ""), None)


def _places(body: Any, below: str) -> Iterator[str]:
    if not isinstance(body, dict):
        return
    own = body.get("structured_outputs")
    tag = own.get("structural_tag") if isinstance(own, dict) else None
    if carrier.from_structural_tag(tag) is not None:
        yield f"{below}structured_outputs.structural_tag"
    for extra in ("vllm_xargs", "extra_args"):
        if carrier.from_extra(body.get(extra)) is not None:
            yield f"{below}{extra}.{carrier.KEY}"
    if not below:  # of a body of token ids
        yield from _places(body.get("sampling_params"), "sampling_params.")


async def _answer(send: Any, where: str, *, is_anthropic: bool) -> None:
    message = (
        f"nothing is enforced on this server, so that a request with a spec of "
        f"`enforcer.extra_body` (at `$.{where}`) is not served: {_why}. This is for the server's "
        "operator to mend; without the spec, the request would be served unenforced"
    )
    status = HTTPStatus.NOT_IMPLEMENTED
    said: dict[str, Any] = {"type": "api_error" if is_anthropic else "NotImplementedError"}
    said["message"] = message
    content: dict[str, Any] = {"error": said | {"param": where, "code": int(status)}}
    if is_anthropic:
        content = {"type": "error", "error": said}
    body = json.dumps(content).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
