"""Whatever is drawn from the masks ends in time, and `accept` agrees with them."""

from __future__ import annotations

import json
from random import Random

import jsonschema
import pytest

from enforcer.budget.shortest import Shortest
from enforcer.errors import BudgetTooSmall
from enforcer.schema import compile_schema
from tests.budget_cases import HEADER, PIECES, SCHEMAS, V, drawn, least_budget, served, start
from tests.vocabularies import feed, legal, write


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_text_that_has_a_format_ends_in_time(schema: str) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS[schema]}}
    random = Random(schema)
    with pytest.raises(BudgetTooSmall):
        served().matcher([], None, response_format=wanted, budget=1)
    for extra in (0, 20):
        need = Shortest(compile_schema(SCHEMAS[schema]), PIECES).cost_of_root + 1
        found = served().matcher([], None, response_format=wanted, budget=int(need) + extra)
        ids = drawn(found, random, int(need) + extra)
        turn = served().parse(ids)
        assert turn.ended
        jsonschema.Draft202012Validator(SCHEMAS[schema]).validate(json.loads(turn.content))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("schema", SCHEMAS)
def test_whatever_is_drawn_a_demanded_call_ends_in_time(schema: str, seed: int) -> None:
    random = Random(f"{schema} {seed}")
    need = least_budget(schema=schema)
    budget = need + [0, 1, 40][seed]
    tail = random.choice(["", "<think>", "Well, "])
    ids = drawn(start(budget, schema=schema, tail=tail), random, budget)
    turn = served().parse(ids, write(V, HEADER + tail))
    assert turn.ended
    assert turn.calls
    for found in turn.calls:
        jsonschema.Draft202012Validator(SCHEMAS[schema]).validate(json.loads(found.arguments))


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
        found._countdown.total = len(ids) + left
        assert legal(found) == {i for i in range(V.size) if found.validate([i])}, left
