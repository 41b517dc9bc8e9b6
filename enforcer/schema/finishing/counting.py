"""Arrays whose elements are counted, as a small automaton.

Owns: the states (how many elements, how many of each counted kind), the moves between
them, and which states can still be completed. Must not know: how the automaton is
written down, what the elements are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema

if TYPE_CHECKING:
    from enforcer.schema.grammar import ArrayShape, ElementChoice, ValueId

_MOST_STATES = 2_000
State = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class CountingAutomaton:
    """States from which the array can be completed, and the moves between them.

    Attributes:
        start: the state of the empty array.
        moves: for each live state, the elements that may follow and where they lead.
        final: states in which the array may end.

    """

    start: State
    moves: dict[State, tuple[tuple[ValueId, State], ...]]
    final: frozenset[State]

    @property
    def inhabited(self) -> bool:
        """Whether any array is accepted."""
        return self.start in self.moves


def counting_automaton(array: ArrayShape) -> CountingAutomaton:
    """Build the automaton of a shape with choices.

    Raises:
        UnsupportedSchema: too many states.

    """
    last = len(array.choices) - 1
    caps = tuple(
        each.minimum if each.maximum is None else max(each.minimum, each.maximum)
        for each in array.contains
    )
    # The first element differs from the others in that no comma stands before it.
    top = max(last, array.minimum, array.maximum or 0, 1)
    if (top + 1) * prod(cap + 1 for cap in caps) > _MOST_STATES:
        raise UnsupportedSchema.of(
            f"{array.path}.contains",
            "contains",
            "the numbers of elements to count are too large together; lower "
            "`minItems`, `maxItems` or `minContains`",
        )
    start: State = (0, tuple(0 for _ in caps))
    edges: dict[State, tuple[tuple[ValueId, State], ...]] = {}
    queue = [start]
    for state in queue:
        if state not in edges:
            found = (
                (choice.value, _following(array, caps, top, state, choice))
                for choice in array.choices[min(state[0], last)]
            )
            edges[state] = tuple((value, after) for value, after in found if after is not None)
            queue.extend(after for _, after in edges[state])
    final = frozenset(state for state in edges if _complete(array, state))
    alive: set[State] = set()
    growing = set(final)
    while growing - alive:
        alive |= growing
        growing = {s for s, out in edges.items() if any(after in alive for _, after in out)}
    moves = {
        state: tuple((value, after) for value, after in out if after in alive)
        for state, out in edges.items()
        if state in alive
    }
    return CountingAutomaton(start, moves, final)


def _following(
    array: ArrayShape, caps: tuple[int, ...], top: int, state: State, choice: ElementChoice
) -> State | None:
    index, counts = state
    if array.maximum is not None and index >= array.maximum:
        return None
    after = list(counts)
    for i in choice.counted:
        if after[i] < caps[i]:
            after[i] += 1
        elif array.contains[i].maximum is not None:
            return None
    return min(index + 1, top), tuple(after)


def _complete(array: ArrayShape, state: State) -> bool:
    index, counts = state
    return index >= array.minimum and all(
        count >= each.minimum for count, each in zip(counts, array.contains, strict=True)
    )
