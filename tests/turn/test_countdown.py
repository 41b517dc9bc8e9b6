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
from tests.vocabularies import write


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
