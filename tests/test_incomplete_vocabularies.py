"""Tokenizers that lack bytes: what they cannot write is never begun, and JSON escapes write it."""

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import enforcer
from enforcer.errors import InvalidSchema, InvalidTools, InvalidVocabulary, UnsupportedSchema
from enforcer.regex.charset import ALL
from enforcer.turn import dialects
from enforcer.turn.matcher import Matcher
from enforcer.vocabulary import Vocabulary
from tests.engine_cases import closed
from tests.support.tools import tool
from tests.vocabularies import legal
from tests.walks import examples

_ASCII = [bytes([byte]) for byte in range(0x80)]
_BYTES = [bytes([byte]) for byte in range(256)]
_MERGED = ["é".encode(), "né".encode(), "🙂".encode(), b'"}', b'": "', b"\\u"]
# What no text of SmolLM2's training had; what is left of a training on English alone; characters.
WITHOUT = {
    "two lead bytes": [x for x in _BYTES if x not in (b"\xf1", b"\xf2", b"\x04")] + _MERGED,
    "Latin alone": [x for x in _BYTES if x < b"\xc4"] + _MERGED[:2],
    "whole characters": [*_ASCII, "é".encode(), "né".encode(), "n日".encode(), "日".encode()],
    "ASCII alone": [*_ASCII, b'"}', b"\\u"],
}
# Formats in which strings stand as they are.
RAW = ["glm45", "kimi_k3", "minimax_m2", "qwen3_coder"]
_WORDS = ["a\U00040000", "ab", "a", "é", "né", "日", "\U00040000", "\U00040000b"]


def vocabulary(name: str, dialect: str) -> Vocabulary:
    tokens = [*WITHOUT[name]]
    controls = {}
    for control in dialects.load(dialect).controls:
        controls[control] = len(tokens)
        tokens.append(control.encode())
    return Vocabulary(tokens, controls)


def served(name: str, dialect: str = "kimi_k2") -> enforcer.Enforcer:
    options = enforcer.Options(preamble_ids=2, max_calls=1)
    return enforcer.Enforcer(vocabulary(name, dialect), dialect, options=options)


def _drawn(matcher: Matcher, random: Random, most: int | None = None) -> list[int]:
    """Draw ids from the masks, to the end of the turn or so many."""
    ids: list[int] = []
    while not matcher.is_finished and (most is None or len(ids) < most):
        allowed = sorted(legal(matcher))
        assert allowed, ids
        ids.append(random.choice(allowed))
        assert matcher.accept(ids[-1])
    return ids


def _walk(
    e: enforcer.Enforcer, schema: Any, random: Random, budget: int | None = None
) -> dict[str, Any]:
    """Draw a whole turn from the masks; return the arguments of its call."""
    matcher = e.matcher([tool("f", schema)], "required", budget=budget)
    ids: list[int] = []
    ends = [i for i in range(e.vocabulary.size) if e.vocabulary.token_bytes(i) in (b'"', b"}")]
    while not matcher.is_finished:
        allowed = sorted(legal(matcher))
        assert allowed, e.vocabulary.decode(ids)
        soon = [i for i in allowed if i in ends or i in e.vocabulary.control_ids]
        ids.append(random.choice(soon if soon and len(ids) > 40 else allowed))
        assert matcher.accept(ids[-1])
        assert len(ids) < 4000
    assert budget is None or len(ids) <= budget
    (call,) = e.parse(ids).calls
    found: dict[str, Any] = json.loads(call.arguments)
    return found


@pytest.mark.parametrize("name", WITHOUT)
@examples(25)
@given(
    words=st.lists(st.sampled_from(_WORDS), min_size=1, unique=True),
    pattern=st.sampled_from(["^[é-\U00050000]{1,2}$", "^a?[^a-z]$", "^(n|é|\U00040000b)*$"]),
    seed=st.integers(0, 2**32),
)
def test_no_walk_comes_to_a_dead_end(name: str, words: list[str], pattern: str, seed: int) -> None:
    properties = {
        "w": {"enum": words},
        "p": {"type": "string", "pattern": pattern},
        "l": {"type": "string", "minLength": 1, "maxLength": 3},
        words[0]: {"const": 1},
    }
    schema = closed(properties, "w", "p", words[0])
    found = _walk(served(name), schema, Random(seed))
    assert found["w"] in words
    assert set(found) >= {"w", "p", words[0]}


