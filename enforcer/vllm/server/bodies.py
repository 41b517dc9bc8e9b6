"""A request's body, read before vLLM has it and no sooner than vLLM asks for it.

Owns: how an ASGI application (https://asgi.readthedocs.io) around vLLM's answers in its place by
what is in the body. Must not know: what is refused, and why; vLLM.

What vLLM's `--middleware` names stands around everything else, its check of the API key included.
So nothing is read, or worked out, for a client whom vLLM turns away without a look at the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    _App = Callable[..., Awaitable[None]]

_T = TypeVar("_T")


async def serve(
    app: _App,
    scope: Any,
    receive: Callable[[], Awaitable[Any]],
    send: Callable[[Any], Awaitable[None]],
    *,
    refuse: Callable[[bytes], Awaitable[_T | None]],
    answer: Callable[[Any, _T], Awaitable[None]],
) -> None:
    """Serve one HTTP request, or answer it in the place of whom it was for.

    Args:
        app: whom it is for; one that is refused looks to it as if its client had gone.
        scope, receive, send: as an ASGI application gets them.
        refuse: says, of the whole body, why it is refused; None where it is not.
        answer: sends that.

    """
    pending: Iterator[Any] | None = None
    why: _T | None = None

    async def reading() -> Any:
        nonlocal pending, why
        if pending is None:
            came = [await receive()]
            while came[-1].get("more_body"):
                came.append(await receive())
            why = await refuse(b"".join(message.get("body", b"") for message in came))
            pending = iter(came if why is None else ())
        if why is not None:
            return {"type": "http.disconnect"}
        message = next(pending, None)
        return await receive() if message is None else message

    async def sending(message: Any) -> None:
        if why is None:
            await send(message)

    try:
        await app(scope, reading, sending)
    except Exception:
        if why is None:
            raise  # what becomes of one who has gone is of no interest
    if why is not None:
        await answer(send, why)
