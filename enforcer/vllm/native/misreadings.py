"""What vLLM's own parsers would misread, kept out of the turns that they read.

Owns: what those parsers misread, and taking it out of each mask. Must not know: tools,
schemas, vLLM's code (only how it reads).

The enforcer's parser reads ids: spelled marker text is text to it. Where a parser of vLLM's
stands behind the matcher, the reply is read as text (by the Rust front end always, by the
Python one where it is not streamed; so it is behind the logits processor), and these would go
wrong:

* Text that spells a marker is taken for it: what a user makes the model repeat becomes a call
  to a tool that nobody declared, or ends the arguments inside a string. The last piece of a
  marker is banned, not what comes before, so that there is always another id.
* The Rust parser takes arguments from `{` on, and white space before it breaks the call. It is
  banned there; behind the `}` no grammar allows any.
* The Rust parser splits the think off first. A section inside an unclosed think is reasoning
  to it, its calls are lost; and so it must be closed.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enforcer.errors import EnforcerError
from enforcer.turn.dialect import Segment
from enforcer.turn.walk import beginning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from enforcer.turn.matcher import Matcher
    from enforcer.turn.table import Table

_CHANGES = 4096  # places kept per turn; more than any host takes back ids
_ROWS = 256  # kept per reader
_WHITE = b" \t\r\n"


class MisreadError(EnforcerError):
    """All text that a client's format or schema leaves would be misread."""


class Place(NamedTuple):
    """Where a turn is, as far as a reader may go wrong.

    Attributes:
        thinks: inside a think that must be closed before calls.
        spelled: the longest beginning of a marker that the text ends in.
        begins: arguments begin here.

    """

    thinks: bool = False
    spelled: bytes = b""
    begins: bool = False


class Reader:
    """What one of vLLM's parsers would misread; shared by all turns of a vocabulary.

    Args:
        table: the dialect, bound to the vocabulary.
        markers: texts that it takes for markers.
        closed_think: whether calls must not begin inside a think.
        trims: whether white space before arguments breaks a call.

    """

    def __init__(
        self,
        table: Table,
        markers: Iterable[str],
        *,
        closed_think: bool,
        trims: bool = True,
    ) -> None:
        self._table = table
        self._markers = tuple(sorted({marker.encode() for marker in markers}))
        self._begun = {
            marker[:length] for marker in self._markers for length in range(1, len(marker))
        }
        self._first = frozenset(marker[0] for marker in self._markers)
        self._longest = max(len(marker) for marker in self._markers)
        leads = [leaf for leaves in table.leaves.values() for leaf in leaves.items()]
        # By their targets, which are of one kind whatever state a marker leaves.
        self._thinks = self._leading_to(leads, Segment.REASONING) if closed_think else frozenset()
        self._begins = self._leading_to(leads, Segment.ARGUMENTS) if trims else frozenset()
        self._closed_think = closed_think
        self._sections = self._calls_in_thinks() if closed_think else frozenset()
        keys, ids = table.vocabulary.sorted_text
        self._whole = frozenset(
            token
            for data, token in zip(keys, ids, strict=True)
            if any(marker in data for marker in self._markers)
        )
        self._leading = frozenset(
            token for data, token in zip(keys, ids, strict=True) if data[0] in _WHITE
        )
        self._rows = lru_cache(_ROWS)(self._row)

    def start(self, state: str) -> Place:
        """Give the place of a turn that is in a state before its first id."""
        return Place(self._closed_think and self._table.segment(state) is Segment.REASONING)

    def next(self, place: Place, token: int) -> Place | None:
        """Give the place after an id that is legal; None if it would be misread."""
        vocabulary = self._table.vocabulary
        if not 0 <= token < vocabulary.size:
            return None
        if token in vocabulary.control_ids:
            if place.thinks and token in self._sections:
                return None
            return Place(token in self._thinks, b"", token in self._begins)
        data = vocabulary.token_bytes(token)
        if self._completes(place.spelled, data, token):
            return None
        if place.begins and token in self._leading:
            return None
        return Place(place.thinks, self._spelled(place.spelled, data))

    def misread(self, place: Place) -> npt.NDArray[np.int32] | None:
        """Give the row of the ids that would be misread at a place; None if there are none."""
        return self._rows(*place)

    def _row(
        self,
        thinks: bool,  # noqa: FBT001 - positional, as a cache's key is
        spelled: bytes,
        begins: bool,  # noqa: FBT001
    ) -> npt.NDArray[np.int32] | None:
        vocabulary = self._table.vocabulary
        found = {*self._completing(spelled), *(self._sections if thinks else ())}
        if begins:
            found |= self._leading
        if not found:
            return None
        row = vocabulary.row(found)
        row.setflags(write=False)
        return row

    def _calls_in_thinks(self) -> frozenset[int]:
        """Give the control tokens that begin calls inside a think, and nothing that ends it."""
        dialect = self._table.dialect
        exits = [
            (pattern, transition.to in dialect.calling)
            for state in dialect.states.values()
            if state.segment is Segment.REASONING
            for role, transition in state.on.items()
            for pattern in dialect.markers[role]
        ]
        controls = self._table.vocabulary.controls
        first = [
            (controls[name], begins)
            for pattern, begins in exits
            for name in dialect.controls
            if name in controls and pattern.startswith(name)
        ]
        ends = {token for token, begins in first if not begins}
        return frozenset(token for token, begins in first if begins) - ends

    def _leading_to(self, leads: Iterable[tuple[int, str]], segment: Segment) -> frozenset[int]:
        return frozenset(token for token, to in leads if self._table.segment(to) is segment)

    def _spelled(self, spelled: bytes, data: bytes) -> bytes:
        if not spelled and self._first.isdisjoint(data):
            return b""
        text = (spelled + data)[-self._longest :]
        return next((text[at:] for at in range(len(text)) if text[at:] in self._begun), b"")

    def _completes(self, spelled: bytes, data: bytes, token: int) -> bool:
        if not spelled:
            return token in self._whole
        text = spelled + data
        return any(marker in text for marker in self._markers)

    def _completing(self, spelled: bytes) -> Iterable[int]:
        yield from self._whole
        _, ids = self._table.vocabulary.sorted_text
        for at in range(len(spelled)):
            for marker in self._markers:
                if marker.startswith(spelled[at:]):
                    span = beginning(self._table.vocabulary, marker[len(spelled) - at :])
                    yield from ids[span.first : span.last]


