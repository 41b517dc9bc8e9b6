from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.engines import _beside_the_machine as load
from enforcer.engines.llguidance import engine as llguidance_engine
from enforcer.engines.llguidance import grammar as grammars
from enforcer.engines.llguidance.engine import LLGuidanceEngine
from enforcer.engines.llguidance.probes import probes, probes_of_pairs
from enforcer.errors import SchemaLimit
from enforcer.schema import Root, compile_schema
from tests import laid_out
from tests.laid_out import bound, written_symbols

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enforcer.engines import ArgumentEngine
    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary


@cache
def engine() -> ArgumentEngine:
    """Return the engine beside the machine, over the vocabulary of layouts."""
    return load(laid_out.vocabulary())


PAIRS = ("kimi_k3", "qwen3_coder", "minimax_m2", "glm45", "pythonic")
SCHEMA = {
    "properties": {
        "a": {"type": "string", "maxLength": 3},
        "b": {
            "type": "object",
            "properties": {"c": {"type": "string", "pattern": "^[0-9]{2,}$"}},
            "patternProperties": {"^x": {"type": "integer"}},
            "additionalProperties": False,
        },
    },
    "patternProperties": {"^y_[0-9]{3}": {"type": "string", "minLength": 2}},
    "additionalProperties": False,
}
Text = str | list[str | int]


def ids(text: Text) -> Iterator[int]:
    for piece in [text] if isinstance(text, str) else text:
        yield from [piece] if isinstance(piece, int) else piece.encode()


def tried(
    grammar: ArgumentGrammar,
    layout: BoundLayout | None,
    found: Iterable[tuple[str, Text, Text]],
) -> dict[str, tuple[int, list[str]]]:
    """Give by path how long its longest probe is, and the texts that were tried there.

    Each has to be legal to its end.
    """
    within: dict[str, tuple[int, list[str]]] = {}
    for path, before, text in found:
        matcher = engine().compile(grammar, layout).matcher()
        whole = [*ids(before), *ids(text)]
        taken = next((at for at, i in enumerate(whole) if not matcher.accept(i)), len(whole))
        assert taken == len(whole), (path, before, text)
        longest, texts = within.get(path, (0, []))
        texts.append(text if isinstance(text, str) else "".join(map(str, text)))
        within[path] = max(longest, taken), texts
    return within


def test_probes_are_legal_and_lead_into_each_value_and_each_name() -> None:
    grammar = compile_schema(SCHEMA, root=Root.OBJECT)
    found = tried(grammar, None, probes(grammar, thorough=True))
    assert any(text.startswith('"y_') for text in found["$"][1])
    assert any(text.startswith('"x') for text in found["$.properties.b"][1])
    assert found["$.additionalProperties"][0] > len('{"y_000": ""')
    assert found["$.properties.a"][0] > len('{"a": "')
    assert any(len(text) > 2 for text in found["$.properties.b.properties.c"][1])


def test_declared_names_are_tried_where_they_begin_and_where_they_end() -> None:
    schema = {"type": "object", "properties": {"abc": {}, "abd": {}, "e": {}, 'f"g': {}, "": {}}}
    found = [each[1:] for each in probes(compile_schema(schema, root=Root.OBJECT), thorough=True)]
    assert [text for before, text in found if before == '{"'] == ["a", "e", "f", 'e": ']
    ends = {before + text for before, text in found if text.endswith('": ')}
    assert ends == {'{"abc": ', '{"abd": ', '{"e": ', r'{"f\"g": '}


@pytest.mark.slow
def test_names_with_values_of_their_own_are_taken_or_refused(kimi_vocabulary: Vocabulary) -> None:
    """What was taken ended the text at its first names, behind which all others may stand."""
    kimi = LLGuidanceEngine(kimi_vocabulary)

    def closed(count: int) -> ArgumentGrammar:
        values = {f"{i:x}name{i}": {"enum": [f"v{i}", i]} for i in range(count)}
        schema = {"type": "object", "properties": values, "additionalProperties": False}
        return compile_schema(schema, root=Root.OBJECT)

    kimi.check(closed(500))
    with pytest.raises(SchemaLimit):
        kimi.check(closed(2_000))


FILTER = {"type": "string", "not": {"pattern": r"(?i)<script|on\w+="}}


