"""Fills the arrays of a vocabulary's trie (`tree`) from its sorted tokens.

Cython in pure Python mode, see `compiled`.
"""

from __future__ import annotations

import cython

_U_2000 = cython.declare(cython.longlong, 1 << 60)
_BEYOND_ASCII = cython.declare(cython.longlong, 1 << 61)
_IN_NO_STATE = cython.declare(cython.longlong, 1 << 62)


def fill(
    data: cython.const_uchar[::1],
    starts: cython.const_int[::1],
    ascii_bits: cython.const_longlong[::1],
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
        data: the bytes of the tokens, one behind the other, in ascending order.
        starts: of each token in `data`, and the end of the last one.
        ascii_bits: the group of each byte of ASCII.
        left: by node, room for the number of bytes that its character lacks.
        below, child, rank, rank_end, children, own, height, byte: by node, see `tree`; room for a
            node a byte.

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
            following = low + 1
            while following < high and data[starts[following] + depth] == b:
                following += 1
            longer = low
            while longer < following and starts[longer + 1] - starts[longer] == depth + 1:
                longer += 1
            lacks = 0
            group = _U_2000 if b == 0xE2 else _BEYOND_ASCII
            if missing > 0:
                if (
                    b < 0x80
                    or b > 0xBF
                    or (lead == 0xE0 and b < 0xA0)
                    or (lead == 0xED and b > 0x9F)
                    or (lead == 0xF0 and b < 0x90)
                    or (lead == 0xF4 and b > 0x8F)
                ):
                    group = _IN_NO_STATE
                else:
                    lacks = missing - 1
                    group = below[parent]  # nothing but its own group so far
            elif b < 0x80:
                group = ascii_bits[b]
            elif b < 0xC2 or b > 0xF4:
                group = _IN_NO_STATE
            else:
                lacks = 1 if b < 0xE0 else (2 if b < 0xF0 else 3)
            left[count] = lacks
            below[count] = group
            rank[count] = low
            rank_end[count] = following
            own[count] = longer - low
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
    node = count
    while node > 0:
        node -= 1
        height[node] = 1
        for inner in range(child[node], child[node] + children[node]):
            below[node] |= below[inner]
            height[node] = max(height[node], height[inner] + 1)
    return count
