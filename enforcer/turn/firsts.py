"""What a text of arguments may begin with, known with its grammar.

Owns: finding that once for each grammar: the ids that may come first, as rows, and those that begin
before the text and go on inside it. Must not know: what stands before a text or behind it, states,
hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from enforcer.errors import EnforcerError
from enforcer.turn import bits
from enforcer.turn.bits import sparse

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.turn.bits import Ids, Row, Sparse
    from enforcer.turn.cuts import Cut
    from enforcer.vocabulary import Vocabulary

# What is kept by grammar: at most 0.2 MB beside the 0.5 to 14 MB that it holds itself.
_CUTS = 64
_ROWS = 8
_K = TypeVar("_K")
_V = TypeVar("_V")


def _keep(known: dict[_K, _V], key: _K, value: _V, most: int) -> None:
    if len(known) >= most:
        known.clear()
    known[key] = value


class Firsts:
    """What is known of the grammars that are in use; for any number of threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids: WeakKeyDictionary[Startable, dict[Cut, Ids]] = WeakKeyDictionary()
        self._rows: WeakKeyDictionary[Startable, dict[Hashable, Sparse]] = WeakKeyDictionary()

    def row(self, grammar: Startable, around: Hashable) -> Sparse | None:
        """Give a row that `keep_row` was given, if it is still there."""
        return self._rows.get(grammar, {}).get(around)

    def keep_row(self, grammar: Startable, around: Hashable, row: Row) -> None:
        """Keep what may come at the beginning of a grammar's texts.

        Args:
            grammar: of the texts.
            around: what else it depends on, since some ids end a text and go on behind it.
            row: the row.

        """
        _keep(self._rows.setdefault(grammar, {}), around, sparse(row), _ROWS)

    def legal(self, cut: Cut, grammar: Startable) -> Ids | None:
        """Give those ids of a cut whose second part may begin a text of a grammar.

        None if no text of it can be followed now: whoever begins one is told.

        Args:
            cut: ids whose second part does not end the text.
            grammar: of the text.

        """
        known = self._ids.setdefault(grammar, {})
        found = known.get(cut)
        if found is None:
            try:
                found = self._find(cut, grammar.matcher())
            except EnforcerError:
                return None
            _keep(known, cut, found, _CUTS)
        return found

    def _find(self, cut: Cut, text: ArgumentMatcher) -> Ids:
        row = self._vocabulary.row(())
        text.fill(row)
        whole = cut.ids[bits.has(row, cut.tails)]
        return bits.ids_of((*whole.tolist(), *self._loose(cut, text, row)))

    def _loose(self, cut: Cut, text: ArgumentMatcher, row: Row) -> Iterator[int]:
        vocabulary = self._vocabulary
        for each in cut.loose:
            if not bits.has_one(row, each.tail):
                continue
            pieces = vocabulary.pieces(vocabulary.token_bytes(each.token)[each.count :])
            read = 0
            while read < len(pieces) and text.accept(pieces[read]):
                read += 1
            text.rollback(read)
            if read == len(pieces):
                yield each.token
