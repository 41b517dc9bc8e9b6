"""Minimal automata: states that no text tells apart are one state, and dead ends are left out.

States of unequal *heights* (the length of the longest text that is left, in one of the languages)
differ, and so do those of unequal distances to the nearest end. Moore's refinement (1956) of the
partition by these needs few rounds: by itself it needs one for each character that is counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from enforcer.machine.exploring import Explored

    Rows = Sequence[Sequence[tuple[int, int]]]

FAR = 1 << 28  # the distance of a state without an end
_LANGUAGES = 4  # whose heights are found
_MOST_ROWS = 1 << 21  # compared, in all rounds: some two seconds


def minimal(found: Explored) -> Explored:
    """Return the minimal automaton of the same languages; the same one if that takes too long."""
    leads, distance = ends(found.accepts, found.rows)
    alive = [at for at, each in enumerate(leads) if each or not at]
    numbers = {at: number for number, at in enumerate(alive)}
    rows = [[(mask, numbers[to]) for mask, to in found.rows[at] if leads[to]] for at in alive]
    steps = np.full((len(alive), len(found.atoms)), len(alive), np.int64)
    atoms: dict[int, list[int]] = {}
    for row, step in zip(rows, steps, strict=True):
        for mask, to in row:
            if mask not in atoms:
                atoms[mask] = [i for i in range(mask.bit_length()) if mask >> i & 1]
            step[atoms[mask]] = to
    accepts = [found.accepts[at] for at in alive]
    live = [leads[at] for at in alive]
    near = [distance[at] for at in alive]
    known = [*zip(live, accepts, near, *_all_heights(rows, live), strict=True)]
    kinds: dict[tuple[int, ...], int] = {}
    start = np.array([kinds.setdefault(each, len(kinds)) for each in known], np.int64)
    classes = _refined(steps, start).tolist()
    order: dict[int, int] = {}
    first: list[int] = []
    for at, each in enumerate(classes):
        if each not in order:
            order[each] = len(order)
            first.append(at)
    joined = []
    for at in first:
        masks: dict[int, int] = {}
        for mask, to in rows[at]:
            number = order[classes[to]]
            masks[number] = masks.get(number, 0) | mask
        joined.append([(mask, to) for to, mask in masks.items()])
    return replace(found, accepts=[accepts[at] for at in first], rows=joined)


def _refined(steps: npt.NDArray[np.int64], classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Split classes of states until those of one class lead to the same classes.

    Args:
        steps: of shape `(states, atoms)`; no transition leads to the number of states.
        classes: of each state.

    """
    _, firsts = np.unique(steps, axis=1, return_index=True)
    steps = steps[:, firsts]
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


def _all_heights(rows: Rows, leads: Sequence[int]) -> Iterator[list[int]]:
    """Yield the heights of all states, in each of the first few languages."""
    for language in range(min(leads[0].bit_length(), _LANGUAGES)):
        is_led = [each >> language & 1 for each in leads]
        if any(is_led):
            yield _heights([[x for x in row if is_led[x[1]]] for row in rows])


def _heights(rows: Rows) -> list[int]:
    """Return for each state the length of the longest text that is left; `FAR` if none is."""
    before: list[list[int]] = [[] for _ in rows]
    left = [0] * len(rows)
    for at, row in enumerate(rows):
        left[at] = len(row)
        for _, to in row:
            before[to].append(at)
    heights = [FAR] * len(rows)
    done = [at for at, count in enumerate(left) if not count]
    for at in done:
        heights[at] = max((1 + heights[to] for _, to in rows[at]), default=0)
        for each in before[at]:
            left[each] -= 1
            if not left[each]:
                done.append(each)
    return heights


def ends(accepts: Sequence[int], rows: Rows) -> tuple[list[int], list[int]]:
    """Return for each state the languages of which a word is reached, and the nearest end."""
    before: list[list[int]] = [[] for _ in accepts]
    for at, row in enumerate(rows):
        for _, to in row:
            before[to].append(at)
    leads = list(accepts)
    nearest = [at for at, each in enumerate(accepts) if each]
    queue = list(nearest)
    while queue:
        state = queue.pop()
        for each in before[state]:
            if leads[state] & ~leads[each]:
                leads[each] |= leads[state]
                queue.append(each)
    distance = [0 if each else FAR for each in accepts]
    for state in nearest:
        for each in before[state]:
            if distance[each] == FAR:
                distance[each] = distance[state] + 1
                nearest.append(each)
    return leads, distance
