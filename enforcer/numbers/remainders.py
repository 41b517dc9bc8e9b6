"""Decimals divisible by a number, as the automaton over remainders.

Owns: that automaton. Must not know: sets of numbers, bounds, schemas.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from enforcer.numbers.decimals import DIGIT, PLACES
from enforcer.regex import either, literal
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import minimal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import concat, repeat
from enforcer.regex.syntax import Explored, State

_SYMBOLS = "0123456789."
_ATOMS = (*map(CharSet.span, _SYMBOLS), ~CharSet.span(*_SYMBOLS))
_LARGEST = 5_000  # divisor of which all remainders are listed
_MOST_ENDINGS = 1_000  # of a larger one that divides a power of ten


@lru_cache(maxsize=64)
def divisible(divisor: int) -> State | None:
    """Match digits, with points among them, that in one run are a multiple, or none at all.

    Returns None if there are too many remainders.
    """
    if divisor > _LARGEST:
        return _by_endings(divisor)
    remainders = np.arange(divisor)
    digits = ((10 * remainders + digit) % divisor for digit in range(10))
    rows = np.column_stack((*digits, remainders, np.full(divisor, -1)))
    found = Explored(_ATOMS, [1] + [0] * (divisor - 1), rows.astype(np.int32), 0)
    return State(minimal(found)[0], 0)


def _by_endings(divisor: int) -> State | None:
    length = next((count for count in range(PLACES) if not 10**count % divisor), None)
    if length is None or 10**length // divisor > _MOST_ENDINGS:
        return None
    endings = (literal(str(each).rjust(length, "0")) for each in range(0, 10**length, divisor))
    found = explore((concat(repeat(DIGIT, 0, None), either(*endings)),))
    point = CharSet.span(".")
    atoms = (*(each - point for each in found.atoms), point)
    rows = np.column_stack((found.rows, np.arange(len(found.rows), dtype=np.int32)))
    # Digits that are fewer than those of an ending stand behind zeros.
    start = 0
    for _ in range(length):
        start = int(rows[start, next(at for at, each in enumerate(atoms) if "0" in each)])
    return State(Explored(atoms, found.accepts, rows, 0), start)
