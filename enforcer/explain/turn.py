"""A matcher that says in words what may come next, and why a token id may not.

Must not know: what may come in words (that is `expecting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.explain.expecting import Place, is_set
from enforcer.explain.text import FollowedText
from enforcer.explain.words import Explanation, in_words, shown
from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.envelope import Due
from enforcer.turn.ids import number
from enforcer.turn.matcher import Matcher

if TYPE_CHECKING:
    from enforcer.explain.words import Expected

_TOO_LONG = "would leave too few tokens to finish the turn within its budget"


class ExplainedMatcher(Matcher):
    """A matcher with words for what it allows; `Enforcer.matcher` makes it."""

    def expected(self) -> Expected:
        """Say what may come next, with the paths of the schema; takes milliseconds.

        With some hundred alternatives of an `anyOf` that are still open, up to a second.
        """
        return Place(self).expected

    def explain(self, token_id: int) -> Explanation:
        """Say why an id may come next or may not; takes as long as `expected`."""
        return why(Place(self), number(token_id, "an id"))


def why(place: Place, token_id: int) -> Explanation:
    """Say why an id is legal at a place, or not."""
    known = 0 <= token_id < place.vocabulary.size
    data = place.vocabulary.token_bytes(token_id) if known else b""
    token = data.decode("utf-8", "backslashreplace")
    found = place.expected
    legal = is_set(place.row, token_id)
    if legal:
        reason = f"{shown(data)} is legal"
    elif not known:
        reason = (
            f"{token_id} is no token id: the vocabulary has {place.vocabulary.size} of "
            "them, from 0 on"
        )
    elif not data:
        reason = f"token id {token_id} has no text"
    elif place.now.failure is not None:
        reason = f"the turn has failed and may only end: {place.now.failure}"
    elif token_id in place.vocabulary.control_ids:
        reason = _why_no_marker(place, token_id, found)
    else:
        reason = _why_no_text(place, data, token_id, found)
    return Explanation(token_id, token, legal, reason, found)


def _why_no_marker(place: Place, token_id: int, found: Expected) -> str:
    now, marker = place.now, place.vocabulary.token_bytes(token_id).decode()
    name, dialect = shown(marker), place.table.dialect
    ways = dialect.states[now.state].on.items()
    guards = [transition.when for role, transition in ways if marker in dialect.markers[role]]
    if not guards:
        return f"{name} does not follow in the state {now.state}: expected {found}"
    if token_id in now.markers.markers:
        return f"{name} {_TOO_LONG}: expected {found}"
    if guards[0] is not Guard.ALWAYS and token_id not in now.row.markers:
        return f"{name} is not open: {_closed(place, guards[0])}"
    return f"{name} comes too early: there is more to {_segment(place)}, expected {found}"


def _segment(place: Place) -> str:
    if isinstance(place.now.grammar, FollowedText):
        return place.now.grammar.subject.what
    return "the header" if place.now.header is not None else "the text"


def _closed(place: Place, guard: Guard) -> str:
    now, envelope = place.now, place.envelope
    if guard is Guard.CALL:
        if not envelope.names:
            return "no tool may be called: none is declared, or `tool_choice` is none"
        if now.calls >= envelope.most:
            return f"the turn has the {envelope.most} calls that it may have"
        return "no call may begin any more"
    if envelope.due is Due.CALL and not now.calls:
        return "`tool_choice` demands a call, and none has been made"
    if guard is Guard.EMPTY:
        return "the turn has said nothing: it has neither text nor a call"
    return "the turn may not end here"


def _why_no_text(place: Place, data: bytes, token_id: int, found: Expected) -> str:
    now = place.now
    if now.grammar is not None:
        return _why_not_in(place, now.grammar, data, token_id, found)
    if now.header is not None:
        return _why_no_header(place, data, token_id, found)
    segment = place.table.segment(now.state)
    if segment is Segment.NONE:
        return f"{shown(data)}: the state {now.state} has no text, expected {found}"
    if now.row.text:
        return f"{shown(data)} {_TOO_LONG}: expected {found}"
    if place.envelope.due is Due.CALL and not now.calls and segment is Segment.CONTENT:
        return (
            f"{shown(data)}: `tool_choice` demands a call, before which at most "
            f"{place.envelope.preamble} tokens of text are allowed: expected {found}"
        )
    return f"{shown(data)} is no text: expected {found}"


def _why_not_in(place: Place, text: object, data: bytes, token_id: int, found: Expected) -> str:
    if not isinstance(text, FollowedText):
        return f"{shown(data)} does not fit: expected {found}"
    row = np.zeros_like(place.row)
    text.fill(row)
    if is_set(row, token_id):
        return f"{shown(data)} {_TOO_LONG}: expected {found}"
    count = text.ahead(data)
    if count == len(data):
        return f"{shown(data)} would fit, but this token is never allowed: expected {found}"
    if not count:
        return f"{shown(data)} does not fit: expected {found}"
    _, _, options = text.expected(data[:count])
    return (
        f"{shown(data[:count])} would fit, but not {shown(_whole(data[count:]))} behind it: "
        f"expected {in_words(options) if options else 'no more of ' + text.subject.what}"
    )


def _why_no_header(place: Place, data: bytes, token_id: int, found: Expected) -> str:
    node = place.now.header
    if node is not None and node.advance(token_id) is not None:
        return f"{shown(data)} {_TOO_LONG}: expected {found}"
    if node is None or node.low == node.high:
        return f"{shown(data)} does not fit: expected {found}"
    return (
        f"{shown(place.header_so_far() + data)} begins no header of a tool that may be "
        f"called: expected {found}"
    )


def _whole(data: bytes) -> bytes:
    """Cut to the first character."""
    for end in range(1, min(len(data), 4) + 1):
        try:
            data[:end].decode()
        except UnicodeDecodeError:
            continue
        return data[:end]
    return data[:1]
