"""Whatever is drawn from the masks ends in time, and `accept` agrees with them."""

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import enforcer
from enforcer.errors import BudgetTooSmall, UnsupportedSchema
from enforcer.schema import Root
from enforcer.turn.matcher import Matcher
from tests import budget_cases
from tests.budget_cases import HEADER, SCHEMAS, V, needed, of, served, start, tool
from tests.vocabularies import feed, legal, write
from tests.walks import examples


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_text_that_has_a_format_ends_in_time(schema: str) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS[schema]}}
    random = Random(schema)
    with pytest.raises(BudgetTooSmall):
        served().matcher([], None, response_format=wanted, budget=1)
    for extra in (0, 20):
        need = budget_cases.shortest(SCHEMAS[schema], Root.ANY) + 1
        found = served().matcher([], None, response_format=wanted, budget=int(need) + extra)
        turn = served().parse(budget_cases.drawn(found, random, int(need) + extra))
        assert turn.ended
        jsonschema.Draft202012Validator(SCHEMAS[schema]).validate(json.loads(turn.content))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("schema", SCHEMAS)
def test_whatever_is_drawn_a_demanded_call_ends_in_time(schema: str, seed: int) -> None:
    random = Random(f"{schema} {seed}")
    budget = budget_cases.least_budget(schema=schema) + [0, 1, 40][seed]
    tail = random.choice(["", "<think>", "Well, "])
    ids = budget_cases.drawn(start(budget, schema=schema, tail=tail), random, budget)
    assert_calls_are_whole(ids, write(V, HEADER + tail), SCHEMAS[schema])


def assert_calls_are_whole(ids: list[int], prompt: list[int], schema: dict[str, Any]) -> None:
    turn = served().parse(ids, prompt)
    assert turn.ended
    assert turn.calls
    for found in turn.calls:
        jsonschema.Draft202012Validator(schema).validate(json.loads(found.arguments))


PATTERNS = [
    "^x",
    "^x-",
    "yz$",
    "^.{4}",
    "^(aa|bbbbbbb)c*$",
    "é",
    '"',
    "^[a-z]{2,}$",
    "^name[0-9]+$",
]
VALUES: list[dict[str, Any]] = [{}, {"type": "object"}, {"type": "array", "minItems": 2}]


@st.composite
def needing_names(draw: st.DrawFn) -> dict[str, Any]:
    """Draw objects that need properties which are not declared, by their names."""
    patterns, values = st.sampled_from(PATTERNS), st.sampled_from(VALUES)
    needed = st.one_of(
        st.integers(0, 8).map(lambda most: {"propertyNames": {"maxLength": most}}),
        patterns.map(lambda pattern: {"propertyNames": {"not": {"pattern": pattern}}}),
        patterns.map(lambda pattern: {"propertyNames": {"pattern": pattern}}),
        patterns.map(lambda pattern: {"patternProperties": {pattern: {"type": "string"}}}),
    )
    names = st.sampled_from(["a", "x", "x-", "name1", "é", "declared_at_length"])
    others: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "additionalProperties": values,
                "patternProperties": st.dictionaries(patterns, values, max_size=2),
                "propertyNames": st.sampled_from([{"minLength": 2}, {"pattern": '^[a-z"-]*$'}]),
                "properties": st.dictionaries(names, values, max_size=3),
            },
        )
    )
    some = draw(st.lists(needed, min_size=1, max_size=3))
    return {"type": "object", **others, "allOf": [{"not": each} for each in some]}


@pytest.mark.slow
@examples(20)
@given(needing_names(), st.booleans(), st.integers(3, 40), st.integers(0))
def test_whatever_names_are_needed_every_budget_from_the_least_on_is_enough(
    schema: dict[str, Any], inner: bool, extra: int, seed: int
) -> None:
    if inner:
        schema = {"type": "object", "properties": {"o": schema}, "required": ["o"]}
    tools, prompt = [tool(schema)], write(V, HEADER)
    try:
        need = needed(
            lambda budget: served().matcher(tools, "required", prompt_ids=prompt, budget=budget)
        )
    except UnsupportedSchema:
        assume(False)
    for budget in (need, need + 1, need + 2, need + extra):
        found = served().matcher(tools, "required", prompt_ids=prompt, budget=budget)
        assert_calls_are_whole(budget_cases.drawn(found, Random(seed), budget), prompt, schema)


BEGUN = "<|tool_calls_section_begin|><|tool_call_begin|>"
ARGUMENTS = f"{BEGUN}functions.get:0<|tool_call_argument_begin|>"
CALLED = f'{ARGUMENTS}{{"a": "", "b": 1}}<|tool_call_end|>'


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize(
    "text",
    [
        *("", "<think>", "<think>hm</think>", "hm", BEGUN, f"{BEGUN}func"),
        *(ARGUMENTS, f'{ARGUMENTS}{{"a": "x', f'{ARGUMENTS}{{"a": "", "b": 1', CALLED),
        f"{CALLED}<|tool_calls_section_end|>",
    ],
)
def test_the_mask_has_what_accept_takes_however_many_ids_are_left(text: str, choice: str) -> None:
    ids = write(V, text)
    found = start(1000, choice=choice)
    feed(found, ids)
    for left in (*range(1, 100), 130, 400):
        budget_cases.leave(found, len(ids) + left)
        assert legal(found) == {i for i in range(V.size) if found.validate([i])}, left


@pytest.mark.parametrize("seed", range(6))
def test_an_end_that_one_id_makes_short_is_not_left_for_one_that_takes_many(seed: int) -> None:
    vocabulary = enforcer.Vocabulary([*V.texts, b"a" * 8], V.controls)
    options = enforcer.Options(finish_within_budget=True, preamble_ids=0)
    served = enforcer.Enforcer(vocabulary, options=options)
    schema = of(x={"type": "string", "pattern": "^(a{40}|[xyz][qjvz]{39})$"})

    def begun(budget: int) -> Matcher:
        return served.matcher([tool(schema)], "required", False, budget=budget)

    need = needed(begun)
    opened = f"{ARGUMENTS}{{"
    for extra in (4, 8, 20, 40, 60):
        found = begun(need + extra)
        ids = [*write(vocabulary, opened), *b'"x":"']
        feed(found, ids)
        while not found.is_finished:
            allowed = legal(found)
            other = allowed & {*b"xyz"}
            ids.append(min(other) if other else Random(seed + len(ids)).choice(sorted(allowed)))
            feed(found, ids[-1:])
        assert found.failure is None
        assert len(ids) <= need + extra
