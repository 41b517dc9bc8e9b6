"""What ids stand for, and what is looked up of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.api import Enforcer
from enforcer.errors import ConfigurationError, InvalidVocabulary
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary
from tests import vocabularies
from tests.tokenizer_cases import BYTES, TEXTS, byte_fallback, byte_level, wrapped
from tests.vocabularies import CONTROLS, PIECES, bits


def test_the_small_vocabulary() -> None:
    vocabulary = vocabularies.small()
    controls = [name for name in CONTROLS if name]
    assert vocabulary.size == 256 + len(PIECES) + vocabularies.HOLES + len(CONTROLS)
    assert vocabulary.words == -(-vocabulary.size // 32)
    assert vocabulary.size % 32
    assert sorted(vocabulary.controls) == sorted(controls)
    for name in controls:
        assert vocabulary.token_bytes(vocabulary.control(name)) == name.encode()
    text = bits(vocabulary.text_row)
    assert text == set(range(256 + len(PIECES)))
    assert text.isdisjoint(vocabulary.control_ids)
    assert not vocabulary.text_row.flags.writeable


@pytest.mark.parametrize("text", TEXTS)
def test_text_never_becomes_a_control_id(text: str) -> None:
    for vocabulary in (vocabularies.small(), byte_level(), byte_fallback(), wrapped()):
        ids = vocabulary.encode(text)
        assert vocabulary.control_ids.isdisjoint(ids)
        assert vocabulary.decode(ids) == text.encode()


@given(st.text())
def test_every_text_can_be_spelled(text: str) -> None:
    vocabulary = vocabularies.small()
    assert vocabulary.decode(vocabulary.encode(text)) == text.encode()


@pytest.mark.parametrize("text", TEXTS)
def test_markers_in_a_text_become_their_ids_if_asked(text: str) -> None:
    for vocabulary in (vocabularies.small(), byte_level(), byte_fallback(), wrapped()):
        assert vocabulary.decode(vocabulary.encode(text, markers=True)) == text.encode()
        a = vocabulary.encode("a")
        for name, marker in vocabulary.controls.items():
            ids = vocabulary.encode(f"a{name}{name}a{name}", markers=True)
            assert ids == [*a, marker, marker, *a, marker]


def test_the_longest_of_markers_that_begin_alike_is_meant() -> None:
    alike = Vocabulary([*BYTES, b"<a>", b"<a><b>", b""], {"<a>": 256, "<a><b>": 257, "": 258})
    assert alike.encode("<a><b><a><", markers=True) == [257, 256, ord("<")]
    assert Vocabulary(BYTES, {}).encode("<a>", markers=True) == [*b"<a>"]


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(InvalidVocabulary, match="surrogate"):
        vocabularies.small().encode("a\ud800")


@given(st.sets(st.integers(0, vocabularies.small().size - 1)))
def test_a_row_has_the_bits_of_its_ids(ids: set[int]) -> None:
    row = vocabularies.small().row(ids)
    assert row.dtype == np.int32
    assert row.shape == (vocabularies.small().words,)
    assert bits(row) == ids


def test_sorted_text_is_sorted_and_whole() -> None:
    vocabulary = vocabularies.small()
    keys, ids = vocabulary.sorted_text
    assert list(keys) == sorted(BYTES + list(PIECES))
    assert [vocabulary.token_bytes(i) for i in ids] == list(keys)
    assert [vocabulary.find(key) for key in keys] == [ids[keys.index(key)] for key in keys]
    assert vocabulary.find(keys[-1] + b"a") is None


def test_a_control_token_that_was_added_is_taken_away() -> None:
    known = vocabularies.small()
    tokens = [known.token_bytes(i) for i in range(known.size)]
    added = Vocabulary([*tokens, b"<new>"], {**known.controls, "<new>": known.size})
    assert added.without_last("<new>").is_same(known)
    assert added.without_last("[BOS]") is added  # others stand behind it
    assert known.without_last("<new>") is known


def test_an_absent_control_token_is_named() -> None:
    with pytest.raises(InvalidVocabulary, match="<\\|nothing\\|>"):
        vocabularies.small().control("<|nothing|>")


@pytest.mark.parametrize("outside", [-1, 256, 10**9])
def test_control_ids_lie_inside(outside: int) -> None:
    with pytest.raises(InvalidVocabulary, match="outside"):
        Vocabulary(BYTES, {"<|im_end|>": outside})


def test_more_tokens_of_the_same_bytes_than_a_trie_counts_are_refused() -> None:
    Vocabulary([*BYTES, *[b"ab"] * 65_535, *[b""] * 70_000], {})
    with pytest.raises(InvalidVocabulary, match="65,535 tokens of the same bytes"):
        Vocabulary([*BYTES, *[b"ab"] * 65_536], {})


@pytest.mark.parametrize("missing", [b"{", b"a", b"\xa3"])
def test_what_calls_are_written_with_has_an_id(missing: bytes) -> None:
    with pytest.raises(InvalidVocabulary, match="alone"):
        Vocabulary([data for data in BYTES if data != missing], {})
    with pytest.raises(InvalidVocabulary, match="alone"):
        Vocabulary(BYTES, {"stolen": missing[0]})


@pytest.mark.parametrize("engine", ["machine", "xgrammar", "outlines-core"])
def test_what_has_no_id_is_written_in_escapes(engine: str) -> None:
    pytest.importorskip(engine.replace("-", "_"))
    tokens = [b"" if data >= b"\xf1" else data for data in BYTES]
    names = dialects.load("kimi_k2").controls
    controls = {name: len(tokens) + n for n, name in enumerate(names)}
    vocabulary = Vocabulary([*tokens, *map(str.encode, names)], controls)
    fields = {"x": {"enum": ["\U00040000"]}}
    schema = {"properties": fields, "required": ["x"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    matcher = Enforcer(vocabulary, engine=engine).matcher([tool], "required")
    begun = "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
    text = begun + '<|tool_call_argument_begin|>{"x": "\\ud8c0\\udc00"}<|tool_call_end|>'
    assert all(map(matcher.accept, vocabularies.write(vocabulary, text)))


@pytest.mark.parametrize("outside", [-1, 10**9, -(10**9), vocabularies.small().size])
def test_an_id_that_is_none_is_named(outside: int) -> None:
    vocabulary = vocabularies.small()
    for ask in (vocabulary.token_bytes, lambda i: vocabulary.decode([97, i])):
        with pytest.raises(ConfigurationError, match=f"no id {outside}: .* from 0 to"):
            ask(outside)


@pytest.mark.parametrize("junk", [[-1], [10**9], [121], [256], []])
def test_a_text_is_split_otherwise_where_the_tokenizer_errs(junk: list[int]) -> None:
    assert Vocabulary([*BYTES, b"<a>"], {"<a>": 256}, lambda _: junk).encode("x") == [120]


def test_the_vocabulary_of_bytes() -> None:
    vocabulary = Vocabulary.of_bytes(["<a>", "<b>", "<a>"])
    assert (vocabulary.size, vocabulary.controls) == (258, {"<a>": 256, "<b>": 257})
    assert vocabulary.encode("é<a>") == list("é<a>".encode())


def test_a_control_token_has_a_name() -> None:
    wrong: Any = [1]
    with pytest.raises(InvalidVocabulary, match="must be a text"):
        Vocabulary.of_bytes(wrong)
