"""Masks where a stop may have begun are the engine's own, which are found far slower."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import begun_stops, stops
from enforcer.engines.begun_stops import BegunStopEngine, RawString
from enforcer.engines.llguidance.engine import LLGuidanceEngine
from enforcer.engines.llguidance.grammar import LLGuidanceMatcher
from enforcer.engines.stops import Stops
from enforcer.layouts.pattern import ID
from enforcer.schema import Root, compile_schema
from tests.laid_out import bound, vocabulary, written_symbols
from tests.vocabularies import bits, split
from tests.walks import examples

if TYPE_CHECKING:
    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.schema import ArgumentGrammar

V = vocabulary()
PAIRS = ("kimi_k3", "qwen3_coder", "minimax_m2", "glm45")
DECLARED = PAIRS[1:]


def grammar_of(schema: dict[str, Any]) -> ArgumentGrammar:
    return compile_schema(schema, root=Root.OBJECT)


@cache
def within() -> LLGuidanceEngine:
    return LLGuidanceEngine(V)


@cache
def around(many: int = stops._MANY) -> BegunStopEngine:
    """Give an engine that asks for so many ids that begin alike together."""
    engine = BegunStopEngine(within(), V)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stops, "_MANY", many)
        for name in PAIRS:
            _find_all(engine._stops_of(bound(name).avoided))
    return engine


def _find_all(found: stops.Stops) -> None:
    """Have it find what completes stops, wherever they may have begun."""
    seen, queue = {stops.NOTHING}, [stops.NOTHING]
    for begun in queue:
        found.completing(begun)
        after = {found.after(begun, bytes([byte])) for byte in range(128)} - seen
        seen |= after
        queue += after


@cache
def compiled(
    name: str, schema: str, many: int = stops._MANY
) -> tuple[CompiledGrammar, CompiledGrammar]:
    grammar, layout = grammar_of(json.loads(schema)), bound(name)
    assert around().write(grammar, layout).startswith(BegunStopEngine.mark)
    return around(many).compile(grammar, layout), within().compile(grammar, layout)


def free(name: str, schema: dict[str, Any]) -> tuple[dict[str, int | None], int | None] | None:
    """Give how long the strings of properties have to be to hold anything; None if none may."""
    _, kept = around().divide(grammar_of(schema), bound(name))
    return (kept[1], kept[2]) if kept else None


STRING = {"type": "string"}
CLOSED: dict[str, Any] = {"additionalProperties": False}


@pytest.mark.parametrize(
    ("of_a", "typed", "declared"),
    [
        (STRING, 0, 0),
        ({}, 0, 0),
        ({**STRING, "minLength": 3}, 3, 3),
        ({"type": ["string", "null"]}, 0, 0),
        ({"type": ["string", "integer"]}, 0, None),  # "+1" would be read as a number
        ({"type": ["string", "array"]}, 0, None),
        ({"anyOf": [STRING, {"type": "string", "minLength": 9}]}, 0, 0),
        ({"type": "integer"}, None, None),
        ({**STRING, "maxLength": 9}, None, None),
        ({**STRING, "pattern": "^a"}, None, None),
        ({"enum": ["a", "<"]}, None, None),
        ({"not": {"const": "</"}, **STRING}, None, None),
    ],
)
def test_which_strings_may_hold_anything(
    of_a: dict[str, Any], typed: int | None, declared: int | None
) -> None:
    schema = {"properties": {"a": of_a, "b": STRING}, **CLOSED}
    for name in PAIRS:
        needs = typed if name == "kimi_k3" else declared
        if needs and name == "qwen3_coder":
            needs += 2  # line breaks around it
        assert free(name, schema) == ({"a": needs, "b": 0}, None), name


@pytest.mark.parametrize("name", PAIRS)
def test_where_no_string_may_hold_anything_the_grammar_passes_unchanged(name: str) -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {"enum": ["<"]}}, **CLOSED}
    grammar, layout = grammar_of(schema), bound(name)
    assert free(name, schema) is None
    assert around().write(grammar, layout) == within().write(grammar, layout)


@pytest.mark.parametrize("name", PAIRS)
def test_what_has_no_name_is_told_from_what_has(name: str) -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "additionalProperties": STRING}
    assert free(name, schema) == ({"a": None}, 0)
    schema = {"properties": {"a": STRING}, "additionalProperties": {"enum": ["<"]}}
    assert free(name, schema) == ({"a": 0}, None)


@pytest.mark.parametrize("name", DECLARED)
def test_a_name_with_a_type_of_its_own_that_no_object_has_is_not_as_others_are(name: str) -> None:
    """Its type is declared, so an integer is read from its text, whatever others are."""
    schema = {
        "properties": {"c": {"type": "integer"}},
        "anyOf": [{"properties": {"a": STRING}}, {"patternProperties": {"^c$": {"minimum": 3}}}],
    }
    names, others = free(name, schema) or ({}, None)
    assert names["a"] == others == 0
    assert names["c"] is None


SCHEMAS: tuple[dict[str, Any], ...] = (
    {"properties": {"a": STRING, "b": {**STRING, "minLength": 3}}},
    {"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "integer"}}, **CLOSED},
    {
        "anyOf": [
            {"properties": {"a": STRING, "b": STRING}, "required": ["a", "b"], **CLOSED},
            {"properties": {"a": {**STRING, "minLength": 2}}, "required": ["a"], **CLOSED},
        ]
    },
    {"properties": {"a": {"pattern": "^<"}}, "additionalProperties": STRING},
)
# What a string may have in it: beginnings of stops of all formats, and what breaks them off.
SCRAPS = (
    *(
        b"<",
        b"</",
        b"< ",
        b"<\n/",
        b"</parameter",
        b"</function",
        b"<|close|>argument<|s",
        b"</arg",
    ),
    *(b"<parameter", b"<|close|>argument<", b"<<", b"a<", b"x", b"/", b" ", b"\n", b"_value", b">"),
)


def ids_of(name: str, value: dict[str, Any], random: Random) -> list[int]:
    """Write arguments as ids, their text split at will."""
    ids: list[int] = []
    run = bytearray()
    for symbol in [*written_symbols(name, value, random.randrange(9)), ID]:
        if symbol < ID:
            run.append(symbol)
            continue
        ids += split(
            lambda fits: fits[0] if random.random() < 0.6 else random.choice(fits), V, bytes(run)
        )
        ids.append(symbol - ID)
        run.clear()
    return ids[:-1]


def row(matcher: ArgumentMatcher) -> set[int]:
    found = np.full(V.words, -1, np.int32)
    matcher.fill(found)
    return bits(found)


@pytest.mark.parametrize("many", [1, stops._MANY])
@pytest.mark.parametrize("name", PAIRS)
@given(
    st.sampled_from(SCHEMAS), st.lists(st.sampled_from(SCRAPS), max_size=8), st.integers(0, 2**32)
)
@examples(100)
def test_masks_are_those_of_the_engine_alone(
    name: str, many: int, schema: dict[str, Any], scraps: list[bytes], seed: int
) -> None:
    """Whatever is written, in whatever ids, with masks in between or not, and taken back."""
    random = Random(seed)
    ours, alone = (each.matcher() for each in compiled(name, json.dumps(schema), many))
    text = b"".join(scraps).decode()
    ids, at = (
        ids_of(name, {"a": text, "b": random.choice((text, "<", "x</", "xy</", "x<y"))}, random),
        0,
    )
    for _ in range(4 * len(ids)):
        if random.random() < 0.7:
            assert row(ours) == row(alone)
        if at and random.random() < 0.15:
            back = random.randint(1, min(at, 12))
            ours.rollback(back)
            alone.rollback(back)
            at -= back
            continue
        # Now and then another way, which may be no text of the value any more.
        token_id = ids[at] if random.random() < 0.98 else random.choice(sorted(row(alone)) or [0])
        taken = ours.accept(token_id)
        assert taken == alone.accept(token_id)
        if not taken or token_id != ids[at]:
            break
        at += 1
        if at == len(ids):
            break
    assert row(ours) == row(alone)
    assert ours.is_accepting() == alone.is_accepting()


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("text", ["</", "xy</", "xyz</", "xyz<</", "\n\n</"])
def test_a_string_that_is_too_short_so_far_may_be_long_enough_behind(name: str, text: str) -> None:
    schema = {"properties": {"a": {**STRING, "minLength": 3}}}
    ours, alone = (each.matcher() for each in compiled(name, json.dumps(schema)))
    for token_id in ids_of(name, {"a": text}, Random(1)):
        assert row(ours) == row(alone)
        if not alone.accept(token_id):
            break
        assert ours.accept(token_id)


@pytest.mark.parametrize("name", PAIRS)
def test_the_engine_is_not_asked_where_a_stop_may_have_begun(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else all of this were for nothing."""
    asked: list[int] = []
    fill = LLGuidanceMatcher.fill

    def noted(self: LLGuidanceMatcher, into: Any) -> None:
        asked.append(len(self._ids))
        fill(self, into)

    grammar, _ = compiled(name, json.dumps({"properties": {"a": STRING}}))
    value = {"a": "x<y</z<<w</"}
    symbols = written_symbols(name, value, 0)
    ids = [each - ID if each >= ID else V.encode(bytes([each]).decode())[0] for each in symbols]
    matcher = grammar.matcher()
    behind = {at + 1 for at, i in enumerate(ids) if V.token_bytes(i) == b"<"}
    inside = symbols.index(ord("x")), symbols.index(ord("w"))
    monkeypatch.setattr(LLGuidanceMatcher, "fill", noted)
    for at, token_id in enumerate(ids):
        asked.clear()
        row(matcher)
        assert len(asked) == 1
        if at in behind and inside[0] < at < inside[1]:
            assert asked[0] < at
            assert matcher.accept(token_id)
            row(matcher)
            matcher.rollback(1)
            asked.clear()
            row(matcher)
            assert asked[0] < at, "where it has gone back to"
        assert matcher.accept(token_id)


