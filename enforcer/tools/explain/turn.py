"""A matcher with words for the legal continuations, and for why a token id is illegal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from enforcer.tools.explain.expecting import ExplainedPosition, is_set
from enforcer.tools.explain.text import FollowedGrammar, FollowedText, Inside
from enforcer.tools.explain.words import Expected, Explanation, in_words, shown
from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.envelope import Due
from enforcer.turn.ids import number
from enforcer.turn.matcher import Matcher

if TYPE_CHECKING:
    from enforcer.api import Enforcer
    from enforcer.request.spec import Spec

_WORD = re.compile(r"\w+")
_TOO_LONG = "would leave too few tokens to finish the turn within its budget"


class ExplainedMatcher(Matcher):
    """A matcher with words for what it allows; `explained` makes it."""

    def expected(self) -> Expected:
        """Return what may come next, with the paths of the schema; takes milliseconds.

        With some hundred alternatives of an `anyOf` that are still open, up to a second.
        """
        return ExplainedPosition(self).expected

    def explain(self, token_id: int) -> Explanation:
        """Return why an id may come next or may not; takes as long as `expected`."""
        return why(ExplainedPosition(self), number(token_id, "an id"))


def explained(
    enforcer: Enforcer,
    spec: Spec,
    prompt_ids: Sequence[int] | None = None,
    budget: int | None = None,
    **more: Any,
) -> ExplainedMatcher:
    """Start a turn whose matcher remembers the texts of calls, and has words for them.

    Args:
        enforcer: of the served model.
        spec: what `Enforcer.read_request` returns.
        prompt_ids: as for `Enforcer.start`, and so are the others.
        budget: likewise.
        **more: likewise.

    """
    options, layout = spec.resolve(enforcer.options), enforcer.table.layout
    follow = partial(FollowedGrammar, enforcer.vocabulary, options, layout, enforcer.compiled)
    made = enforcer.start(spec, prompt_ids, budget, kind=ExplainedMatcher, follow=follow, **more)
    return cast("ExplainedMatcher", made)


def why(place: ExplainedPosition, token_id: int) -> Explanation:
    """Return why a token id is legal at a place, or not."""
    size = place.vocabulary.size
    known = 0 <= token_id < size
    data = place.vocabulary.token_bytes(token_id) if known else b""
    legal = is_set(place.row, token_id)
    if legal:
        reason = f"{shown(data)} is legal"
    elif not known:
        reason = f"{token_id} is no token id: the vocabulary has {size} of them, from 0 on"
    elif not data:
        reason = f"token id {token_id} has no text"
    elif place.now.failure is not None:
        reason = f"the turn has failed and may only end: {place.now.failure}"
    elif token_id in place.vocabulary.control_ids:
        reason = _why_no_marker(place, token_id, data.decode())
    else:
        reason = _why_no_text(place, token_id, data)
    if reason.endswith((":", ",")):
        reason += f" expected {place.expected}"
    token = data.decode("utf-8", "backslashreplace")
    return Explanation(token_id, token, legal, reason, place.expected)


# Reasons that end in a colon or a comma go on with what is expected.


def _why_no_marker(place: ExplainedPosition, token_id: int, marker: str) -> str:
    now, name, dialect = place.now, shown(marker), place.table.dialect
    ways = dialect.states[now.state].on.items()
    guards = [transition.when for role, transition in ways if marker in dialect.markers[role]]
    if not guards:
        return f"{name} does not follow in the state {now.state}:"
    if token_id in now.markers.markers:
        return f"{name} {_TOO_LONG}:"
    if guards[0] is not Guard.ALWAYS and token_id not in now.row.markers:
        return f"{name} is not open: {_closed(place, guards[0])}"
    text = "the header" if now.header is not None else "the text"
    if isinstance(now.grammar, FollowedText):
        text = now.grammar.subject.what
    return f"{name} comes too early: there is more to {text},"


def _closed(place: ExplainedPosition, guard: Guard) -> str:
    now, envelope = place.now, place.envelope
    if guard is Guard.CALL:
        if not envelope.names:
            return "no tool may be called: none is declared, or `tool_choice` is none"
        if now.calls >= envelope.most:
            limit = envelope.identical
            equal = "" if limit is None else f", or {limit} equal ones in a row"
            return f"the turn has the {envelope.most} calls that it may have{equal}"
        return "no call may begin any more"
    if envelope.due is Due.CALL and not now.calls:
        return "`tool_choice` demands a call, and none has been made"
    if guard is Guard.EMPTY:
        return "the turn has said nothing: it has neither text nor a call"
    return "the turn may not end here"


def _why_no_text(place: ExplainedPosition, token_id: int, data: bytes) -> str:
    now, segment = place.now, place.table.segment(place.now.state)
    if isinstance(now.grammar, FollowedText):
        return _why_not_in(place, now.grammar, token_id, data)
    if now.grammar is not None:
        return f"{shown(data)} does not fit:"
    if now.header is not None:
        if now.header.advance(token_id) is not None:
            return f"{shown(data)} {_TOO_LONG}:"
        if now.header.low == now.header.high:
            return f"{shown(data)} does not fit:"
        so_far = shown(place.header_so_far() + data)
        return f"{so_far} begins no header of a tool that may be called:"
    if segment is Segment.NONE:
        return f"{shown(data)}: the state {now.state} has no text,"
    if now.row.text:
        return f"{shown(data)} {_TOO_LONG}:"
    if place.envelope.due is Due.CALL and not now.calls and segment is Segment.CONTENT:
        return (
            f"{shown(data)}: `tool_choice` demands a call, before which at most "
            f"{place.envelope.preamble} tokens of text are allowed:"
        )
    return f"{shown(data)} is no text:"


def _why_not_in(place: ExplainedPosition, text: FollowedText, token_id: int, data: bytes) -> str:
    row = np.zeros_like(place.row)
    text.fill(row)
    if is_set(row, token_id):
        return f"{shown(data)} {_TOO_LONG}:"
    count = text.ahead(data)
    if count == len(data):
        return f"{shown(data)} would fit, but this token is never allowed:"
    inside = text.expected(data[:count])
    is_undeclared = _is_undeclared(inside, data[count:].decode("utf-8", "ignore"))
    closed = ", and the object is closed" if is_undeclared else ""
    if text.is_closed_to(data):
        closed = ", as objects are closed"
    if not count:
        why_not = "belongs to no declared name" if is_undeclared else "does not fit"
        return f"{shown(data)} {why_not}{closed}:"
    # A byte that is no part of a character is shown by itself.
    wrong = data[count:].decode("utf-8", "surrogateescape")[:1].encode("utf-8", "surrogateescape")
    return (
        f"{shown(data[:count])} would fit, but not {shown(wrong)} behind it"
        f"{', which belongs to no declared name' if is_undeclared else ''}{closed}: expected "
        f"{in_words(inside.options) if inside.options else 'no more of ' + text.subject.what}"
    )


def _is_undeclared(inside: Inside, text: str) -> bool:
    """Return whether a text goes on with a name that a closed object does not declare."""
    # Word characters are a part of the name in every layout; what else may end it.
    word = _WORD.match(text)
    if inside.rests is None or word is None:
        return False
    return not any(rest.startswith(word[0]) for rest in inside.rests)
