"""Fills the arrays of a vocabulary's trie (`tree`) from its sorted tokens.

Cython in pure Python mode, see `compiled`.
"""

from __future__ import annotations

import cython

_BEYOND_ASCII = cython.declare(cython.longlong, 1 << 61)
_IN_NO_STATE = cython.declare(cython.longlong, 1 << 62)


def fill(
    data: cython.const_uchar[::1],
    lengths: cython.const_int[::1],
    ids: cython.const_int[::1],
    ascii_bits: cython.const_longlong[::1],
    path: cython.int[::1],
    passed: cython.longlong[::1],
    left: cython.uchar[::1],
    byte: cython.uchar[::1],
    skip: cython.int[::1],
    token: cython.int[::1],
    depth: cython.int[::1],
    parent: cython.int[::1],
    below: cython.longlong[::1],
    rank: cython.int[::1],
    height: cython.int[::1],
    way: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Write the arrays of `VocabularyTree` and return the number of nodes.

    Args:
        data: the bytes of the tokens, one behind the other, in ascending order.
        lengths, ids: of each token.
        ascii_bits: the group of each byte of ASCII.
        path, passed, left: room, one entry more than the longest token has bytes. By depth: the
            open node, the groups of the bytes before it, and the bytes that its character lacks.
        byte, skip, token, depth, parent, below, rank, height, way: by node, room for a node a byte;
            one entry more for `rank`.

    """
    count: cython.int = 0
    opened: cython.int = 0  # nodes of `path`
    start: cython.Py_ssize_t = 0
    before: cython.Py_ssize_t = 0  # where the token before begins
    passed[0] = 0
    left[0] = 0
    for k in range(lengths.shape[0] + 1):
        common = 0
        length = 0
        if k < lengths.shape[0]:
            length = lengths[k]
            # A token that equals the one before gets a node of its own.
            while (
                common < opened
                and common < length - 1
                and data[before + common] == data[start + common]
            ):
                common += 1
        while opened > common:
            opened -= 1
            node = path[opened]
            skip[node] = count
            up = parent[node]
            if up >= 0:
                below[up] |= below[node]
                height[up] = max(height[up], height[node] + 1)
        for d in range(common, length):
            b = data[start + d]
            lacks = left[d]
            group = _BEYOND_ASCII
            if lacks > 0:
                lead = data[start + d - 1]  # or a continuation byte, which equals no lead byte
                if (
                    b < 0x80
                    or b > 0xBF
                    or (lead == 0xE0 and b < 0xA0)
                    or (lead == 0xED and b > 0x9F)
                    or (lead == 0xF0 and b < 0x90)
                    or (lead == 0xF4 and b > 0x8F)
                ):
                    group = _IN_NO_STATE
                    lacks = 0
                else:
                    lacks -= 1
            elif b < 0x80:
                group = ascii_bits[b]
            elif b < 0xC2 or b > 0xF4:
                group = _IN_NO_STATE
            else:
                lacks = 1 if b < 0xE0 else (2 if b < 0xF0 else 3)
            byte[count] = b
            token[count] = -1
            depth[count] = d
            parent[count] = path[d - 1] if d > 0 else -1
            below[count] = group
            rank[count] = k
            height[count] = 1
            way[count] = passed[d]
            passed[d + 1] = passed[d] | group
            left[d + 1] = lacks
            path[d] = count
            count += 1
        if length > 0:
            token[count - 1] = ids[k]
            opened = length
            before = start
            start += length
    rank[count] = lengths.shape[0]
    return count
