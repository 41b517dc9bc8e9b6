"""Masks of text that vLLM's own parsers would misread.

The enforcer's parser reads token ids: spelled marker text is text to it. vLLM's parsers read a
reply as text (the Rust front end always, the Python one where it is not streamed, and so behind the
logits processor), with three errors:

* Text that spells a marker is taken for it. Text that a user makes the model repeat becomes a call
  to an undeclared tool, or ends the arguments inside a string. The last piece of a marker is
  masked, not the pieces before it, so that there is always another token.
* The Rust parser takes arguments from `{` on, and white space before it breaks the call. It is
  masked there; behind the `}` no grammar allows any.
* The Rust parser splits the think off first. A section inside an unclosed think is reasoning
  to it, and its calls are lost; so the think has to be closed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.engines.mask_rows import is_member
from enforcer.errors import EnforcerError
from enforcer.turn.bits import rows_of
from enforcer.turn.dialect import Segment
from enforcer.turn.sorted_ranges import alike
from enforcer.vllm.native import marker_roles

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.turn.matcher import Matcher
    from enforcer.turn.table import Table

_KEPT = 4096  # states of a turn; more than any host takes back token ids
_ROWS = 256  # mask rows that a reader caches


class MisreadError(EnforcerError):
    """All text that a client's format or schema leaves would be misread."""


class ReaderState(NamedTuple):
    """The state of vLLM's parser, as far as it may go wrong next.

    Attributes:
        thinks: inside a think.
        spelled: the longest prefix of a marker that the text ends in.
        begins: arguments begin here.

    """

    thinks: bool = False
    spelled: bytes = b""
    begins: bool = False


class VllmReader:
    """The misreadings of one of vLLM's parsers; shared by all turns of a vocabulary.

    Args:
        table: the dialect, bound to the vocabulary.
        markers: texts that it takes for markers.
        think_apart: whether the think is split off, so that calls must not begin inside it; None
            for Python's parser of a spec's reply, which reads white space before arguments too.

    """

    def __init__(
        self, table: Table, markers: Iterable[str], *, think_apart: bool | None = None
    ) -> None:
        self._table = table
        self._markers = sorted({marker.encode() for marker in markers})
        whole = re.compile(b"|".join(map(re.escape, self._markers))).search
        begun = [re.escape(each[:end]) for each in self._markers for end in range(1, len(each))]
        # The first match is the longest suffix.
        self._ends_in = re.compile(b"(?:" + b"|".join(begun) + rb")\Z").search
        self._thinks = self._leading_to(Segment.REASONING)
        self._begins = self._leading_to(Segment.ARGUMENTS)
        calls = marker_roles.beginnings(table) if think_apart else ()
        names = [n for n in table.dialect.controls if any(each.startswith(n) for each in calls)]
        self._calls = marker_roles.tokens(table, names)
        text = list(zip(*table.vocabulary.sorted_text, strict=True))
        self._whole = frozenset(token for data, token in text if whole(data))
        white = b"" if think_apart is None else b" \t\r\n"
        self._white = frozenset(token for data, token in text if data[0] in white)
        self.misread = lru_cache(_ROWS)(self._misread)

    def _leading_to(self, segment: Segment) -> frozenset[int]:
        """Return the special tokens that lead to a segment, from whatever state."""
        leads = [leaf for leaves in self._table.leaves.values() for leaf in leaves.items()]
        return frozenset(token for token, to in leads if self._table.segment(to) is segment)

    def start(self, state: str) -> ReaderState:
        """Return the state of a turn before its first token."""
        return ReaderState(self._table.segment(state) is Segment.REASONING)

    def next(self, state: ReaderState, token: int) -> ReaderState | None:
        """Return the state after a token; None if it would be misread, or there is none."""
        vocabulary, row = self._table.vocabulary, self.misread(state)
        if not 0 <= token < vocabulary.size or (row is not None and is_member(row, token)):
            return None
        if token in vocabulary.control_ids:
            return ReaderState(token in self._thinks, b"", token in self._begins)
        begun = self._ends_in(state.spelled + vocabulary.token_bytes(token))
        return ReaderState(state.thinks, begun[0] if begun else b"")

    def _misread(self, state: ReaderState) -> npt.NDArray[np.int32] | None:
        """Return the row of the tokens that would be misread; None if there are none."""
        vocabulary, spelled = self._table.vocabulary, state.spelled
        found = set(self._whole)
        for at in range(len(spelled)):
            for marker in self._markers:
                if marker.startswith(spelled[at:]):
                    keys, ids = vocabulary.sorted_text
                    first, last = alike(keys, marker[len(spelled) - at :], 0, len(keys))
                    found.update(ids[first:last])
        if state.thinks:
            found |= self._calls
        if state.begins:
            found |= self._white
        return vocabulary.row(found) if found else None


class ReadableMatcher:
    """A matcher whose turns a parser of vLLM's reads right; all else is left to the `Matcher`."""

    def __init__(self, matcher: Matcher, reader: VllmReader) -> None:
        self._matcher = matcher
        self._reader = reader
        self._state = reader.start(matcher.state)
        self._before: deque[ReaderState] = deque(maxlen=_KEPT)  # each accepted token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """Write a mask as `Matcher.fill` does, without the tokens that would be misread."""
        self._matcher.fill(bitmask, row)
        misread = self._reader.misread(self._state)
        if misread is None or self._matcher.failure is not None:
            return
        target = rows_of(bitmask, len(misread))[row]
        target[: len(misread)] &= ~misread
        if not target.any():
            self._matcher.fail(
                MisreadError(
                    f"every text that is allowed at {self._matcher!r} contains a marker of the "
                    "format, and vLLM's own parser would misread it"
                )
            )
            self._matcher.fill(bitmask, row)

    def accept(self, token_id: int) -> bool:
        """Advance as `Matcher.accept` does; False if the token would be misread."""
        before = self._state
        # A turn that has failed may only end, in whatever state.
        failed = self._matcher.failure is not None
        after = before if failed else self._reader.next(before, token_id)
        if after is None or not self._matcher.accept(token_id):
            return False
        self._before.append(before)
        self._state = after
        return True

    def rollback(self, count: int) -> None:
        """Take back tokens as `Matcher.rollback` does."""
        self._matcher.rollback(count)
        for _ in range(count):
            self._state = self._before.pop()

    def propose(self, limit: int, *, likely: bool = True) -> list[int]:
        """Return legal draft tokens as `Matcher.propose` does."""
        found = self._matcher.propose(limit, likely=likely)
        return found[: self.validate(found)]

    def validate(self, token_ids: Sequence[int]) -> int:
        """Count the leading legal tokens as `Matcher.validate` does."""
        legal, state = 0, self._state
        while legal < len(token_ids) and (after := self._reader.next(state, token_ids[legal])):
            legal, state = legal + 1, after
        failed = self._matcher.failure is not None
        return self._matcher.validate(token_ids if failed else token_ids[:legal])