def test_what_must_not_match_is_tried_wherever_it_may_begin() -> None:
    schema = {"type": "object", "properties": {"a": FILTER}}
    grammar = compile_schema(schema, root=Root.OBJECT)
    texts = [text for _, before, text in probes(grammar, thorough=False) if before == '{"a": ']
    for begun in ("on", "ona", "<scrip"):
        assert any(begun in text.lower() for text in texts), begun
    for name in PAIRS:
        found = [
            str(text).lower() for _, _, text in probes_of_pairs(grammar, bound(name), thorough=True)
        ]
        assert any("<s" in text for text in found), name  # as far as that is not too much
        assert any("on" in text for text in found), name


@pytest.mark.slow
def test_what_must_not_match_takes_a_mask_long_where_it_is_checked_and_compiled(
    kimi_vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind `on` a mask took 7 ms in the first text that had it; where it begins, one is fast."""
    kimi = load(kimi_vocabulary)
    pattern = r"(?i)<script|javascript:|on\w+="
    grammar = compile_schema({"type": "string", "not": {"pattern": pattern}, "maxLength": 2000})
    kimi.check(grammar)
    few, _ = llguidance_engine._LESS
    monkeypatch.setattr(llguidance_engine, "_LESS", (few, few))
    with pytest.raises(SchemaLimit, match="too many expressions"):
        kimi.check(grammar)
    monkeypatch.setattr(llguidance_engine, "_LIMITS", few)
    with pytest.raises(SchemaLimit, match="too many expressions"):
        kimi.compile(grammar)


def test_texts_go_anywhere_only_where_a_string_soon_goes_on_in_many_ways() -> None:
    def tried(**string: Any) -> set[str]:
        grammar = compile_schema({"type": "string", **string})
        return {str(text) for _, _, text in probes(grammar, thorough=True)}

    assert max(map(len, tried(pattern="a.{16}b"))) > 90
    for string in ({"maxLength": 400}, {"pattern": r"^\S+@\S+$"}, {"enum": list("abcdefgh")}):
        assert max(map(len, tried(**string))) < 60, string


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["a.{16}b", "a.{30}b", "a.{20}b.{3}c"])
def test_strings_that_go_on_in_too_many_ways_are_refused_when_checked(
    kimi_vocabulary: Vocabulary, pattern: str
) -> None:
    """Each mask found hundreds of states, and every 20 to 60 ids another lexer was needed."""
    kimi = LLGuidanceEngine(kimi_vocabulary)
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    with pytest.raises(SchemaLimit, match=r"`\$\.properties\.a`"):
        kimi.check(compile_schema(schema, root=Root.OBJECT))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_so_are_they_in_pairs(name: str) -> None:
    grammar = compile_schema(SCHEMA, root=Root.OBJECT)
    found = tried(grammar, bound(name), probes_of_pairs(grammar, bound(name), thorough=True))
    assert any(text.startswith("y_") for text in found["$"][1])
    # As far as into the values, at least; in one of them, behind the name of a property.
    opening = 2 if name == "pythonic" else len(written_symbols(name, {"a": ""}, 0)) // 4
    assert found["$.properties.a"][0] >= opening
    assert found["$.properties.b"][0] >= opening + len('{"c": ')


def entangled(how_many: int) -> dict[str, Any]:
    return {f"{char}.{{5}}{char}": {"type": "integer"} for char in "abcdefgh"[:how_many]}


@pytest.mark.slow
def test_names_that_no_lexer_bears_are_refused_when_checked(kimi_vocabulary: Vocabulary) -> None:
    """They compile, and were found to be too much only in the middle of a call."""
    kimi = LLGuidanceEngine(kimi_vocabulary)
    kimi.check(compile_schema({"type": "object", "patternProperties": entangled(1)}))
    with pytest.raises(SchemaLimit, match=r"too many expressions|takes too long"):
        kimi.check(compile_schema({"type": "object", "patternProperties": entangled(4)}))


def test_what_has_passed_the_check_compiles_however_slow_the_machine_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grammar = compile_schema({"type": "object", "properties": {"a": {"pattern": "a.{9}b"}}})
    monkeypatch.setattr(grammars, "_SLOW_MASK", 0)
    monkeypatch.setattr(grammars, "_USUAL_MASK", 0)
    monkeypatch.setattr(grammars, "_REGAINED", 0)
    monkeypatch.setattr(llguidance_engine, "PATIENCE", 0)  # the check's own
    with pytest.raises(SchemaLimit, match="takes too long"):
        engine().check(grammar)
    monkeypatch.setattr(llguidance_engine, "_COMPILED", 60_000_000_000)
    engine().compile(grammar)
    # What no check has seen is refused as well where it takes far too long.
    monkeypatch.setattr(llguidance_engine, "_COMPILED", 0)
    with pytest.raises(SchemaLimit, match="takes too long"):
        engine().compile(grammar)


def test_what_fails_behind_a_name_is_told_of_its_property() -> None:
    runs = "".join(f".{{0,300}}[a-{last}]" for last in "zyxwvuts")
    text = {"type": "string", "pattern": f"^(?:{runs}.{{0,3000}})$", "minLength": 2900}
    schema = {"type": "object", "properties": {"n": {"type": "null"}, "text": text}}
    with pytest.raises(SchemaLimit, match=r"`\$\.properties\.text`"):
        engine().check(compile_schema(schema, root=Root.OBJECT))


def test_each_element_of_an_array_is_tried_behind_those_before_it() -> None:
    schema = {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"enum": ["left"]}, {"type": "array"}],
        "items": {"enum": ["right"]},
    }
    found = tried(compile_schema(schema), None, probes(compile_schema(schema), thorough=True))
    assert found["$.prefixItems[0]"][1] == [""]
    assert found["$.prefixItems[1]"][0] == len('[0, "left')
    assert found["$.prefixItems[2]"][0] == len('[0, "left", ')
    assert found["$.items"][0] == len('[0, "left", [], "right')


def test_whatever_an_array_has_to_contain_is_tried() -> None:
    schema = {"type": "array", "contains": {"enum": ["needed"]}, "items": {"maxLength": 20}}
    found = tried(compile_schema(schema), None, probes(compile_schema(schema), thorough=True))
    assert '"needed' in found["$.items"][1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "around",
    [
        {"prefixItems": [{"type": "string"}, {}]},
        {"prefixItems": [{"type": "string"}], "items": {}},
        {"contains": {}},
    ],
)
def test_what_no_lexer_bears_is_refused_in_every_element(
    kimi_vocabulary: Vocabulary, around: dict[str, Any]
) -> None:
    """Behind the first element nothing was tried, and a call came to it."""
    patterns = [{"pattern": f"{char}.{{5}}{char}"} for char in "abcde"]
    hard = {"type": "string", "not": {"anyOf": patterns}}
    schema: dict[str, Any] = {"type": "array", **around}
    if "contains" in around:
        schema["contains"] = hard
    elif "items" in around:
        schema["items"] = hard
    else:
        schema["prefixItems"] = [around["prefixItems"][0], hard]
    with pytest.raises(SchemaLimit, match="cannot hold"):
        LLGuidanceEngine(kimi_vocabulary).check(compile_schema(schema))


@pytest.mark.parametrize("name", PAIRS)
def test_a_declared_name_may_be_very_long(name: str) -> None:
    schema = {"properties": {"a" * 12_000: {"type": "integer"}}}
    grammar = compile_schema(schema, root=Root.OBJECT)
    assert any(probes_of_pairs(grammar, bound(name), thorough=False))


@pytest.mark.parametrize(
    "around",
    [
        {"maxItems": 2, "uniqueItems": True, "items": {"type": "boolean"}},
        {"maxItems": 1},
        {"items": False},
        {"items": {"type": "boolean"}, "minItems": 3},
    ],
)
@pytest.mark.parametrize("contains", [{"type": "null"}, {"type": "boolean"}])
def test_arrays_of_which_elements_are_counted_are_tried_as_far_as_they_go(
    around: dict[str, Any], contains: dict[str, Any]
) -> None:
    schema = {"prefixItems": [{"type": ["null", "boolean"]}], "contains": contains, **around}
    both = {"properties": {"a": {"anyOf": [schema, {"const": []}]}}}
    for each in (schema, both):
        grammar = compile_schema(each)
        assert any("[" in before for _, before, _ in probes(grammar, thorough=True))
        engine().check(grammar)
