"""Draft tokens of a turn by its grammar: what a model likely writes next within calls.

Within arguments the kernel says how the text goes on (`enforcer.kernel.drafts`); around them the
automaton of the format does, by what was written there last. Nothing is proposed outside of calls
but a marker that nothing else can come before. A proposal need not be right: the model verifies it.

Owns: the walk over texts and what is around them, and the style of texts. Must not know: masks,
whether a proposal is legal (the matcher reads it), hosts.
"""

from __future__ import annotations

from os.path import commonprefix
from typing import TYPE_CHECKING

from enforcer import kernel
from enforcer.turn.pattern import ID
from enforcer.turn.reader import native_text

if TYPE_CHECKING:
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.position import Position
    from enforcer.turn.reader import Native, TokenReader
    from enforcer.turn.transitions import Transitions

_BYTES = 8  # of a proposal, for each of its token ids
_MOST = 4_096  # of any proposal


class Drafter:
    """Proposes the token ids that likely come next in one turn.

    Args:
        envelope: what the request allows.
        reader: of the turn's tokens.
        transitions: of the turn.

    Attributes:
        has_ended: whether the text of the last proposal is complete behind or within it.

    """

    def __init__(self, envelope: Envelope, reader: TokenReader, transitions: Transitions) -> None:
        self._envelope = envelope
        self._around = envelope.table.around
        self._shared = envelope.table.draft_style
        self._reader = reader
        self._transitions = transitions

    def propose(self, now: Position, limit: int, *, likely: bool) -> list[int]:
        """Return at most `limit` token ids that likely follow at a position, or none."""
        self._likely, self._most = likely, min(_BYTES * limit, _MOST)
        self._ids: list[int] = []  # so far, and the bytes behind them
        self._data = bytearray()
        is_cut = self._walk(now)
        found = [*self._ids, *self._shared.ids(bytes(self._data))]
        return found[: min(limit, len(found) - is_cut)]

    def _walk(self, now: Position) -> bool:
        """Find what is likely; return whether more of a name follows that is not decided."""
        self.has_ended = False
        if now.failure is not None:
            return False
        if now.grammar is None:
            return self._outside(self._reader.load(now))
        pieces, self.has_ended = self._inside(native_text(now.grammar))
        self._add(pieces)
        return self.has_ended and bool(now.tool) and self._outside(self._reader.behind_text(now))

    def _inside(self, text: object) -> tuple[list[bytes | int], bool]:
        """Return what is likely within a text, and whether it is complete behind that."""
        if not isinstance(text, kernel.TextMatcher):
            return [b""], False
        style, found, is_whole = text.draft(self._most, self._shared.style, self._likely)
        self._shared.style = style
        return found, is_whole

    def _beginning(self, name: str) -> list[bytes | int]:
        """Return what is likely where the arguments of a tool begin."""
        grammar = self._transitions.grammar(name)
        known = {} if grammar is None else self._shared.beginnings.setdefault(grammar, {})
        key = self._most, self._shared.style, self._likely
        if key not in known:
            known[key] = self._inside(native_text(self._transitions.start(name)))[0]
        return known[key]

    def _add(self, pieces: list[bytes | int]) -> None:
        """Add bytes, and special tokens by their ids."""
        for piece in pieces:
            if isinstance(piece, bytes):
                self._data += piece
            else:
                self._ids += [*self._shared.ids(bytes(self._data)), piece]
                self._data.clear()

    def _outside(self, at: Native) -> bool:
        """Find what is likely from a state outside of texts on; see `_walk`."""
        around = self._around
        place, low, high, depth, calls = at
        names = self._envelope.headers(calls)
        while len(self._data) + len(self._ids) < self._most:
            if around.begins_text(place):
                self._add(self._beginning(names.names[low]))
                return False
            if around.begins_names(place):
                ends = names.texts[low], names.texts[high - 1]
                common = len(commonprefix(ends))  # noqa: RUF071 - of any texts
                self._data += names.texts[low][depth:common]
                if high - low > 1:
                    return common > depth
                depth = common
                if (behind := int(around.behind[place])) >= 0:
                    place = behind
                    continue
            step = around.likely(place, is_guess=self._likely)
            if step is None:
                break
            symbol, to = step
            if to == place:
                break
            place = to
            if symbol >= 0:
                self._add([symbol - ID if symbol >= ID else bytes([symbol])])
            if around.begins_names(place):
                low, high, depth = 0, len(names.texts), 0
        return False
