"""Turns of incomplete requests for `enforcer explain`.

Tools that cannot be enforced are set aside, so that the others can be explained; the arguments of
one call are made a turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from enforcer.errors import ConfigurationError, SchemaError
from enforcer.layouts.pattern import Field
from enforcer.request import history
from enforcer.request.tools import index_at
from enforcer.tools.explain import ExplainedMatcher, explained, trace
from enforcer.turn import pattern
from enforcer.turn.dialect import FREE_TEXT, Dialect, Ids, Segment, written

if TYPE_CHECKING:
    from enforcer.api import Enforcer
    from enforcer.tools.cli.chat_request import ChatRequest


def start(
    enforcer: Enforcer, request: ChatRequest, prompt_ids: Sequence[int]
) -> tuple[ExplainedMatcher, dict[str, SchemaError]]:
    """Start the turn of a request, without the schemas of tools that cannot be enforced.

    Returns:
        The turn, and the error of each tool that cannot be enforced, by its name.

    Raises:
        RequestError: the request is refused for something else than a tool's schema.

    """
    fields, aside = dict(request.fields), dict[str, SchemaError]()
    while True:
        try:
            return explained(enforcer, enforcer.read_request(**fields), prompt_ids), aside
        except SchemaError as error:
            at, tools = index_at(error.path), list(fields["tools"])
            if at is None or not (function := tools[at]["function"]).get("parameters"):
                raise  # not a schema's fault
            aside[str(function["name"])] = error.at(request.place)
            tools[at] = {**tools[at], "function": {**function, "parameters": {}}}
            fields["tools"] = tools


def with_call(text: str, name: str, request: ChatRequest, dialect: Dialect) -> str:
    """Return the turn that begins with a call to a tool, of the arguments alone.

    Raises:
        ConfigurationError: no such tool is declared, or the text has a turn's markers already.

    """
    names = [str(tool["function"]["name"]) for tool in request.fields["tools"]]
    if name not in names:
        raise ConfigurationError(
            f"--call {name}: no such tool is declared; there are {', '.join(names) or 'none'}"
        )
    if has_marker(text, dialect):
        raise ConfigurationError(
            "--call takes arguments alone, and the TEXT has markers of a turn: leave --call out"
        )
    before = history.count_calls(request.fields.get("messages"))
    return call_opening(dialect, name, before) + text


def call_opening(dialect: Dialect, name: str, before: int) -> str:
    """Write the shortest text before the arguments of a turn's first call.

    Args:
        dialect: the format.
        name: of the tool.
        before: how many calls the dialog has already.

    """
    index = 1 if dialect.ids is Ids.MESSAGE else before
    texts = {dialect.turn_state: ""}
    states = [dialect.turn_state]
    for at in states:
        state, text = dialect.states[at], texts[at]
        if state.segment is Segment.ARGUMENTS:
            return text
        if state.segment is Segment.HEADER:
            text += dialect.header_text(name, index)
        for piece, to in _ways(dialect, at):
            if to not in texts:
                texts[to] = text + piece
                states.append(to)
    raise ConfigurationError(f"how a call begins in the format {dialect.name} is not known")


def _ways(dialect: Dialect, at: str) -> Iterator[tuple[str, str]]:
    state = dialect.states[at]
    for role, transition in state.on.items():
        for marker in dialect.markers[role]:
            pieces = pattern.pieces_of(marker, pattern.FIELDS)
            if not any(isinstance(piece, Field) for piece in pieces):  # an id is nobody's to make
                yield written(pieces, "", 0), transition.to
    if state.then is not None:
        yield "", state.then


def has_marker(text: str, dialect: Dialect) -> bool:
    """Return whether a control token is spelled in a text."""
    return any(is_marker for is_marker, _ in trace.split_markers(text, dialect.controls))


def hint(text: str, matcher: ExplainedMatcher, dialect: Dialect) -> str:
    """Return a hint if bare arguments were read as the model's text; else empty."""
    bare = text.lstrip().startswith("{") and not has_marker(text, dialect)
    names = matcher.envelope.names
    in_text = dialect.states[matcher.state].segment in FREE_TEXT and not matcher.position.calls
    if not (bare and names and in_text) or matcher.envelope.text_format is not None:
        return ""
    return (
        "the TEXT begins no call, so that it was read as what the model says; for the arguments "
        f"of a call, name its tool: --call {names[0]}"
    )
