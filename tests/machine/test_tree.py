"""The vocabulary's trie against its definition by prefixes and Python's own UTF-8 decoder."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import reduce
from operator import or_
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.errors import InvalidVocabulary
from enforcer.machine import byte_groups, grammar
from enforcer.machine.byte_groups import BEYOND_ASCII, CJK, IN_NO_STATE, groups_beyond_ascii
from enforcer.machine.grammar import VocabularyTree, build_tree
from tests import vocabularies
from tests.formats import vocabularies as formats
from tests.machine.interpreted import interpreted

BUILDERS = [kernel, interpreted()]
# First bytes of the characters that some automata tell apart.
_LEADS = {
    0xE2: byte_groups.U_2000,
    **dict.fromkeys((0xC2, 0xE1, 0xE3, 0xEF), byte_groups.AS_WHITE_SPACE),
    **dict.fromkeys(range(0xE4, 0xEA), CJK),
}
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
            found.append(found[-1] if byte < 0xC0 else _LEADS.get(byte, BEYOND_ASCII))
            continue
        bits = [n for n, group in enumerate(byte_groups.ASCII_GROUPS) if chr(byte) in group]
        found.append(1 << bits[0] if bits else IN_NO_STATE)
    return found


def built_of(tokens: Sequence[bytes]) -> VocabularyTree:
    """Build the trie of the tokens that are not empty; their ids are their places."""
    ids = sorted((i for i, data in enumerate(tokens) if data), key=tokens.__getitem__)
    return build_tree([tokens[i] for i in ids], ids)


def rows_of(tokens: Sequence[bytes]) -> list[dict[str, int]]:
    """Return the nodes of the trie, each as a dictionary of its fields, by prefixes."""
    texts = sorted(filter(None, tokens))
    prefixes = [b""]
    rows: list[dict[str, int]] = []
    for prefix in prefixes:
        depth = len(prefix)
        inside = [data for data in texts if data.startswith(prefix)]
        behind = sorted({data[: depth + 1] for data in inside} - {prefix})
        own = texts.count(prefix)
        rank = bisect_left(texts, prefix)
        if prefix:
            rows.append(
                {
                    "below": reduce(
                        or_, (bit for data in inside for bit in groups(data)[depth - 1 :])
                    ),
                    "child": len(prefixes) - 1 if behind else 0,
                    "rank": rank,
                    "rank_end": rank + len(inside),
                    "token": tokens.index(prefix) if own else -1,
                    "children": len(behind),
                    "own": own,
                    "height": max(
                        sum(byte & 0xC0 != 0x80 for byte in data[depth - 1 :]) for data in inside
                    ),
                    "byte": prefix[-1],
                    "group": byte_groups.GROUP_NUMBERS[prefix[-1]],
                }
            )
        prefixes += behind
    return rows


def assert_is(built: VocabularyTree, tokens: Sequence[bytes]) -> None:
    rows = rows_of(tokens)
    assert set(kernel.TRIE_NODE.names) == set(rows[0] if rows else kernel.TRIE_NODE.names)
    assert len(built.nodes) == len(rows)
    for name in kernel.TRIE_NODE.names:
        assert built.nodes[name].tolist() == [row[name] for row in rows], name
    ids = sorted((i for i, data in enumerate(tokens) if data), key=lambda i: (tokens[i], i))
    assert built.ids.tolist() == ids
    assert built.roots == len({data[0] for data in tokens if data})


@pytest.mark.parametrize("builder", BUILDERS, ids=["compiled", "interpreted"])
@given(tokens=_TOKENS)
def test_the_trie_is_that_of_a_recursion(builder: ModuleType, tokens: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "kernel", builder)
        assert_is(built_of(tokens), tokens)


def test_equal_tokens_are_one_node() -> None:
    built = built_of([b"ab", b"a", b"abc", b"", b"ab"])
    assert bytes(built.nodes["byte"]) == b"abc"
    assert built.nodes["own"].tolist() == [1, 2, 1]
    assert built.ids.tolist() == [1, 0, 4, 2]


def test_no_token_is_a_trie_without_nodes() -> None:
    for tokens in ([], [b"", b""]):
        built = built_of(tokens)
        assert (len(built.nodes), len(built.ids), built.roots) == (0, 0, 0)


def test_what_no_record_holds_is_an_error() -> None:
    built_of([b"b"] * 65_535)
    with pytest.raises(InvalidVocabulary, match="65,535 tokens"):
        built_of([b"b"] * 65_536)


def test_every_character_of_ascii_that_prints_is_in_one_group() -> None:
    assert sorted("".join(byte_groups.ASCII_GROUPS)) == [chr(n) for n in range(0x20, 0x80)]
    assert len(byte_groups.ASCII_GROUPS) <= 58


@given(st.integers(0x80, 0x10FFFF), st.integers(0, 0x6000))
def test_the_groups_of_a_span_are_those_of_its_characters(low: int, count: int) -> None:
    high = min(low + count, 0x10FFFF)
    # Of 16 characters in a row all have the same first byte.
    leads = {chr(code).encode(errors="surrogatepass")[0] for code in (*range(low, high, 16), high)}
    expected = reduce(or_, (_LEADS.get(lead, BEYOND_ASCII) for lead in leads))
    assert groups_beyond_ascii(low, high) == expected


def test_white_space_beyond_ascii_is_apart_from_most_characters() -> None:
    for code in filter(lambda code: chr(code).isspace(), range(0x80, 0x110000)):
        assert groups_beyond_ascii(code, code) != BEYOND_ASCII


def same(tokens: Sequence[bytes]) -> VocabularyTree:
    """Build the trie compiled and interpreted, and compare them."""
    built = built_of(tokens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "kernel", interpreted())
        other = built_of(tokens)
    assert np.array_equal(built.nodes, other.nodes)
    assert np.array_equal(built.ids, other.ids)
    return built


def test_the_small_vocabulary() -> None:
    tokens = vocabularies.small().texts
    assert_is(same(tokens), tokens)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3", "qwen3", "gemma3"])
def test_tokenizers_of_other_models(name: str) -> None:
    tokens = formats.named(name).texts
    built = same(tokens)
    spelled = [b""] * len(tokens)
    prefixes = {node: bytes([built.nodes["byte"][node]]) for node in range(built.roots)}
    for node, row in enumerate(built.nodes.tolist()):
        _, child, rank, _, _, children, own, *_ = row
        for token in built.ids[rank : rank + own]:
            spelled[token] = prefixes[node]
        for inner in range(child, child + children):
            prefixes[inner] = prefixes[node] + bytes([built.nodes["byte"][inner]])
    assert spelled == tokens


@pytest.mark.slow
def test_kimis_vocabulary() -> None:
    tokens = vocabularies.kimi().texts
    assert sorted(same(tokens).ids.tolist()) == [i for i, data in enumerate(tokens) if data]
