"""What holds of arguments in every layout: soundness, completeness, masks, going back, chunks."""

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from enforcer.engines import CompiledGrammar
from enforcer.errors import UnsupportedSchema
from enforcer.layouts import Decoder
from enforcer.layouts.pattern import ID
from enforcer.schema import Root, compile_schema
from tests import laid_out
from tests.laid_out import FORMATS, LAID_OUT, bound, engine, legal, read, step, vocabulary, walk
from tests.support import cases
from tests.support.machine import agreed
from tests.walks import OBJECTS, examples, instances

V = vocabulary()
SEEDS = st.integers(0, 2**32)
HARD = [*cases.listed("properties/cases/layouts.toml", "hard"), *laid_out.KEPT]
SCHEMAS = st.one_of(st.sampled_from(HARD), OBJECTS)
KEYS = st.sampled_from(
    ["a", "b", "c", "x1", 'q"', "&amp;", "a<b", "日", "", " s", "from", "_p", "a-b"]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 120), st.sampled_from([1.5, -0.25, 1e5]),
    st.text(max_size=4),
    st.sampled_from([
        "null", "NULL", "5", " 5 ", "1_0", "1.5", "1e5", "TRUE", "0", "[", "{}", '"x"', "\n",
        "\n\n", "\nx\n", "</parameter", "abcdefx", "ab\n<<</", "日本日本日本日",
        "<|close|>argument", "a\\b'\"", "x", "y", "", "<", "inf",
    ]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda x: st.lists(x, max_size=2) | st.dictionaries(KEYS, x, max_size=2), max_leaves=3
)
INSTANCES = st.dictionaries(KEYS, VALUES, max_size=3)


def compiled(name: str, schema: dict[str, Any]) -> CompiledGrammar:
    try:
        return engine().compile(compile_schema(schema, root=Root.OBJECT), bound(name))
    except UnsupportedSchema:
        assume(False)


@pytest.mark.slow
@examples(300)
@given(st.sampled_from(FORMATS), SCHEMAS, SEEDS)
def test_samples_are_read_as_valid_arguments(name: str, schema: dict[str, Any], seed: int) -> None:
    ids = walk(compiled(name, schema).matcher(), Random(seed))
    assume(ids is not None)
    text = laid_out.spelled(ids)
    pairs = read(name, text, schema)
    declared = [key for key, _ in pairs if key in schema.get("properties", ())]
    assert len(set(declared)) == len(declared), text
    jsonschema.Draft202012Validator(schema).validate(dict(pairs))
    if name not in LAID_OUT:
        return
    decoder = Decoder(bound(name), schema)
    said = decoder.feed(laid_out.symbols_of_ids(ids)) + decoder.finish()
    assert json.loads(said) == dict(pairs), text


def is_read_back(name: str, value: dict[str, Any], text: str, schema: dict[str, Any]) -> bool:
    """Tell whether vLLM's parser reads what was written, the very types included."""
    if not all(laid_out.key_is_writable(name, key) for key in value):
        return False
    if any(each in str(part) for part in value.values() for each in bound(name).avoided):
        return False
    try:
        found = dict(read(name, text, schema))
    except (ValueError, SyntaxError):
        return False
    if json.dumps(found) != json.dumps(value):
        return False
    # Strings that may be JSON are left out where they would be read as such (see `texts`).
    properties = schema.get("properties", {})
    return name not in laid_out.DECLARED or not any(
        isinstance(each, str)
        and each.lstrip()[:1] in ("[", "{", '"')
        and (
            laid_out.types(properties.get(key)) & {"object", "array"}
            or "string" not in laid_out.types(properties.get(key))
        )
        for key, each in value.items()
        if key in properties
    )


@pytest.mark.slow
@examples(400)
@given(st.data(), st.sampled_from(FORMATS), SCHEMAS, SEEDS)
def test_a_valid_instance_that_is_read_back_is_accepted_in_any_split(
    data: st.DataObject, name: str, schema: dict[str, Any], seed: int
) -> None:
    drawn = [INSTANCES] if "type" not in schema else [INSTANCES, instances(schema)]
    if schema in HARD:
        drawn = [INSTANCES]
    value = data.draw(st.one_of(drawn))
    assume(jsonschema.Draft202012Validator(schema).is_valid(value))
    text = laid_out.write(name, value, Random(seed))
    assume(is_read_back(name, value, text, schema))
    matcher, random = compiled(name, schema).matcher(), Random(seed)
    ids = laid_out.cut(laid_out.written_symbols(name, value, seed), random)
    for at, token_id in enumerate(ids):
        assert matcher.accept(token_id), (text, laid_out.spelled(ids[:at]))
    assert matcher.is_accepting(), text
    if bound(name).scan().ends or name != "glm45":
        assert not legal(matcher), text


