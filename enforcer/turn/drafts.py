"""Draft tokens of a turn by its grammar: what a model likely writes next within calls.

Within arguments the kernel says how the text goes on (`enforcer.kernel.drafts`); around them the
automaton of the format does, by what was written there last. Nothing is proposed outside of calls
but a marker that nothing else can come before. A proposal need not be right: the model verifies it.

Owns: the walk over texts and what is around them, and the style of texts. Must not know: masks,
whether a proposal is legal (the matcher reads it), hosts.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from enforcer import kernel
from enforcer.turn.pattern import ID
from enforcer.turn.reader import native_text

if TYPE_CHECKING:
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.position import Position
    from enforcer.turn.reader import Native, TokenReader
    from enforcer.turn.table import Table
    from enforcer.turn.transitions import Transitions

_SYMBOLS = 8  # of a proposal, for each of its token ids
_KEPT = 16_384  # texts whose token ids are kept
_SPACED = 3  # the style of `json.dumps`; see `TextMatcher.draft`


class DraftStyle:
    """What the turns of one table have in common as they are drafted.

    Args:
        table: the format.

    Attributes:
        style: of the texts that were written last; see `TextMatcher.draft`.

    """

    def __init__(self, table: Table) -> None:
        self.style = _SPACED
        self._vocabulary = table.vocabulary
        self.ids = lru_cache(_KEPT)(self._find_ids)
        # By grammar, the likely beginnings of its texts by style and policy.
        self._beginnings: WeakKeyDictionary[object, dict[tuple[int, bool], list[int]]] = (
            WeakKeyDictionary()
        )

    def _find_ids(self, data: bytes) -> tuple[int, ...]:
        return tuple(self._vocabulary.encode(data.decode(errors="ignore")))


class Drafter:
    """Proposes the token ids that likely come next in one turn.

    Args:
        envelope: what the request allows.
        reader: of the turn's tokens.
        transitions: of the turn.

    """

    def __init__(self, envelope: Envelope, reader: TokenReader, transitions: Transitions) -> None:
        self._envelope = envelope
        self._around = envelope.table.around
        self._shared = envelope.table.draft_style
        self._style = self._shared.style
        self._reader = reader
        self._transitions = transitions

    def propose(self, now: Position, limit: int, *, likely: bool) -> list[int]:
        """Return at most `limit` token ids that likely follow at a position, or none."""
        symbols, is_cut = self._symbols(now, _SYMBOLS * limit, likely=likely)
        ids: list[int] = []
        for is_special, group in groupby(symbols, lambda symbol: symbol >= ID):
            some = [*group]
            ids += [i - ID for i in some] if is_special else self._shared.ids(bytes(some))
        return ids[: min(limit, len(ids) - is_cut)]

    def _symbols(self, now: Position, most: int, *, likely: bool) -> tuple[list[int], bool]:
        """Return likely symbols, and whether more of a name follows that is not decided."""
        if now.failure is not None:
            return [], False
        if now.grammar is None:
            return self._outside(self._reader.load(now), [], most, likely=likely)
        found, is_whole = self._inside(native_text(now.grammar), most, likely=likely)
        if not is_whole or not now.tool:
            return found, False
        return self._outside(self._reader.behind_text(now), found, most, likely=likely)

    def _inside(self, text: object, most: int, *, likely: bool) -> tuple[list[int], bool]:
        """Return the likely symbols of a text, and whether it is complete behind them."""
        if not isinstance(text, kernel.TextMatcher):
            return [], False
        self._style, found, is_whole = text.draft(most, self._style, likely)
        self._shared.style = self._style
        return found, is_whole

    def _outside(
        self, at: Native, found: list[int], most: int, *, likely: bool
    ) -> tuple[list[int], bool]:
        around = self._around
        place, low, high, depth, calls = at
        names = self._envelope.headers(calls)
        while len(found) < most:
            if around.begins_text(place):
                text = native_text(self._transitions.start(names.names[low]))
                return found + self._inside(text, most, likely=likely)[0], False
            if around.begins_names(place):
                common = _common(names.texts[low], names.texts[high - 1])
                found += names.texts[low][depth:common]
                if high - low > 1:
                    return found, common > depth
                depth = common
                if (behind := around.behind_name(place)) >= 0:
                    place = behind
                    continue
            step = around.likely(place, is_guess=likely)
            if step is None:
                break
            symbol, place = step
            if symbol >= 0:
                found.append(symbol)
            if around.begins_names(place):
                low, high, depth = 0, len(names.texts), 0
        return found, False


def _common(one: bytes, other: bytes) -> int:
    """Count the bytes with which two texts begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
