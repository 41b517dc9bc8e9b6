import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import fullmatch
from enforcer.regex.assertions import language
from enforcer.regex.charset import ALL, CharSet, partition
from enforcer.regex.pattern import read
from enforcer.regex.tree import Reading, text_before

_NEIGHBOURS = st.sampled_from(["", "a", "_", "é", "٣", "-", " ", "😀"])


@given(st.sampled_from([r"\b", r"\B"]), _NEIGHBOURS, _NEIGHBOURS)
def test_boundaries_are_of_ascii_and_unicode_words(edge: str, before: str, after: str) -> None:
    pattern = f"^{before}{edge}{after}$"
    text = before + after
    ecma = re.search(pattern, text, re.ASCII) is not None
    python = re.search(pattern, text) is not None
    if not text and edge == r"\B":
        ecma, python = True, False  # as `re` before 3.14 has it; ECMA-262 matches
    tree = read(pattern)
    assert fullmatch(language(tree, Reading.NARROW, pattern), text) == (ecma and python)
    assert fullmatch(language(tree, Reading.WIDE, pattern), text) == (ecma or python)


@pytest.mark.parametrize(
    ("item", "members", "others"),
    [("a|b", ["a", "xb"], ["", "ax"]), ("^a|^", ["", "a"], ["xa"]), ("^|, ", ["", "a, "], [","])],
)
def test_what_is_before_a_lookbehind(item: str, members: list[str], others: list[str]) -> None:
    before = text_before(read(item), Reading.NARROW)
    assert [text for text in members + others if fullmatch(before, text)] == members


def test_assertions_inside_lookbehinds_are_not_known() -> None:
    assert text_before(read(r"a\b"), Reading.NARROW) is None


@given(st.lists(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 9)), max_size=4), max_size=4))
def test_partitions_keep_sets_whole(spans: list[list[tuple[int, int]]]) -> None:
    sets = [CharSet.of((low, low + more) for low, more in one) for one in spans]
    parts = partition(sets)
    assert sum(map(len, parts)) == len(ALL)
    for members in sets:
        assert all(part & members in (part, CharSet(())) for part in parts)
