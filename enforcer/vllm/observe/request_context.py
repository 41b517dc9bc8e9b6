"""The context of the request that the current task serves: the plugin's only `ContextVar`.

vLLM's own calls reach a refusal, a line of the log or the end of a stream's item without the
request object, so that no argument can carry these facts. All other facts are notes beside the
request object (`server/side_table.py`). `intake.requests.write_spec` sets `client_path` for each
request, and `intake.rejections` applies it to errors. A context is immutable: a task that copies it
keeps its own. Tasks of one HTTP request share the `HttpExchange`, as vLLM renders a prompt in
another task than it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from enforcer.request.tools import index_at

_LONGEST = 64  # characters; an id or a name is whatever a client has written
_HEADER = b"x-request-id"


@dataclass(slots=True)
class HttpExchange:
    """One HTTP request and its answer, shared by all tasks that serve it.

    Attributes:
        header: the request's `X-Request-Id`; empty if it has none.
        is_completion: whether it is a raw completion; clients choose ids, so none tells.

    """

    header: str = ""
    is_completion: bool = False


class RequestContext(NamedTuple):
    """Facts about the request that the current task serves.

    Attributes:
        exchange: the HTTP request that it came with.
        id: the client's id, or vLLM's once the engine is asked; empty if there is none to show.
        tools: the tools' names, in the order of `$.tools`.
        client_path: maps a path in the spec to the path in the client's body.
        is_cut: whether the reply that was read last ended inside, or right after, its calls.

    """

    exchange: HttpExchange
    id: str = ""
    tools: Collection[object] = ()
    client_path: Callable[[str], str] = str
    is_cut: bool = False


_current: ContextVar[RequestContext | None] = ContextVar("_current", default=None)


def current() -> RequestContext:
    """Return the context of the current task's request; an empty one where none has begun."""
    return _current.get() or RequestContext(HttpExchange())


def change(**fields: Any) -> None:
    """Replace fields of the current task's `RequestContext`."""
    _current.set(current()._replace(**fields))


def read_header(scope: Mapping[str, Any]) -> None:
    """Begin the context of an HTTP request, with the id in its headers."""
    values = (value for name, value in scope.get("headers", ()) if name == _HEADER)
    _current.set(RequestContext(HttpExchange(header=next(values, b"").decode("latin-1"))))


def begin(own_id: object, *, is_completion: bool = False) -> None:
    """Begin the context of a request, with the id that its client has given it.

    A header's id takes precedence over the body's, as it does for vLLM.

    Args:
        own_id: the body's `request_id`; None if its client has written none.
        is_completion: whether it is a raw completion.

    """
    exchange = current().exchange
    exchange.is_completion = is_completion
    _current.set(RequestContext(exchange))
    known_as(exchange.header or own_id)


def known_as(request_id: object) -> None:
    """Set the id by which vLLM knows the request."""
    change(id=request_id if isinstance(request_id, str) else "")


def told(path: str = "$") -> dict[str, str]:
    """Return a log line's fields on the request, and on the tool that a path in a spec leads to.

    Returns:
        `request` and `tool`, each at most 64 characters; empty if not known. If vLLM's id does not
        contain the header's id (`/v1/responses`), the header's, as long, follows it.

    """
    at, of = index_at(path), current()
    name = "" if at is None else next(islice(of.tools, at, None), "")
    given, header = of.id[:_LONGEST], of.exchange.header[:_LONGEST]
    return {
        "request": given if header in given else f"{given} {header}".strip(),
        "tool": name[:_LONGEST] if isinstance(name, str) else "",
    }


def told_of_call(name: str) -> dict[str, str]:
    """Return a log line's fields on the request, and on the tool that a call names."""
    return {**told(), "tool": name[:_LONGEST]}
