"""Which tokens a text may begin with that begin before it.

Owns: asking that once for each grammar, whatever the request: of tokens whose first part ends what
stands before the text, and whose second part stays inside it. Must not know: what stands before
it, states, hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from enforcer.errors import EnforcerError
from enforcer.turn import bits
from enforcer.turn.bits import NO_IDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.turn.bits import Ids
    from enforcer.turn.borders import Cut
    from enforcer.vocabulary import Vocabulary

_KEPT = 64  # cuts by grammar: names end in few ways


class Firsts:
    """What is known of the grammars that are in use; for any number of threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: WeakKeyDictionary[Startable, dict[Cut, Ids]] = WeakKeyDictionary()

    def legal(self, cut: Cut, grammar: Startable) -> Ids:
        """Give those ids of a cut whose second part may begin a text of a grammar.

        None if no text of it can be followed: whoever begins one is told.

        Args:
            cut: ids whose second part does not end the text.
            grammar: of the text.

        """
        known = self._known.get(grammar)
        if known is None:
            known = self._known.setdefault(grammar, {})
        found = known.get(cut)
        if found is not None:
            return found
        try:
            found = self._find(cut, grammar.matcher())
        except EnforcerError:
            return NO_IDS
        if len(known) >= _KEPT:
            known.clear()
        known[cut] = found
        return found

    def _find(self, cut: Cut, text: ArgumentMatcher) -> Ids:
        row = self._vocabulary.row(())
        text.fill(row)
        whole = cut.ids[bits.has(row, cut.tails)]
        return bits.ids_of((*whole.tolist(), *self._loose(cut, text, row)))

    def _loose(self, cut: Cut, text: ArgumentMatcher, row: bits.Row) -> Iterator[int]:
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