@pytest.mark.parametrize("name", WITHOUT)
@examples(10)
@given(more=st.integers(0, 30), seed=st.integers(0, 2**32))
@example(more=26, seed=13602213)  # half an escape leads to the longer of two values
def test_unwritable_text_is_finished_in_budget_by_escapes(name: str, more: int, seed: int) -> None:
    options = enforcer.Options(preamble_ids=2, max_calls=1, finish_within_budget=True)
    e = enforcer.Enforcer(vocabulary(name, "kimi_k2"), "kimi_k2", options=options)
    word = "\U00040000é日"
    properties = {
        word: {"enum": [word, "日\U00040000"]},
        "s": {"type": "string", "pattern": f"^[{word}]{{3}}$"},
        "t": {"type": "string", "minLength": 2},
    }
    schema = closed(properties, word, "s", "t")
    with pytest.raises(enforcer.BudgetTooSmall) as caught:
        e.matcher([tool("f", schema)], "required", budget=1)
    (needed,) = re.findall(r"takes (\d+) tokens", str(caught.value))
    found = _walk(e, schema, Random(seed), int(needed) + more)
    assert len(found["s"]) == 3
    assert set(found["s"]) <= set(word)


@pytest.mark.parametrize("name", WITHOUT)
@pytest.mark.parametrize(
    "regex", ["ab\U00040000|c", "(ab\U00040000|c)x", "(a\U00040000)*", "^a[^a-z]b$", "(?i)񀀀|B"]
)
def test_a_regex_leads_to_nothing_that_cannot_be_written(name: str, regex: str) -> None:
    e = served(name)
    for seed in range(10):
        matcher = e.matcher(None, response_format={"type": "regex", "regex": regex})
        text = e.parse(_drawn(matcher, Random(seed))).content or ""
        assert re.fullmatch(regex.removeprefix("^").removesuffix("$"), text)


def test_a_regex_of_which_no_text_can_be_written() -> None:
    with pytest.raises(InvalidSchema, match="no text that the model's tokenizer can write fits"):
        served("two lead bytes").matcher(
            None, response_format={"type": "regex", "regex": "[\U00040000-\U00040010]"}
        )


@pytest.mark.parametrize("name", WITHOUT)
def test_what_can_be_written_is_legal_and_what_cannot_has_an_escape(name: str) -> None:
    e = served(name)
    schema = {"type": "object", "properties": {"w": {"enum": _WORDS}}, "required": ["w"]}
    for word in _WORDS:
        for text in {json.dumps({"w": word}), json.dumps({"w": word}, ensure_ascii=False)}:
            if not e.vocabulary.can_write(text):
                assert not text.isascii()
                continue
            matcher = e.matcher([tool("f", schema)], "required")
            opening = "<|tool_calls_section_begin|>", "<|tool_call_begin|>"
            ids = [e.vocabulary.control(each) for each in opening]
            ids += e.vocabulary.encode("functions.f:0")
            ids.append(e.vocabulary.control("<|tool_call_argument_begin|>"))
            ids += e.vocabulary.encode(text)
            ids.append(e.vocabulary.control("<|tool_call_end|>"))
            assert all(map(matcher.accept, ids)), text


def test_the_writable_characters() -> None:
    found = vocabulary("two lead bytes", "kimi_k2")
    assert not found.is_complete
    assert found.can_write("né 日 🙂")
    assert not found.can_write("a\U00040000")
    assert not found.can_write("\ud800")
    characters = vocabulary("whole characters", "kimi_k2")
    assert characters.can_write("né日")
    assert not characters.can_write("ü")
    assert Vocabulary(_BYTES, {}).is_complete
    assert Vocabulary(_BYTES, {}).writable == ALL


