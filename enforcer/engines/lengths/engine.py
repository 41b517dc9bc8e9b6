"""Lengths of strings counted around an engine.

Owns: what a keeper of lengths shares between the texts of a grammar. Must not know: which engine it
is around.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from enforcer.engines.beside import KeeperEngine
from enforcer.engines.lengths import long_arguments, long_strings
from enforcer.engines.lengths.automaton import Automaton
from enforcer.engines.lengths.follower import LengthFollower, way
from enforcer.engines.lengths.raw_strings import RawStringKeeper
from enforcer.engines.lengths.string_ids import StringIds
from enforcer.engines.pairs_follower import by_name
from enforcer.layouts import LayoutKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines.keeper import Keeper
    from enforcer.engines.lengths.follower import Place, Way
    from enforcer.engines.pairs_follower import Raw
    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar

_EACH = 1_000  # bytes of a way


class LengthKeeper(LengthFollower):
    """Keeps strings from becoming too long; one for all texts of a grammar."""

    def __init__(self, ways: Sequence[Way], ids: StringIds) -> None:
        super().__init__(ways)
        self._ids = ids

    def forbid(self, place: Place, row: npt.NDArray[np.int32]) -> None:
        """Leave out of a mask row the ids for which it is None."""

        def fits(data: bytes) -> bool:
            return self.read(place, data) is not None

        if place.counted is not None:
            self._ids.forbid(place.counted, row, fits)
        self._ids.forbid_openings(row, fits)


class LengthEngine(KeeperEngine):
    """Counts the characters of strings beside another engine."""

    mark: ClassVar[str] = "\0lengths "

    @cached_property
    def _ids(self) -> StringIds:
        return StringIds(self.vocabulary)

    @cached_property
    def _raw_ids(self) -> StringIds:
        return StringIds(self.vocabulary, quoted=False)

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build the tables of the ids that strings are made of."""
        _ = self._ids
        if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
            _ = self._raw_ids
        super().warm(layout)

    def divide(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None
    ) -> tuple[ArgumentGrammar, list[Any]]:
        """Let strings be longer for the engine within, and say which are to be counted."""
        if layout is None or layout.layout.kind is LayoutKind.JSON:
            return long_strings.divide(grammar)
        if layout.layout.kind is LayoutKind.PAIRS:
            return long_arguments.divide(grammar, layout)
        return grammar, []

    def keepers(self, kept: list[Any]) -> tuple[Callable[[], Keeper], int]:
        """Give what makes a keeper for each text, and the bytes that they share."""
        listed, tables, *_ = kept
        automata = [Automaton(table) for table in tables]
        keeper = LengthKeeper([way(each, automata) for each in listed], self._ids)
        weight = _EACH * len(listed) + sum(automaton.weight for automaton in automata)
        return lambda: keeper, weight

    def raw(self, kept: list[Any]) -> tuple[Raw, int]:
        """Give what counts the strings of a property that stand as they are."""
        _, _, tables, names, others = kept
        automata = [Automaton(table) for table in tables]

        def keeper(counted: list[int] | None) -> Keeper | None:
            if counted is None:
                return None
            number, most = counted
            return RawStringKeeper(automata[number], most, self._raw_ids)

        keepers = {name: keeper(counted) for name, counted in names.items()}
        weight = sum(automaton.weight for automaton in automata) + _EACH * len(names)
        return by_name(keepers, keeper(others)), weight
