"""Strings that are counted beside the engine: what is legal, ends, and comes back."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import _beside_the_machine
from enforcer.engines.lengths import long_strings, string_ids
from enforcer.engines.lengths.engine import LengthEngine
from enforcer.schema import compile_schema
from tests.schema_judge import agree_along_a_walk, is_valid
from tests.vocabularies import bits, cut, kimi, split
from tests.walks import examples

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

# Strings in every spelling, with what may stand around them, in pieces of any length.
_TEXTS = (
    '{"a": "ab cd", "b": ["x y", "zz"]}',
    '{"a":"ab","b":["é日本","\\u00e9\\n"]}',
    '[" a","🙂🙃","\\ud83d\\ude42","\\\\","\\""]',
    '{"\\u0061":"a  b","c":{"a":"https://a.b/c"}}',
)
_MORE = (b"aaaaaa", b"a a a a", b"nnn", b"tab", b"uuu", b"\\u00", b"\\u", b"0041", b"41b")
V = cut(_TEXTS, _MORE)


_ENDS = frozenset(b'"]}')


def text(pattern: str, most: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, "maxLength": most, **more}


WORDS = text(r"^(?:\S+\s+){0,2}\S+$", 7)
NESTED = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "a": text("^[a-c é]*$", 5),
                "b": {"type": "array", "items": WORDS, "maxItems": 3},
                "c": {"$ref": "#/$defs/node"},
            },
            "additionalProperties": text("[a-z]", 6),
        }
    },
    "$ref": "#/$defs/node",
}
SCHEMAS: list[dict[str, Any]] = [
    WORDS,
    text(r"^\S(.*\S)?$", 6),
    text("[A-Za-z]", 5),
    text("^https://", 12),
    text("^.*$", 7, minLength=2),
    text(r"^(ab|é|\n|🙂|\\)*$", 6),
    text("^a.*b.*c$", 9),
    text("^[^<>]*$", 4),
    {"anyOf": [WORDS, {"type": "integer"}, {"type": "array", "items": text("^[ab]*$", 4)}]},
    {"type": "array", "prefixItems": [text("^a", 4), text("^b", 6)], "items": text("^c", 8)},
    {"type": "array", "items": text("^[ab ]+$", 5), "uniqueItems": True, "maxItems": 4},
    {"type": "array", "items": {"properties": {"a": WORDS}, "type": "object"}, "uniqueItems": True},
    NESTED,
]


@cache
def engine() -> ArgumentEngine:
    """Give an engine over the vocabulary."""
    return _beside_the_machine(V)


def compiled(schema: Any) -> CompiledGrammar:
    """Compile with short strings counted as well, however long the id that opens one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_strings, "_LEAST", 3)
        patch.setattr(string_ids, "_LONG_OPENING", 0)
        grammar = compile_schema(schema)
        assert _is_counted(grammar)
        return engine().compile(grammar)


def _is_counted(grammar: ArgumentGrammar) -> bool:
    return bool(long_strings.divide(grammar)[1])


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@given(seed=st.integers(0, 10**9))
def test_whatever_is_generated_fits_and_no_beginning_is_a_dead_end(
    schema: dict[str, Any], seed: int
) -> None:
    found = _walk(compiled(schema).matcher(), Random(seed))
    if found is not None:
        assert is_valid(schema, json.loads(found)), found


def _walk(matcher: ArgumentMatcher, random: Random, most: int = 160) -> bytes | None:
    """Sample a whole text, strings as long as they may be more often than not."""
    row = np.zeros(V.words, np.int32)
    ids: list[int] = []
    while len(ids) < 2 * most:
        if matcher.is_accepting() and random.random() < 0.3:
            return V.decode(ids)
        matcher.fill(row)
        legal = sorted(bits(row))
        if not legal and matcher.is_accepting():
            return V.decode(ids)
        assert legal, f"a dead end after {V.decode(ids)!r}"
        ends = [i for i in legal if i in _ENDS]
        hurried = bool(ends) and random.random() < len(ids) / most
        ids.append(random.choice(ends if hurried else legal))
        assert matcher.accept(ids[-1]), f"the mask has {ids[-1]}, but it is refused"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@examples(20)
@given(seed=st.integers(0, 10**9))
def test_the_mask_is_what_is_accepted_and_going_back_changes_nothing(
    schema: dict[str, Any], seed: int
) -> None:
    matcher = compiled(schema).matcher()
    agree_along_a_walk(matcher, V, Random(seed), lambda data: b'"' not in data)


# No line's end, before which Python's `$` matches as well.
_STRINGS = st.text(st.sampled_from('ab c é🙂\\"<https://'), max_size=13)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS[:8], ids=range(8))
@given(value=_STRINGS, random=st.randoms(use_true_random=False))
def test_what_is_accepted_is_what_is_valid_however_it_is_spelled_and_split(
    schema: dict[str, Any], value: str, random: Random
) -> None:
    grammar = compiled(schema)
    for ascii_only in (False, True):
        written = json.dumps(value, ensure_ascii=ascii_only).encode()
        matcher = grammar.matcher()
        taken = all(map(matcher.accept, split(random.choice, V, written)))
        assert (taken and matcher.is_accepting()) == is_valid(schema, value), written


@pytest.mark.parametrize("length", [63, 64, 65])
def test_the_last_character_that_fits_is_the_last(length: int) -> None:
    grammar = compile_schema(text(r"^\S(.*\S)?$", 64))
    assert _is_counted(grammar)
    matcher = engine().compile(grammar).matcher()
    written = json.dumps("a" * length).encode()
    assert all(map(matcher.accept, written)) == (length <= 64)


