"""Middleware around vLLM's routes (https://asgi.readthedocs.io), for its `--middleware`.

vLLM's `--middleware` is outside everything else, its check of the API key included. So a body is
read when vLLM asks for it, and nothing is worked out for a client that vLLM turns away before.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from enforcer.vllm.observe import request_context
from enforcer.vllm.server import pacing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

_MESSAGES = "/v1/messages"
_COME_AGAIN = (b"retry-after", b"1")  # seconds


class RequestMiddleware:
    """Begins each request's context, paces large bodies, and adds `Retry-After` to each 503.

    It reads the header `X-Request-Id`, as vLLM does only once a prompt is rendered.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_context.read_header(scope)
        size = 0

        async def read() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if message["type"] == "http.request" and not message.get("more_body"):
                await pacing.turn(size)
            return message

        async def answer(message: Any) -> None:
            if message.get("status") == HTTPStatus.SERVICE_UNAVAILABLE:
                headers = [*message.get("headers", ())]
                if _COME_AGAIN[0] not in {name.lower() for name, _ in headers}:
                    message = {**message, "headers": [*headers, _COME_AGAIN]}
            await send(message)

        await self._app(scope, read, answer)


class BodyCheck(RequestMiddleware):
    """Checks bodies too, and answers requests that it rejects in vLLM's place.

    A rejected request looks to the application as if its client had gone.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        super().__init__(partial(self._checked, app))

    def concerns(self, path: str) -> bool:
        """Return whether bodies that are sent to a path are checked."""
        raise NotImplementedError

    async def check(self, raw: bytes, scope: Any) -> Exception | None:
        """Return why a request with this body is rejected; None where it is not."""
        raise NotImplementedError

    async def _checked(self, app: Any, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") != "POST" or not self.concerns(scope["path"]):
            await app(scope, receive, send)
            return
        pending: Iterator[Any] | None = None
        rejected: Exception | None = None

        async def reading() -> Any:
            nonlocal pending, rejected
            if pending is None:
                came = [await receive()]
                while came[-1].get("more_body"):
                    came.append(await receive())
                raw = b"".join(message.get("body", b"") for message in came)
                rejected = await self.check(raw, scope)
                pending = iter(came)
            if rejected is not None:
                return {"type": "http.disconnect"}
            return next(pending, None) or await receive()

        async def sending(message: Any) -> None:
            if rejected is None:
                await send(message)

        try:
            await app(scope, reading, sending)
        except Exception:
            if rejected is None:
                raise  # else the application only says that its client has gone
        if rejected is not None:
            await _answer(rejected, scope["path"])(scope, receive, send)


def _answer(error: Exception, path: str) -> Any:
    """Return vLLM's answer to an error, in the form of the route."""
    from fastapi.responses import JSONResponse
    from vllm.entrypoints.anthropic.api_router import translate_error_response
    from vllm.entrypoints.serve.exception_handling.error_response import create_error_response

    answer = create_error_response(error)
    if path.endswith(_MESSAGES):
        return translate_error_response(answer)
    return JSONResponse(answer.model_dump(), answer.error.code)
