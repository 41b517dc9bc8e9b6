"""In every format: whatever is drawn ends within its budget, and masks agree with `accept`."""

import json
from functools import cache
from random import Random
from typing import Any

import jsonschema
import pytest

import enforcer
from enforcer.errors import InvalidTools
from enforcer.layouts import LayoutKind
from enforcer.turn import dialects
from enforcer.turn.matcher import Matcher
from tests.budget_cases import SCHEMAS, needed, of
from tests.dialect_cases import NAMES, opening, vocabulary
from tests.support import cases
from tests.support.tools import tool
from tests.vocabularies import legal

SPARE = 20
# Names that every layout can write.
NESTED = cases.schemas("properties/cases/budgets.toml")["nested"]
_SHARED = ("plain", "patterns", "contains", "distinct strings", "all of the unique", "alternatives")
PLAIN = {"nested": NESTED, **{name: SCHEMAS[name] for name in _SHARED}}


@cache
def served(name: str) -> enforcer.Enforcer:
    options = enforcer.Options(max_calls=3, preamble_ids=5, finish_within_budget=True)
    return enforcer.Enforcer(vocabulary(name), name, options=options)


def started(name: str, schema: dict[str, Any], choice: str, budget: int) -> Matcher:
    tools = [tool(each, schema) for each in ("get", "get_weather")]
    return served(name).matcher(tools, choice, prompt_ids=opening(name), budget=budget)


def least(name: str, schema: dict[str, Any]) -> int:
    return needed(lambda budget: started(name, schema, "required", budget))


def hasty(matcher: Matcher, random: Random, ids: list[int]) -> int:
    """Draw a token, one that begins or ends something more often than any other."""
    known = vocabulary(matcher.envelope.table.dialect.name)
    structure = [i for i in ids if set(known.token_bytes(i)) & set(b'"{}[]()=<>,:') or i > 250]
    return random.choice(structure if structure and random.random() < 0.5 else ids)


def draw(matcher: Matcher, random: Random, budget: int) -> list[int]:
    ids: list[int] = []
    while len(ids) < budget and not matcher.is_finished:
        allowed = sorted(legal(matcher))
        assert matcher.failure is None, repr(matcher.failure)
        other = random.randrange(matcher.envelope.table.vocabulary.size)
        assert (other in allowed) == (matcher.validate([other]) == 1), (other, matcher)
        ids.append(hasty(matcher, random, allowed))
        assert matcher.accept(ids[-1])
        if random.random() < 0.1:
            count = random.randint(0, min(len(ids), 4))
            matcher.rollback(count)
            del ids[len(ids) - count :]
    return ids


@pytest.mark.slow
@pytest.mark.parametrize("schema", PLAIN)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_drawn_a_demanded_call_ends_in_time(name: str, schema: str) -> None:
    need = least(name, PLAIN[schema])
    for extra in (0, 1, 7, 40, 120):
        random = Random(f"{name} {schema} {extra}")
        ids = draw(started(name, PLAIN[schema], "required", need + extra), random, need + extra)
        turn = served(name).parse(ids, opening(name))
        assert turn.calls, (extra, ids)
        valid(name, PLAIN[schema], turn)


@pytest.mark.slow
@pytest.mark.parametrize("schema", PLAIN)
@pytest.mark.parametrize("name", NAMES)
def test_no_call_that_is_begun_is_cut_off(name: str, schema: str) -> None:
    need = least(name, PLAIN[schema])
    for budget in (3, need - 2, need, need + 9, need + 60):
        random = Random(f"{name} {schema} {budget}")
        matcher = started(name, PLAIN[schema], "auto", budget)
        turn = served(name).parse(draw(matcher, random, budget), opening(name))
        assert not matcher.tool, (budget, matcher)
        valid(name, PLAIN[schema], turn)


@pytest.mark.slow
@pytest.mark.parametrize("schema", ["plain", "nested", "alternatives"])
@pytest.mark.parametrize("name", NAMES)
def test_a_turn_that_fits_is_left_as_it_is(name: str, schema: str) -> None:
    """But for a few tokens in raw text, where any character may begin the delimiter."""
    need = least(name, PLAIN[schema])
    for extra in (10, 60):
        random = Random(f"{name} {schema} {extra}")
        ids = draw(started(name, PLAIN[schema], "required", need + extra), random, need + extra)
        matcher = started(name, PLAIN[schema], "required", len(ids) + SPARE)
        assert matcher.validate(ids) == len(ids), matcher


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_least_budget_is_enough_whichever_tool_is_shortest(name: str) -> None:
    long = of(s={"type": "string", "minLength": 40})
    tools = [tool("a", long), tool("get", {"type": "object"})]

    def begun(budget: int) -> Matcher:
        return served(name).matcher(tools, "required", prompt_ids=opening(name), budget=budget)

    need = needed(begun)
    for extra in (0, 1, 2, 5):
        ids = draw(begun(need + extra), Random(f"{name} {extra}"), need + extra)
        assert served(name).parse(ids, opening(name)).calls, (extra, ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_text_with_a_format_or_the_calls_in_its_stead_end_in_time(name: str) -> None:
    tools = [tool("get", PLAIN["plain"])]
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": PLAIN["plain"]}}

    def begun(budget: int) -> Matcher:
        return served(name).matcher(
            tools, "auto", prompt_ids=opening(name), response_format=wanted, budget=budget
        )

    if served(name).table.spells_calls:
        with pytest.raises(InvalidTools):
            begun(0)
        return
    need = needed(begun)
    for extra in (0, 1, 3, 7, 15, 40):
        ids = draw(begun(need + extra), Random(f"{name} {extra}"), need + extra)
        turn = served(name).parse(ids, opening(name))
        assert turn.ended, (extra, ids)
        if not turn.calls:
            jsonschema.Draft202012Validator(PLAIN["plain"]).validate(json.loads(turn.content))


@pytest.mark.parametrize("needed", [{"pattern": "^a"}, {"minLength": 2}, {"maxLength": 9}])
def test_a_keyword_that_is_not_the_name_which_is_needed_has_an_end(needed: dict[str, Any]) -> None:
    schema = {"type": "object", "not": {"propertyNames": needed}}
    matcher = started("pythonic", schema, "required", 300)
    for token_id in b"[get(abcd":
        assert matcher.accept(token_id)
        if matcher.tool:
            assert native(matcher).end_cost() >= 0


def native(matcher: Matcher) -> Any:
    """Return the kernel's text of arguments."""
    return getattr(matcher.position.grammar, "engine", matcher.position.grammar)


def valid(name: str, schema: dict[str, Any], turn: Any) -> None:
    """Check the calls of a turn; in pairs, texts of other types than strings are read by schema."""
    for call in turn.calls:
        assert call.name in {"get", "get_weather"}
        if dialects.load(name).arguments.kind is not LayoutKind.PAIRS:
            jsonschema.Draft202012Validator(schema).validate(json.loads(call.arguments))
