"""Minimal automata, without equivalent states and dead ends.

States of unequal *heights* (the length of the longest completion, in one of the languages) differ,
and so do those of unequal distances to the nearest accepting state. Moore's refinement (1956) of
the partition by these needs few rounds: by itself it needs one for each character that is counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from enforcer.regex.constructors import NOTHING
from enforcer.regex.syntax import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from enforcer.regex.syntax import Explored, Regex

    _Numbers = npt.NDArray[np.int64]

FAR = 1 << 28  # the distance of a state that reaches no accepting one
_LANGUAGES = 4  # whose heights are found
_MOST_ROWS = 1 << 21  # compared, in all rounds: some two seconds


def minimal(found: Explored) -> tuple[Explored, list[int], list[int]]:
    """Return the minimal automaton of the same languages, its reachable languages and distances.

    It is not minimal if that takes too long.
    """
    found, reachable, distance = trimmed(found)
    known = [
        *zip(reachable, found.accepts, distance, *_all_heights(found.rows, reachable), strict=True)
    ]
    kinds: dict[tuple[int, ...], int] = {}
    start = np.array([kinds.setdefault(each, len(kinds)) for each in known], np.int64)
    classes = _refined(found.rows, start)
    # Classes are numbered in the order of their first states.
    _, first = np.unique(classes, return_index=True)
    rows = np.append(classes, -1)[found.rows[first]].astype(np.int32)
    least = replace(found, accepts=[found.accepts[at] for at in first], rows=rows)
    return least, [reachable[at] for at in first], [distance[at] for at in first]


def language_of(found: Explored) -> Regex:
    """Return the language of the first state of an automaton."""
    least, reachable, _ = minimal(found)
    return State(least, 0) if reachable[0] else NOTHING


def trimmed(found: Explored) -> tuple[Explored, list[int], list[int]]:
    """Remove dead states; return the others' reachable languages and distances, as `ends`."""
    reachable, distance = ends(found.accepts, found.rows)
    alive = [at for at, each in enumerate(reachable) if each or not at]
    numbers = np.full(len(reachable) + 1, -1, np.int32)
    numbers[alive] = np.arange(len(alive))
    if not reachable[0]:
        numbers[0] = -1
    accepts = [found.accepts[at] for at in alive]
    left = replace(found, accepts=accepts, rows=numbers[found.rows[alive]])
    return left, [reachable[at] for at in alive], [distance[at] for at in alive]


def _refined(steps: npt.NDArray[np.int32], classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Split classes of states until those of one class have the same next classes.

    Args:
        steps: of shape `(states, atoms)`; -1 for no transition.
        classes: of each state.

    """
    steps = steps[:, [*{column.tobytes(): at for at, column in enumerate(steps.T)}.values()]]
    count = int(classes.max()) + 1
    for _ in range(_MOST_ROWS // len(classes)):
        behind = np.append(classes, -1)[steps]
        # Rows are compared as bytes: equal rows are equal.
        rows = np.ascontiguousarray(np.column_stack((classes, behind)).astype(np.int32))
        joined = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
        numbers: dict[object, int] = {}
        classes = np.array([numbers.setdefault(x, len(numbers)) for x in joined.tolist()], np.int64)
        if len(numbers) == count:
            return classes
        count = len(numbers)
    return np.arange(len(classes))


def _edges(rows: npt.NDArray[np.int32]) -> tuple[_Numbers, _Numbers]:
    """Return pairs of a state and a next state, each once, ascending by the latter."""
    known = rows >= 0
    pairs = np.unique(rows[known].astype(np.int64) * len(rows) + np.nonzero(known)[0])
    return pairs % len(rows), pairs // len(rows)


class _Predecessors:
    """The states before each state; in two lists, as thousands of lists take longer."""

    def __init__(self, sources: _Numbers, targets: _Numbers, states: int) -> None:
        self._sources: list[int] = sources.tolist()
        self._first: list[int] = np.searchsorted(targets, np.arange(states + 1)).tolist()

    def __getitem__(self, state: int) -> list[int]:
        return self._sources[self._first[state] : self._first[state + 1]]


def _all_heights(rows: npt.NDArray[np.int32], reachable: Sequence[int]) -> Iterator[list[int]]:
    """Yield the heights of all states, in each of the first few languages."""
    sources, targets = _edges(rows)
    all_reachable = np.array(reachable, np.int64)
    for language in range(min(reachable[0].bit_length(), _LANGUAGES)):
        reaches = all_reachable >> language & 1 == 1
        if reaches.any():
            own = reaches[targets]
            yield _heights(sources[own], targets[own], len(rows))


def heights(rows: npt.NDArray[np.int32]) -> list[int]:
    """Return the heights of the states of an automaton of one language without dead ends."""
    return _heights(*_edges(rows), len(rows))


def _heights(sources: _Numbers, targets: _Numbers, states: int) -> list[int]:
    """Return for each state the length of the longest completion; `FAR` if it has no bound."""
    before = _Predecessors(sources, targets, states)
    left: list[int] = np.bincount(sources, minlength=states).tolist()
    heights = [0] * states
    done = [at for at, count in enumerate(left) if not count]
    for at in done:
        height = heights[at] + 1
        for each in before[at]:
            left[each] -= 1
            heights[each] = max(heights[each], height)
            if not left[each]:
                done.append(each)
    return [FAR if count else height for count, height in zip(left, heights, strict=True)]


def ends(accepts: Sequence[int], rows: npt.NDArray[np.int32]) -> tuple[list[int], list[int]]:
    """Return for each state the languages with a reachable end, and the distance to the nearest.

    Args:
        accepts: for each state the languages that end there, as bits.
        rows: the transitions; see `_edges`.

    Returns:
        The languages as bits, and the distance in characters, `FAR` if no end is reachable.

    """
    before = _Predecessors(*_edges(rows), len(rows))
    reachable = list(accepts)
    nearest = [at for at, each in enumerate(accepts) if each]
    queue = list(nearest)
    while queue:
        state = queue.pop()
        for each in before[state]:
            if reachable[state] & ~reachable[each]:
                reachable[each] |= reachable[state]
                queue.append(each)
    distance = [0 if each else FAR for each in accepts]
    for state in nearest:
        for each in before[state]:
            if distance[each] == FAR:
                distance[each] = distance[state] + 1
                nearest.append(each)
    return reachable, distance
