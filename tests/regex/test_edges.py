from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex.charset import ALL, CharSet, partition, word
from enforcer.regex.edges import (
    Reading,
    after_boundary,
    is_boundary,
    left_classes,
    one_character,
    word_kinds,
)
from enforcer.regex.pattern import read
from enforcer.regex.tree import Edge

_NEIGHBOURS = st.sampled_from([None, "a", "_", "é", "٣", "-", " ", "😀"])
_EDGES = st.sampled_from([(Edge.WORD, r"\b"), (Edge.NOT_WORD, r"\B")])


@given(_EDGES, _NEIGHBOURS, _NEIGHBOURS)
def test_boundaries_are_those_of_ascii_and_of_unicode_words(
    edge: tuple[Edge, str], before: str | None, after: str | None
) -> None:
    kind, pattern = edge
    text, at = (before or "") + (after or ""), len(before or "")
    ecma = re.compile(pattern, re.ASCII).match(text, at) is not None
    python = re.compile(pattern).match(text, at) is not None
    if not text and kind is Edge.NOT_WORD:
        ecma, python = True, False  # as `re` before 3.14 has it; ECMA-262 matches
    left, right = (None if c is None else CharSet.span(c) for c in (before, after))
    assert is_boundary(kind, left, right, Reading.NARROW) == (ecma and python)
    assert is_boundary(kind, left, right, Reading.WIDE) == (ecma or python)
    if after is not None:
        for reading in Reading:
            allowed = after in after_boundary(kind, left, reading)
            assert allowed == is_boundary(kind, left, right, reading)


def test_word_kinds_are_a_partition() -> None:
    kinds = word_kinds()
    assert sum(map(len, kinds)) == len(ALL)
    assert kinds[0] | kinds[1] == word().wide


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("^a$", 1), (r"\ba", 3), ("(?<=a)b", 2), ("(?<![ab])(?<=[bc])x", 4), ("(?<=ab)c", 1)],
)
def test_contexts_are_told_apart_only_as_far_as_needed(pattern: str, count: int) -> None:
    assert len(left_classes(read(pattern))) == count


@pytest.mark.parametrize(
    ("item", "found"), [("a", "a"), ("[ab]", "ab"), ("a|b", "ab"), ("ab", None)]
)
def test_lookbehinds_of_one_character(item: str, found: str | None) -> None:
    members = one_character(read(item), Reading.NARROW)
    assert members == (None if found is None else CharSet.span(*found))


@given(st.lists(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 9)), max_size=4), max_size=4))
def test_partitions_keep_sets_whole(spans: list[list[tuple[int, int]]]) -> None:
    sets = [CharSet.of((low, low + more) for low, more in one) for one in spans]
    parts = partition(sets)
    assert sum(map(len, parts)) == len(ALL)
    for members in sets:
        assert all(part & members in (part, CharSet(())) for part in parts)
