"""Which request the current task is about, for lines of the log and for headers of replies.

Owns: the id and the names of the tools, from where a request comes in to where it is refused or
its reply is read, in the same task; the header that gives an id, and the one that says when to come
again; whether it is a completion, which no id tells, for clients write those. Must not know: what
is refused, and why.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

_TOOL = re.compile(r"\$\.tools\[(\d{1,9})\]")
_LONGEST = 64  # characters; an id or a name is whatever a client has written
_HEADER = b"x-request-id"
_header: ContextVar[str] = ContextVar("_header", default="")
_id: ContextVar[str] = ContextVar("_id", default="")
_names: ContextVar[tuple[object, ...]] = ContextVar("_names", default=())
# Put in by whoever refuses, which may be in a task of its own, with a copy of what is known here.
_again: ContextVar[list[bytes]] = ContextVar("_again")
# Likewise by whoever renders a completion: vLLM streams its reply in another task.
_completes: ContextVar[list[bool]] = ContextVar("_completes")
_SECONDS = b"1"  # after which a client is to come again


class RequestIdMiddleware:
    """Reads the header `X-Request-Id` of what comes in, as vLLM does once a prompt is rendered.

    An ASGI application around another (https://asgi.readthedocs.io), for vLLM's `--middleware`.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        read_header(scope)

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *when_to_come()]}
            await send(message)

        await self._app(scope, receive, answer)


def read_header(scope: Mapping[str, Any]) -> None:
    """Take the id in the headers of what comes in, if there is one, and forget what was known."""
    known_as("")
    name_tools(())
    _again.set([])
    _completes.set([])
    values = (value for name, value in scope.get("headers", ()) if name == _HEADER)
    _header.set(next(values, b"").decode("latin-1"))


def is_to_come_again() -> None:
    """Note that the request was refused for want of room alone."""
    if (found := _again.get(None)) is not None:
        found.append(_SECONDS)


def when_to_come() -> list[tuple[bytes, bytes]]:
    """Give the header `Retry-After` for the answer to such a request; clients wait for as long."""
    return [(b"retry-after", seconds) for seconds in (_again.get(None) or ())[:1]]


def completes(*, whether: bool) -> None:
    """Note whether the request whose prompt is being rendered is a completion."""
    found = _completes.get(None)
    if found is None:  # no request of HTTP's; one that comes later in this task says so anew
        _completes.set(found := [])
    found[:] = [whether]


def is_completion() -> bool:
    """Tell whether it is one."""
    return any(_completes.get([]))


def begin(request: Any) -> None:
    """Take the id that a client has given its request; one that vLLM makes up is told to nobody.

    Of a header and a field in the body the header counts, as it does for vLLM.
    """
    given = "request_id" in getattr(request, "model_fields_set", ())
    known_as(_header.get() or (request.request_id if given else ""))


def known_as(request_id: object) -> None:
    """Take the id by which vLLM knows a request."""
    _id.set(request_id if isinstance(request_id, str) else "")


def name_tools(names: Sequence[object]) -> None:
    """Take the names of the tools, in the order of `$.tools`."""
    _names.set(tuple(names))


def told(path: str = "$") -> dict[str, str]:
    """Give what a line says of the request, and of the tool that a path in a spec leads to.

    Returns:
        `request` and `tool`, each at most 64 characters; empty where it is not known. The header's
        id, of as many, stands behind one that vLLM has not made of it (`/v1/responses`).

    """
    found = _TOOL.match(path)
    at = int(found[1]) if found else -1
    names = _names.get()
    name = names[at] if 0 <= at < len(names) else ""
    given, header = _id.get()[:_LONGEST], _header.get()[:_LONGEST]
    return {
        "request": given if header in given else f"{given} {header}".strip(),
        "tool": name[:_LONGEST] if isinstance(name, str) else "",
    }


def told_of_call(name: str) -> dict[str, str]:
    """Give the same of a request whose reply is read, and of a call in it that names a tool."""
    return {**told(), "tool": name[:_LONGEST]}