class ReadableMatcher:
    """A matcher whose turns a reader reads right; used as one."""

    def __init__(self, matcher: Matcher, reader: Reader) -> None:
        self._matcher = matcher
        self._reader = reader
        self._place = reader.start(matcher.state)
        # Where the place changed: how many ids had been accepted, and the place before.
        self._changes: deque[tuple[int, Place]] = deque(maxlen=_CHANGES)

    def __repr__(self) -> str:
        return repr(self._matcher)

    @property
    def state(self) -> str:
        """As `Matcher.state`."""
        return self._matcher.state

    @property
    def accepted(self) -> int:
        """As `Matcher.accepted`."""
        return self._matcher.accepted

    @property
    def failure(self) -> EnforcerError | None:
        """As `Matcher.failure`."""
        return self._matcher.failure

    @property
    def tool(self) -> str:
        """As `Matcher.tool`."""
        return self._matcher.tool

    def fail(self, error: EnforcerError) -> None:
        """As `Matcher.fail`."""
        self._matcher.fail(error)

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """As `Matcher.fill`."""
        self._matcher.fill(bitmask, row)
        misread = self._reader.misread(self._place)
        if misread is None or self._matcher.failure is not None:
            return
        target = bitmask[row]
        if not isinstance(target, np.ndarray):
            target = target.numpy()
        target[: len(misread)] &= ~misread
        if not target.any():
            self._matcher.fail(
                MisreadError(
                    f"every text that is allowed at {self!r} contains a marker of the format, and "
                    "vLLM's own parser would misread it"
                )
            )
            self._matcher.fill(bitmask, row)

    def accept(self, token_id: int) -> bool:
        """As `Matcher.accept`."""
        before = self._matcher.accepted
        place = self._place
        # A turn that has failed may only end, from wherever it is.
        after = place if self._matcher.failure is not None else self._reader.next(place, token_id)
        if after is None or not self._matcher.accept(token_id):
            return False
        if after != place:
            self._changes.append((before, place))
            self._place = after
        return True

    def rollback(self, count: int) -> None:
        """As `Matcher.rollback`."""
        self._matcher.rollback(count)
        while self._changes and self._changes[-1][0] >= self._matcher.accepted:
            self._place = self._changes.pop()[1]

    def validate(self, token_ids: Sequence[int]) -> int:
        """As `Matcher.validate`."""
        if self._matcher.failure is not None:
            return self._matcher.validate(token_ids)
        place, legal = self._place, 0
        for token_id in token_ids:
            after = self._reader.next(place, token_id)
            if after is None:
                break
            place, legal = after, legal + 1
        return self._matcher.validate(token_ids[:legal])
