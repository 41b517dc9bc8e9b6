"""Fills the arrays of a vocabulary's trie (`tree`) from its sorted tokens.

Cython in pure Python mode, see `compiled`.
"""

from __future__ import annotations

import cython

_BEYOND_ASCII = cython.declare(cython.longlong, 1 << 61)
_IN_NO_STATE = cython.declare(cython.longlong, 1 << 62)


def fill(
    data: cython.const_uchar[::1],
    starts: cython.const_int[::1],
    bits: cython.const_longlong[::1],
    left: cython.uchar[::1],
    below: cython.longlong[::1],
    child: cython.int[::1],
    rank: cython.int[::1],
    rank_end: cython.int[::1],
    children: cython.int[::1],
    own: cython.int[::1],
    height: cython.int[::1],
    byte: cython.uchar[::1],
) -> cython.int:
    """Write the nodes level by level, and return how many there are.

    Args:
        data, starts: the bytes of all tokens in ascending order; where each begins, and ends.
        bits: the group of each byte that begins a character.
        left: room for how many bytes the character of each node lacks; the rest: see `tree`.

    """
    count: cython.int = 0
    parent: cython.int = -1  # above the roots
    depth: cython.int = 0  # of its children
    level_end: cython.int = 0
    while parent < count:
        low = 0
        high = cython.cast(cython.int, starts.shape[0] - 1)
        missing = 0
        lead = 0
        first = count
        if parent >= 0:
            low = rank[parent] + own[parent]
            high = rank_end[parent]
            missing = left[parent]
            lead = byte[parent]  # or a continuation byte, which equals no lead byte
        while low < high:
            b = data[starts[low] + depth]
            following = end_of_run(data, starts, low, high, depth)
            group = group_of(b, missing, lead, bits)
            if missing > 0 and group == _BEYOND_ASCII:
                group = below[parent]  # nothing but its own group so far
            left[count] = lacking(b, missing) if group != _IN_NO_STATE else 0
            below[count] = group
            rank[count] = low
            rank_end[count] = following
            own[count] = ending(starts, low, following, depth + 1)
            byte[count] = b
            count += 1
            low = following
        if parent >= 0:
            children[parent] = count - first
            child[parent] = first if count > first else 0
        parent += 1
        if parent == level_end:
            depth += 1
            level_end = count
    sum_up(count, below, child, children, height, byte)
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(-1, check=False)
def end_of_run(
    data: cython.const_uchar[::1],
    starts: cython.const_int[::1],
    low: cython.int,
    high: cython.int,
    depth: cython.int,
) -> cython.int:
    """Return the token behind those that have the same byte as the first."""
    b = data[starts[low] + depth]
    while low < high and data[starts[low] + depth] == b:
        low += 1
    return low


@cython.cfunc
@cython.inline
@cython.exceptval(-1, check=False)
def ending(
    starts: cython.const_int[::1], low: cython.int, high: cython.int, length: cython.int
) -> cython.int:
    """Return how many tokens, from the first on, have just that length."""
    count: cython.int = 0
    while low + count < high and starts[low + count + 1] - starts[low + count] == length:
        count += 1
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def group_of(
    b: cython.int, missing: cython.int, lead: cython.int, bits: cython.const_longlong[::1]
) -> cython.longlong:
    """Return the group of a byte; `missing` and `lead` are of the character before it."""
    if missing > 0:
        is_wrong = (
            b < 0x80
            or b > 0xBF
            or (lead == 0xE0 and b < 0xA0)
            or (lead == 0xED and b > 0x9F)
            or (lead == 0xF0 and b < 0x90)
            or (lead == 0xF4 and b > 0x8F)
        )
        return _IN_NO_STATE if is_wrong else _BEYOND_ASCII
    return bits[b]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def lacking(b: cython.int, missing: cython.int) -> cython.int:
    """Return how many bytes a character lacks behind a legal byte of it."""
    if missing > 0:
        return missing - 1
    if b < 0x80:
        return 0
    return 1 if b < 0xE0 else (2 if b < 0xF0 else 3)


@cython.cfunc
def sum_up(
    count: cython.int,
    below: cython.longlong[::1],
    child: cython.int[::1],
    children: cython.int[::1],
    height: cython.int[::1],
    byte: cython.uchar[::1],
):
    """Add to each node what is below it: the groups of bytes, and how many characters begin."""
    node = count
    while node > 0:
        node -= 1
        begins = 0 if byte[node] & 0xC0 == 0x80 else 1
        height[node] = begins
        for inner in range(child[node], child[node] + children[node]):
            below[node] |= below[inner]
            height[node] = max(height[node], height[inner] + begins)