@pytest.mark.parametrize(
    ("name", "opens", "crosses"),
    [
        ("qwen3_coder", "<parameter={}>\n", "</parameter><parameter=b>\n<"),
        ("minimax_m2", '<parameter name="{}">', '</parameter><parameter name="b"><'),
    ],
)
@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": {**STRING, "minLength": 3}},
        {"properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]},
    ],
)
def test_an_id_that_ends_a_value_and_begins_one_in_which_a_stop_begins(
    name: str, opens: str, crosses: str, first: str, schema: dict[str, Any]
) -> None:
    """What was legal in the value before says nothing of the next."""
    ours, alone = (each.matcher() for each in compiled(name, json.dumps(schema)))
    for token_id in [
        *split(lambda fits: fits[-1], V, f"{opens.format(first)}abcdef".encode()),
        *[i for i in range(V.size) if V.token_bytes(i) == crosses.encode()],
    ]:
        assert row(ours) == row(alone)
        if not alone.accept(token_id):
            assert (first, token_id in row(ours)) == ("b", False), "a name may not come again"
            return
        assert ours.accept(token_id)
    assert row(ours) == row(alone)


def test_what_a_string_needs_is_counted_in_characters() -> None:
    string = RawString(Stops(("</a>",), V), 3)
    places = [string.start]
    for data in ("é", "<", "日本"):
        places.append(string.read(places[-1], data.encode()))
    assert [each.needs for each in places] == [3, 2, 1, 0]
    # Halves of one are not seen to be one: it takes longer, and nothing is wrong.
    half = string.read(string.start, "日".encode()[:2])
    assert string.read(half, "日".encode()[2:]).needs == 3


@pytest.mark.parametrize("kept", [1, 2, 64])
def test_however_far_it_goes_back_it_is_where_a_new_text_would_be(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begun_stops, "PLACES", kept)
    random = Random(kept)
    grammar, _ = compiled("kimi_k3", json.dumps({"properties": {"a": STRING}}))
    ids = ids_of("kimi_k3", {"a": 40 * "a<b</ <|close|>argument<"}, random)
    matcher, at = grammar.matcher(), 0
    for _ in range(60):
        to = random.randrange(len(ids) + 1)
        matcher.rollback(max(at - to, 0))
        assert all(map(matcher.accept, ids[at:to]))
        at, fresh = to, grammar.matcher()
        assert all(map(fresh.accept, ids[:at]))
        assert row(matcher) == row(fresh)
    assert isinstance(matcher, begun_stops.BegunStopMatcher)
    assert len(matcher._read) <= 2 * kept + 1