@pytest.mark.slow
@examples(25)
@given(st.sampled_from(FORMATS), SCHEMAS, SEEDS)
def test_a_mask_is_what_accept_takes(name: str, schema: dict[str, Any], seed: int) -> None:
    matcher = compiled(name, schema).matcher()
    random = Random(seed)
    for at in range(40):
        allowed = agreed(matcher, V, range(-1, V.size + 1))
        assert legal(matcher) == allowed
        if not allowed:
            break
        matcher.accept(step(sorted(allowed), random, 0.3 + at / 60))


@examples(60)
@given(st.sampled_from(FORMATS), SCHEMAS, SEEDS)
def test_going_back_leads_where_the_text_was(name: str, schema: dict[str, Any], seed: int) -> None:
    matcher, random = compiled(name, schema).matcher(), Random(seed)
    rows = [legal(matcher)]
    ids: list[int] = []
    for _ in range(60):
        if ids and random.random() < 0.2:
            count = random.randint(1, len(ids))
            matcher.rollback(count)
            del ids[-count:], rows[-count:]
        elif rows[-1]:
            ids.append(step(sorted(rows[-1]), random, 0.4))
            assert matcher.accept(ids[-1])
            rows.append(legal(matcher))
        assert legal(matcher) == rows[-1]


@examples(100)
@given(st.sampled_from(FORMATS), SCHEMAS, SEEDS)
def test_a_scan_is_complete_where_masks_are(name: str, schema: dict[str, Any], seed: int) -> None:
    matcher, random = compiled(name, schema).matcher(), Random(seed)
    scan = bound(name).scan()
    for at in range(80):
        assert scan.ends == (name != "glm45" and matcher.is_accepting())
        allowed = sorted(legal(matcher))
        if not allowed:
            break
        token_id = step(allowed, random, 0.2 + at / 60)
        matcher.accept(token_id)
        for symbol in laid_out.symbols_of_ids([token_id]):
            scan = scan.after(symbol)
            assert scan is not None


@examples(100)
@given(st.sampled_from(LAID_OUT), SCHEMAS, SEEDS)
def test_any_split_of_a_text_is_decoded_alike(name: str, schema: dict[str, Any], seed: int) -> None:
    random = Random(seed)
    ids = walk(compiled(name, schema).matcher(), random)
    assume(ids is not None)
    found = laid_out.symbols_of_ids(ids)
    whole = Decoder(bound(name), schema)
    expected = whole.feed(found) + whole.finish()
    pieces, at = Decoder(bound(name), schema), 0
    said = ""
    while at < len(found):
        until = at + random.randint(1, 5)
        said += pieces.feed(found[at:until])
        at = until
    assert said + pieces.finish() == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", laid_out.DECLARED)
@example(text="1_0", types=["integer", "string"])
@given(text=st.one_of(st.text(max_size=5), SCALARS.filter(lambda x: isinstance(x, str))),
       types=st.lists(st.sampled_from(
           ["null", "integer", "number", "boolean", "object", "array", "string"]),
           min_size=1, max_size=3, unique=True))  # fmt: skip
def test_raw_text_is_legal_if_it_is_read_as_valid(name: str, text: str, types: list[str]) -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": types}}, "required": ["a"]}
    assume(not any(each in text for each in bound(name).avoided))
    value = laid_out.coerced(text, schema["properties"]["a"])
    matcher = engine().compile(compile_schema(schema, root=Root.OBJECT), bound(name)).matcher()
    taken = all(
        matcher.accept(each if each < ID else each - ID)
        for each in laid_out.written_symbols(name, {"a": text}, 0)
    )
    valid = jsonschema.Draft202012Validator(schema).is_valid({"a": value})
    assert valid or not (taken and matcher.is_accepting())
    if types == ["string"]:
        assert taken