def test_the_engine_does_not_count_what_is_counted_beside_it() -> None:
    counting = engine()
    short, long = ({"type": "object", "properties": {"a": text("^[a ]+$", n)}} for n in (40, 4_000))
    assert "{1,40}" in counting.write(compile_schema(short))
    written = counting.write(compile_schema(long))
    assert written.startswith(LengthEngine.mark)
    assert "{1,4000}" not in written
    assert "4000" in written


AMBIGUOUS: list[Any] = [
    {"anyOf": [text("^a", 70), text("b$", 80)]},
    {"anyOf": [text("^a", 70), {"type": "string", "pattern": "^b"}]},
    {"oneOf": [{"properties": {"k": {"const": n}, "s": text(f"^{n}", 99)}} for n in "abc"]},
]


@pytest.mark.parametrize("schema", AMBIGUOUS, ids=range(len(AMBIGUOUS)))
def test_where_the_way_does_not_tell_which_string_it_is_the_engine_counts(schema: Any) -> None:
    grammar = compile_schema(schema)
    assert long_strings.divide(grammar) == (grammar, [])


@pytest.mark.parametrize(
    "schema",
    [{"type": "string", "maxLength": 500}, text("^[a-z]{3}$", 500), text("^(a|b{90})*$", 500)],
)
def test_what_the_engine_does_well_or_nobody_does_is_left_to_it(schema: Any) -> None:
    assert not _is_counted(compile_schema(schema))


def test_a_name_is_the_same_however_it_is_spelled() -> None:
    grammar = compiled({"type": "object", "properties": {"né": text("^[ab]*$", 3)}})
    for name in ('"né"', '"n\\u00e9"', '"\\u006e\\u00E9"'):
        for value, fits in (("aaa", True), ("aaaa", False)):
            matcher = grammar.matcher()
            written = f'{{"x": "aaaaaa", {name}: "{value}"}}'.encode()
            assert all(map(matcher.accept, written)) == fits, (name, value)


@pytest.mark.slow
@pytest.mark.parametrize(("words", "most"), [(49, 500), (99, 5_000)])
def test_no_honest_text_ends_for_its_words(
    kimi_vocabulary: Vocabulary, words: int, most: int
) -> None:
    """One in six ended, and masks took 4 ms in the mean: a state for each word and character."""
    engine_ = _kimi()
    grammar = compile_schema(text(rf"^(?:\S+\s+){{0,{words}}}\S+$", most))
    engine_.check(grammar)
    compiled_ = engine_.compile(grammar)
    random, row = Random(3), np.zeros(kimi_vocabulary.words, np.int32)
    for _ in range(20):
        some = (
            "".join(random.choices("abcdeétu日", k=random.randint(1, 12))) for _ in range(words)
        )
        value = " ".join(some)[: random.choice((300, 500))].strip()
        matcher = compiled_.matcher()
        for token_id in kimi_vocabulary.encode(json.dumps(value, ensure_ascii=False)):
            matcher.fill(row)
            assert row[token_id // 32] >> token_id % 32 & 1
            assert matcher.accept(token_id)
        assert matcher.is_accepting()


BEGUN = (
    *(b"", b"\\", b"\\u", b"\\u0", b"\\u00", b"\\u006", b"\\ud", b"\\ud8", b"\\ud83d"),
    *(b"\\ud83d\\", b"\\ud83d\\u", b"\\ud83d\\ude", b"\xc3", b"\xe6\x97", b"\xf0\x9f"),
)


@pytest.mark.slow
@pytest.mark.parametrize("begun", BEGUN)
@pytest.mark.parametrize(
    ("pattern", "left"),
    [(r"^(?:\S+ ?)+$", 1), (r"^(?:\S+ ?)+$", 3), ("a é?b", 4), ("a é?b", 6), ("[a-z]{9}$", 12)],
)
def test_near_the_end_the_mask_of_a_real_vocabulary_is_what_is_accepted(
    kimi_vocabulary: Vocabulary, pattern: str, left: int, begun: bytes
) -> None:
    schema = text(pattern, 70, minLength=1)
    matcher = _kimi().compile(compile_schema(schema)).matcher()
    value = (b"ab cd " * 12)[: 70 - left]
    if not all(map(matcher.accept, kimi_vocabulary.pieces(b'"' + value + begun))):
        assert begun
        return
    row = np.zeros(kimi_vocabulary.words, np.int32)
    matcher.fill(row)
    legal, random = bits(row), Random(left)
    tried = {*random.sample(sorted(legal), min(500, len(legal)))}
    tried.update(random.sample(range(kimi_vocabulary.size), 1_500))
    tried.update(random.sample(_near(kimi_vocabulary, begun), 500))
    for token_id in tried:
        accepted = matcher.accept(token_id)
        assert accepted == (token_id in legal), kimi_vocabulary.token_bytes(token_id)
        if accepted:
            matcher.rollback(1)


@cache
def _kimi() -> ArgumentEngine:
    return _beside_the_machine(kimi())


def _near(vocabulary: Vocabulary, begun: bytes) -> list[int]:
    """List ids that may go on with a character."""
    firsts = b"0123456789abcdefABCDEFu\\" if begun[:1] == b"\\" else bytes(range(0x80, 0xC0))
    firsts += b'bfnrt/"' if begun[-1:] == b"\\" else b""
    keys, ids = vocabulary.sorted_text
    found = [i for data, i in zip(keys, ids, strict=True) if data[0] in firsts]
    return found * (1 + 500 // len(found))
