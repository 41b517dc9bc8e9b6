"""Bitmasks of a turn's positions.

Owns: the legal tokens. Most stay in the segment that a turn is in, and those are the mask of
its text, header or markers. Others end it and go on behind the border: they are legal if their
first part is legal here and their second part at the position behind. Rows are cached by
`position`; those of arguments by the engine. Must not know: rollback, deadlines, hosts.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import put
from enforcer.errors import EnforcerError
from enforcer.turn import bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from enforcer.turn.bits import Sparse
    from enforcer.turn.crossing import TokenReader
    from enforcer.turn.cuts import Cut
    from enforcer.turn.position import Position
    from enforcer.turn.table import Table
    from enforcer.turn.transitions import Transitions

    Row = npt.NDArray[np.int32]


class Masks:
    """The mask rows of one turn; those outside of texts are kept at shared positions."""

    def __init__(self, table: Table, transitions: Transitions, reader: TokenReader) -> None:
        self._table = table
        self._transitions = transitions
        self._reader = reader

    def fill(self, now: Position, target: Row) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`.

        Raises:
            EnforcerError: there is none, outside of texts.

        """
        if now.grammar is None and now.header is None and now.row.ready:
            np.copyto(target, now.row.mask)
        elif now.shared is None:
            self._write(now, target, None)
        else:
            kept = self._transitions.kept
            bits.write(target, kept(now.shared, None, partial(self._sparse, now)))

    def _sparse(self, now: Position) -> Sparse:
        node, then = now.header, self._then(now)
        is_inside = node is not None and node.name is None and now.markers is self._table.nothing
        if node is not None and is_inside and not (then and self._table.borders.behind(node, then)):
            return node.row  # no id ends the header
        row = self._row()
        self._write(now, row, None)
        if not row.any():
            raise EnforcerError(f"no token can continue the turn in {now.state}")
        return bits.sparse(row)

    def _then(self, now: Position) -> str | None:
        return self._table.dialect.states[now.state].then

    def _row(self) -> Row:
        return np.empty(self._table.vocabulary.words, dtype=np.int32)

    def _write(self, now: Position, target: Row, needed: Cut | None) -> None:
        """Write a mask, right as to the second parts of some ids; None for all.

        The rests of tokens are shorter than the tokens, so that what is asked for behind one border
        after the other comes to an end.
        """
        self._write_inside(now, target)
        then, node = self._then(now), now.header
        if then is not None and node is not None and node.name is not None and not now.place.begun:
            # The header may end before the next symbol, which begins the arguments.
            row = self._row()
            self._write(self._transitions.begin_arguments(now, node.name, then), row, needed)
            target |= row
        for every, behind in self._cuts(now):
            cut = every if needed is None else self._table.borders.among(every, needed)
            if cut:
                found = self._permitted(cut, behind())
                # Where a text is followed, it says whether it may end in their first parts.
                put(target, (found if now.grammar is None else self._begun(found, now, target)).ids)

    def _begun(self, cut: Cut, now: Position, row: Row) -> Cut:
        """Return those ids of a cut whose first parts complete the text that a position is in."""
        text = self._table.vocabulary.token_bytes
        return cut.begun(row, lambda token, _: self._reader.reads(now, text(token)))

    def _write_inside(self, now: Position, target: Row) -> None:
        """Write the mask of the ids that cross no border."""
        if now.failure is not None:  # behind a border: nothing may come there
            target.fill(0)
        elif now.grammar is not None:
            now.grammar.fill(target)
            target |= now.markers.mask
        elif now.header is not None and not now.place.begun:
            now.header.fill(target)
            target |= now.markers.mask
        else:
            np.copyto(target, now.row.mask)

    def _cuts(self, now: Position) -> Iterator[tuple[Cut, Callable[[], Position]]]:
        """Yield the ids that cross borders, with what gives the position behind each border."""
        transitions, borders, place = self._transitions, self._table.borders, now.place
        then = self._then(now)
        if then is not None and now.grammar is not None and place.text is not None:
            cut = borders.leaving(now.state, place.text)
            yield cut, partial(transitions.enter, then, now.calls + 1, now.text)
        elif then is not None and now.header is not None and not place.begun:
            for name, cut in borders.behind(now.header, then):
                yield cut, partial(transitions.begin_arguments, now, name, then)
        for state, cut in now.markers.crossing.items():
            yield cut, partial(transitions.follow, now, state)

    def _permitted(self, cut: Cut, behind: Position) -> Cut:
        """Return those ids of a cut whose second parts may come at a position."""
        behind = self._transitions.share(behind)
        find = partial(self._find, cut, behind)
        if behind.header is not None:
            if self._table.form.precedes(cut):
                return cut
            self._transitions.ask_names()
        if behind.shared is None:
            return self._transitions.kept_by_grammar(behind, cut, find)
        return self._transitions.kept(behind.shared, cut, find)

    def _find(self, cut: Cut, behind: Position) -> Cut:
        row, text = self._row(), self._table.vocabulary.token_bytes
        self._write(behind, row, cut)
        return cut.permitted(
            row, lambda token, count: self._reader.reads(behind, text(token)[count:])
        )
