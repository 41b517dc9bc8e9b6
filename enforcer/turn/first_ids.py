"""The ids that a call's arguments may begin with, by grammar.

Owns: finding, once for each grammar, the ids that may come first, as mask rows, and those that
begin before the text and go on inside it. Must not know: what stands before a text or behind it,
states, hosts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from enforcer.engines.mask_rows import has, is_member
from enforcer.errors import EnforcerError
from enforcer.turn import bits
from enforcer.turn.bits import sparse
from enforcer.turn.mask_cache import CutCache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.engines.mask_rows import Row
    from enforcer.turn.bits import Sparse
    from enforcer.turn.cuts import Cut
    from enforcer.vocabulary import Vocabulary

# What is kept by grammar: at most 0.3 MB beside the 0.5 to 14 MB that it holds itself.
_CUTS = 64


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """What may come first, and whether nothing need."""

    row: Sparse
    nullable: bool


class Unread:
    """A text of a grammar of which nothing has been read: its first mask costs a copy."""

    def __init__(self, grammar: Startable, first: _First) -> None:
        self._grammar = grammar
        self._first = first
        self._read = 0

    @cached_property
    def _text(self) -> ArgumentMatcher:
        return self._grammar.matcher()

    def fill(self, row: Row) -> None:
        """Write the mask of the ids that may come next."""
        if self._read:
            self._text.fill(row)
        else:
            bits.write(row, self._first.row)

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, nothing being changed then."""
        accepted = self._text.accept(token_id)
        self._read += accepted
        return accepted

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        if count:
            self._text.rollback(count)
            self._read -= count

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        return self._text.is_accepting() if self._read else self._first.nullable


class FirstIds:
    """What is known of the grammars that are in use; for any number of threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._rows: WeakKeyDictionary[Startable, dict[Cut, Sparse]] = WeakKeyDictionary()
        self._cuts: WeakKeyDictionary[Startable, CutCache] = WeakKeyDictionary()
        self._firsts: WeakKeyDictionary[Startable, _First] = WeakKeyDictionary()

    def text(self, grammar: Startable) -> Unread:
        """Give a text of a grammar, to be looked at.

        Raises:
            EnforcerError: none can be followed now.

        """
        first = self._firsts.get(grammar)
        if first is None:
            text, row = grammar.matcher(), self._vocabulary.row(())
            text.fill(row)
            first = self._firsts[grammar] = _First(sparse(row), text.is_accepting())
        return Unread(grammar, first)

    def cuts(self, grammar: Startable) -> CutCache:
        """Give what is kept of ids whose second part may end a text of a grammar."""
        found = self._cuts.get(grammar)
        return self._cuts.setdefault(grammar, CutCache(_CUTS)) if found is None else found

    def legal(self, cut: Cut, grammar: Startable) -> Sparse | None:
        """Give those ids of a cut whose second part may begin a text of a grammar.

        None if no text of it can be followed now: whoever begins one is told.

        Args:
            cut: ids whose second part does not end the text.
            grammar: of the text.

        """
        known = self._rows.setdefault(grammar, {})
        found = known.get(cut)
        if found is None:
            try:
                found = self._find(cut, self.text(grammar))
            except EnforcerError:
                return None
            if len(known) >= _CUTS:
                known.clear()
            known[cut] = found
        return found

    def _find(self, cut: Cut, text: ArgumentMatcher) -> Sparse:
        row = self._vocabulary.row(())
        text.fill(row)
        whole = cut.ids[has(row, cut.tails)]
        return bits.of_ids(bits.ids_of((*whole.tolist(), *self._loose(cut, text, row))))

    def _loose(self, cut: Cut, text: ArgumentMatcher, row: Row) -> Iterator[int]:
        vocabulary = self._vocabulary
        for each in cut.loose:
            if not is_member(row, each.tail):
                continue
            pieces = vocabulary.pieces(vocabulary.token_bytes(each.token)[each.count :])
            read = 0
            while read < len(pieces) and text.accept(pieces[read]):
                read += 1
            text.rollback(read)
            if read == len(pieces):
                yield each.token