@pytest.mark.parametrize("name", WITHOUT)
@examples(100)
@given(character=st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0é日🙂\U0003ffff"))
def test_the_spans_of_what_can_be_written(name: str, character: str) -> None:
    found = vocabulary(name, "kimi_k2")
    assert (character in found.writable) == found.can_write(character)


def test_a_lead_byte_that_only_larger_tokens_have() -> None:
    found = Vocabulary([x for x in _BYTES if x != b"\xf1"] + [b"a\xf1\x80"], {})
    assert not found.is_complete
    assert not found.can_write("\U00040000")


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        ([x for x in _BYTES if x != b"}"], "'}' alone: no call"),
        ([x for x in _BYTES if x != b"\n"], r"'\\n' alone: no call"),
        ([x for x in _BYTES if x != b"\xa9"], "0xa9 alone"),
        ([*_ASCII, "é".encode(), b"\xe6\x97"], "a part of a character"),
        ([*_ASCII, "né".encode()], "'é', which is no token alone"),
    ],
)
def test_what_could_come_to_a_dead_end_is_no_vocabulary(tokens: list[bytes], told: str) -> None:
    with pytest.raises(InvalidVocabulary, match=told):
        Vocabulary(tokens, {})


@pytest.mark.parametrize("dialect", RAW)
@pytest.mark.parametrize("name", WITHOUT)
@examples(8)
@given(
    words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4, unique=True),
    pattern=st.sampled_from(["^[é-\U00050000a]{1,2}$", "^a?[^a-z]$", "^(n|é|\U00040000b)*$"]),
    seed=st.integers(0, 2**32),
)
def test_no_dead_ends(name: str, dialect: str, words: list[str], pattern: str, seed: int) -> None:
    properties = {
        "w": {"enum": words},
        "p": {"type": "string", "pattern": pattern},
        "l": {"type": "string", "minLength": 1, "maxLength": 3},
        "j": {"type": "array", "items": {"enum": words}, "minItems": 1},
    }
    schema = closed(properties, "w", "p", "j")
    e, random = served(name, dialect), Random(seed)
    if not any(map(e.vocabulary.can_write, words)):
        with pytest.raises(UnsupportedSchema, match="tokenizer cannot write any value") as caught:
            e.matcher([tool("f", schema)], "required")
        assert caught.value.path == "$.tools[0].function.parameters.properties.w"
        return
    _drawn(e.matcher([tool("f", schema)], "required"), random, most=150)


@pytest.mark.parametrize("name", WITHOUT)
def test_what_can_be_written_is_legal_without_escapes(name: str) -> None:
    e = served(name, "qwen3_coder")
    schema = {"type": "object", "properties": {"w": {"enum": _WORDS}}, "required": ["w"]}
    for word in _WORDS:
        matcher = e.matcher([tool("f", schema)], "required")
        assert matcher.accept(e.vocabulary.control("<tool_call>"))
        text = "\n<function=f>\n<parameter=w>\n{}\n</parameter>\n</function>\n".format
        if e.vocabulary.can_write(word):
            assert all(map(matcher.accept, e.vocabulary.encode(text(word))))
            assert matcher.accept(e.vocabulary.control("</tool_call>"))


@pytest.mark.parametrize("dialect", ["qwen3_coder", "kimi_k3"])
def test_names_of_arguments_that_cannot_be_written_without_escapes(dialect: str) -> None:
    schema = {"type": "object", "properties": {"b": {}, "a\U00040000": {"type": "string"}}}
    with pytest.raises(UnsupportedSchema, match="the model's tokenizer cannot write an argument"):
        served("two lead bytes", dialect).matcher([tool("f", schema)])


def test_names_of_tools_and_choices_that_cannot_be_written() -> None:
    e = served("ASCII alone")
    with pytest.raises(InvalidTools, match="no token ids for 'é'") as caught:
        e.matcher([tool("f"), tool("é")])
    assert caught.value.path == "$.tools[1].function.name"
    for choices, left in ((["aé", "ab"], "ab"), (["é", ""], "")):
        matcher = e.matcher(None, response_format={"type": "choice", "choice": choices})
        ids: list[int] = []
        while not matcher.is_finished:
            ids.append(min(legal(matcher)))
            assert matcher.accept(ids[-1])
        assert e.parse(ids).content == left
    with pytest.raises(InvalidSchema, match="tokenizer can write fits it"):
        e.matcher(None, response_format={"type": "choice", "choice": ["é"]})
