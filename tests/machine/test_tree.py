"""The vocabulary's trie against one of nested dictionaries and Python's own UTF-8 decoder."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.machine import tree, tree_builder
from enforcer.machine.tree import BEYOND_ASCII, IN_NO_STATE, VocabularyTree, build_tree
from tests import vocabularies
from tests.formats import vocabularies as formats
from tests.machine.interpreted import interpreted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


BUILDERS = [tree_builder, interpreted("tree_builder")]
# Pieces that are prefixes of each other, white space, and characters whole, cut and wrong.
_TEXTS = st.text(st.sampled_from('ab"\n é日🙂'), max_size=4).map(str.encode)
_BYTES = st.binary(max_size=5)
_BEGUN = st.builds(lambda lead, rest: bytes([lead]) + rest, st.integers(0xC0, 0xFF), _BYTES)
_TOKENS = st.lists(_TEXTS | _BYTES | _BEGUN, max_size=40)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def groups(token: bytes) -> list[int]:
    """Return the byte group of each byte of a token."""
    found = []
    begun = b""
    for byte in token:
        begun += bytes([byte])
        tails = [bytes([last]) * count for last in (0x80, 0xBF) for count in range(4)]
        if not any(is_text(begun + tail) for tail in tails):
            found.append(IN_NO_STATE)
            begun = b""
            continue
        if is_text(begun):
            begun = b""
        if byte >= 0x80:
            found.append(BEYOND_ASCII)
            continue
        bits = [n for n, group in enumerate(tree.ASCII_GROUPS) if chr(byte) in group]
        found.append(1 << bits[0] if bits else IN_NO_STATE)
    return found


def built_of(tokens: Sequence[bytes]) -> VocabularyTree:
    """Build the trie of the tokens that are not empty; their ids are their places."""
    ids = sorted((i for i, data in enumerate(tokens) if data), key=tokens.__getitem__)
    return build_tree([tokens[i] for i in ids], ids)


def rows_of(tokens: Sequence[bytes]) -> list[dict[str, int]]:
    """Return the nodes of the trie, each as a dictionary of its fields, by recursion."""
    rows: list[dict[str, int]] = []

    def visit(entries: list[tuple[bytes, int]], prefix: bytes, parent: int) -> None:
        depth = len(prefix)
        by_byte = defaultdict(list)
        for data, token in entries:
            by_byte[data[depth]].append((data, token))
        for byte, inside in sorted(by_byte.items()):
            here = prefix + bytes([byte])
            ended = [token for data, token in inside if data == here]
            longer = [(data, token) for data, token in inside if data != here]
            way = reduce(or_, groups(here)[:-1], 0)
            own = {"byte": byte, "depth": depth, "parent": parent, "way": way}
            for n, token in enumerate(ended or [-1]):
                last = n == len(ended or [-1]) - 1
                row = {**own, "token": token, "rank": sum(row["token"] >= 0 for row in rows)}
                rows.append(row)
                node = len(rows) - 1
                if last:
                    visit(longer, here, node)
                texts = [data for data, _ in longer] if last else []
                row["skip"] = len(rows)
                row["height"] = max(map(len, texts), default=len(here)) - depth
                below = [group for data in [here, *texts] for group in groups(data)[depth:]]
                row["below"] = reduce(or_, below)

    visit([(data, i) for i, data in enumerate(tokens) if data], b"", -1)
    return rows


def assert_is(built: VocabularyTree, rows: list[dict[str, int]]) -> None:
    assert built.size == len(rows)
    for name in ("byte", "skip", "token", "depth", "parent", "below", "height", "way"):
        assert getattr(built, name).tolist() == [row[name] for row in rows], name
    ids = [row["token"] for row in rows if row["token"] >= 0]
    assert built.ids.tolist() == ids
    assert built.rank.tolist() == [*(row["rank"] for row in rows), len(ids)]
    assert built.longest == max((row["depth"] + 1 for row in rows), default=0)


@pytest.mark.parametrize("builder", BUILDERS, ids=["compiled", "interpreted"])
@given(tokens=_TOKENS)
def test_the_trie_is_that_of_a_recursion(builder: ModuleType, tokens: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "tree_builder", builder)
        assert_is(built_of(tokens), rows_of(tokens))


def test_equal_tokens_are_siblings_and_the_last_has_the_children() -> None:
    built = built_of([b"ab", b"a", b"abc", b"", b"ab"])
    assert bytes(built.byte) == b"abbc"
    assert built.token.tolist() == [1, 0, 4, 2]
    assert built.skip.tolist() == [4, 2, 4, 4]
    assert built.parent.tolist() == [-1, 0, 0, 2]


def test_no_token_is_a_trie_without_nodes() -> None:
    for tokens in ([], [b"", b""]):
        built = built_of(tokens)
        assert (built.size, built.longest, built.rank.tolist()) == (0, 0, [0])


def test_every_character_of_ascii_that_prints_is_in_one_group() -> None:
    assert sorted("".join(tree.ASCII_GROUPS)) == [chr(n) for n in range(0x20, 0x80)]
    assert len(tree.ASCII_GROUPS) < 61


def test_the_arrays_are_read_only() -> None:
    built = built_of([b"a"])
    for name in VocabularyTree.__slots__:
        assert not getattr(built, name).flags.writeable


def same(tokens: Sequence[bytes]) -> VocabularyTree:
    """Build the trie compiled and interpreted, and compare them."""
    built = built_of(tokens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "tree_builder", interpreted("tree_builder"))
        other = built_of(tokens)
    for name in VocabularyTree.__slots__:
        assert np.array_equal(getattr(built, name), getattr(other, name)), name
    return built


def test_the_small_vocabulary() -> None:
    tokens = vocabularies.small().texts
    assert_is(same(tokens), rows_of(tokens))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3", "qwen3", "gemma3"])
def test_tokenizers_of_other_models(name: str) -> None:
    tokens = formats.named(name).texts
    built = same(tokens)
    spelled = [b""] * len(tokens)
    for node in np.flatnonzero(built.token >= 0):
        way, up = bytearray(), node
        while up >= 0:
            way.append(built.byte[up])
            up = built.parent[up]
        spelled[built.token[node]] = bytes(reversed(way))
    assert spelled == tokens


@pytest.mark.slow
def test_kimis_vocabulary() -> None:
    tokens = vocabularies.kimi().texts
    assert sorted(same(tokens).ids.tolist()) == [i for i, data in enumerate(tokens) if data]
