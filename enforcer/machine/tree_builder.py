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
    path: cython.int[::1],
    left: cython.uchar[::1],
    begun: cython.longlong[::1],
    below: cython.longlong[::1],
    span: cython.int[::1],
    rank: cython.int[::1],
    rank_end: cython.int[::1],
    own: cython.int[::1],
    height: cython.int[::1],
    byte: cython.uchar[::1],
) -> cython.int:
    """Write the nodes in preorder, and return how many there are.

    Args:
        data, starts: the bytes of all tokens in ascending order; where each begins, and ends.
        bits: the group of each byte that begins a character.
        path: room for the nodes of a token, by depth.
        left: for how many bytes the character of each of them lacks.
        begun: for the group of that character.
        below, span, rank, rank_end, own, height, byte: see `tree`.

    """
    count: cython.int = 0
    length: cython.int = 0  # of the path: the nodes of the token before
    tokens: cython.int = starts.shape[0] - 1
    for token in range(tokens):
        first = starts[token]
        end = starts[token + 1] - first
        common = in_common(data, starts, token, min(length, end))
        while length > common:
            length -= 1
            close(path, length, count, token, below, span, rank_end, height, byte)
        for depth in range(common, end):
            b = data[first + depth]
            missing = left[depth - 1] if depth > 0 else 0
            group = group_of(b, missing, data[first + depth - 1] if missing > 0 else 0, bits)
            if missing > 0 and group == _BEYOND_ASCII:
                group = begun[depth - 1]
            begun[depth] = group
            left[depth] = lacking(b, missing) if group != _IN_NO_STATE else 0
            path[depth] = count
            below[count] = group
            rank[count] = token
            height[count] = begins(b)
            byte[count] = b
            count += 1
        own[path[end - 1]] += 1
        length = end
    while length > 0:
        length -= 1
        close(path, length, count, tokens, below, span, rank_end, height, byte)
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(-1, check=False)
def in_common(
    data: cython.const_uchar[::1],
    starts: cython.const_int[::1],
    token: cython.int,
    most: cython.int,
) -> cython.int:
    """Return how many bytes, at most so many, a token begins with as the one before it does."""
    found: cython.int = 0
    while found < most and data[starts[token - 1] + found] == data[starts[token] + found]:
        found += 1
    return found


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def begins(b: cython.int) -> cython.int:
    """Return 1 for a byte that begins a character, 0 for one that goes on with it."""
    return 0 if b & 0xC0 == 0x80 else 1


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
def close(
    path: cython.int[::1],
    depth: cython.int,
    count: cython.int,
    token: cython.int,
    below: cython.longlong[::1],
    span: cython.int[::1],
    rank_end: cython.int[::1],
    height: cython.int[::1],
    byte: cython.uchar[::1],
):
    """Write what is known of a node once all below it is: what `below` and `height` sum up."""
    node = path[depth]
    span[node] = count - node
    rank_end[node] = token
    if depth > 0:
        parent = path[depth - 1]
        below[parent] |= below[node]
        height[parent] = max(height[parent], height[node] + begins(byte[parent]))
