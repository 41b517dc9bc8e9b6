"""Text that must not spell a marker.

Owns: following the text of a turn as far as it may become a marker's, and taking out of
each mask what would complete one. Must not know: states, tools, schemas, hosts.

In the model's own format spelled marker text is text, and the enforcer's parser reads it so.
Parsers that read text, not ids (vLLM's own, of its Rust front end and of unstreamed replies),
take it for the marker: what a user makes the model repeat becomes a call to a tool that
nobody declared, or the end of a string's arguments. Where such a parser reads the reply, the
last piece of a marker is banned; what comes before it is not, so there is always another id.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.errors import EnforcerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from enforcer.matcher import Matcher
    from enforcer.vocabulary import Vocabulary

_CHANGES = 4096  # kept per turn; more than any host takes back ids


class Spelling:
    """Which ids complete a marker, after each text; one for a vocabulary and its markers.

    A place in the text is the longest beginning of a marker that the text ends in. It is not
    empty for a handful of ids in a turn.
    """

    def __init__(self, markers: Iterable[str], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._markers = tuple(sorted({marker.encode() for marker in markers}))
        self._begun = {
            marker[:length] for marker in self._markers for length in range(1, len(marker))
        }
        self._first = frozenset(marker[:1] for marker in self._markers)
        self._longest = max((len(marker) for marker in self._markers), default=0)
        keys, ids = vocabulary.sorted_text
        self._whole = frozenset(
            token
            for data, token in zip(keys, ids, strict=True)
            if any(marker in data for marker in self._markers)
        )
        self.banned = lru_cache(len(self._begun) + 1)(self._banned)

    def place(self, place: bytes, data: bytes) -> bytes:
        """Go on from a place by some text."""
        if not place and not any(first in data for first in self._first):
            return b""
        text = (place + data)[-self._longest :]
        for at in range(len(text)):
            if text[at:] in self._begun:
                return text[at:]
        return b""

    def completes(self, place: bytes, token: int) -> bool:
        """Tell whether a text id completes a marker."""
        if not place:
            return token in self._whole
        text = place + self._vocabulary.token_bytes(token)
        return any(marker in text for marker in self._markers)

    def _banned(self, place: bytes) -> npt.NDArray[np.int32] | None:
        """Give the row of the ids that complete a marker from a place; None if none does."""
        keys, ids = self._vocabulary.sorted_text
        found = set(self._whole)
        for at in range(len(place)):
            for marker in self._markers:
                if marker.startswith(place[at:]):
                    rest = marker[len(place) - at :]
                    low = bisect_left(keys, rest)
                    # Markers are ASCII, so that the next key past them has a byte to count up.
                    high = bisect_left(keys, rest[:-1] + bytes([rest[-1] + 1]))
                    found.update(ids[low:high])
        if not found:
            return None
        row = self._vocabulary.row(found)
        row.setflags(write=False)
        return row


class UnspelledMatcher:
    """A matcher whose text never spells a marker; used as one."""

    def __init__(self, matcher: Matcher, spelling: Spelling) -> None:
        self._matcher = matcher
        self._spelling = spelling
        self._vocabulary = spelling._vocabulary  # noqa: SLF001 - of this module
        self._place = b""
        # Where the place changed: how many ids had been accepted, and the place before.
        self._changes: deque[tuple[int, bytes]] = deque(maxlen=_CHANGES)

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

    def fail(self, error: EnforcerError) -> None:
        """As `Matcher.fail`."""
        self._matcher.fail(error)

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """As `Matcher.fill`."""
        self._matcher.fill(bitmask, row)
        banned = self._spelling.banned(self._place)
        if banned is None or self._matcher.failure is not None:
            return
        target = bitmask[row]
        if not isinstance(target, np.ndarray):
            target = target.numpy()
        target[: len(banned)] &= ~banned
        if not target.any():
            self._matcher.fail(
                EnforcerError(
                    f"the only text that fits here spells a marker, after {self._place!r}: "
                    "what reads this server's replies could not tell it from the marker"
                )
            )
            self._matcher.fill(bitmask, row)

    def accept(self, token_id: int) -> bool:
        """As `Matcher.accept`."""
        place = self._next(self._place, token_id)
        if place is None:
            return False
        before = self._matcher.accepted
        if not self._matcher.accept(token_id):
            return False
        if place != self._place:
            self._changes.append((before, self._place))
            self._place = place
        return True

    def _next(self, place: bytes, token_id: int) -> bytes | None:
        """Give the place after an id; None if it completes a marker."""
        vocabulary = self._vocabulary
        if not 0 <= token_id < vocabulary.size or token_id in vocabulary.control_ids:
            return b""
        if self._spelling.completes(place, token_id):
            return None
        return self._spelling.place(place, vocabulary.token_bytes(token_id))

    def rollback(self, count: int) -> None:
        """As `Matcher.rollback`."""
        self._matcher.rollback(count)
        while self._changes and self._changes[-1][0] >= self._matcher.accepted:
            self._place = self._changes.pop()[1]

    def validate(self, token_ids: Sequence[int]) -> int:
        """As `Matcher.validate`."""
        place, legal = self._place, 0
        for token_id in token_ids:
            following = self._next(place, token_id)
            if following is None:
                break
            place, legal = following, legal + 1
        return self._matcher.validate(token_ids[:legal])
