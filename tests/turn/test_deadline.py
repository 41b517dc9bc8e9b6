"""The least number of ids that a turn takes, and what is not begun that would take more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import enforcer
from enforcer.budget.untold import untold
from enforcer.errors import BudgetTooSmall, ConfigurationError, UnsupportedSchema
from enforcer.schema import Root, compile_schema
from tests.budget_cases import (
    HEADER,
    PIECES,
    SCHEMAS,
    UNIQUE,
    UNTIMED,
    V,
    least_budget,
    lenient,
    of,
    served,
    shortest,
    start,
    tool,
)
from tests.vocabularies import call, feed, legal, section, write

if TYPE_CHECKING:
    from enforcer.turn.matcher import Matcher

BEGIN = V.control("<|tool_calls_section_begin|>")
STOP = {V.control("<|im_end|>"), V.control("[EOS]")}
OPENED = "<|tool_calls_section_begin|>"


def test_a_budget_that_is_too_small_is_refused_and_the_least_is_enough() -> None:
    need = least_budget()
    with pytest.raises(BudgetTooSmall, match=f"takes {need} tokens, and {need - 1}"):
        start(need - 1)
    found = start(need)
    ids = []
    while found.state != "END":
        allowed = legal(found)
        ids.append(min(allowed))
        feed(found, ids[-1:])
    assert len(ids) <= need
    assert len(served().parse(ids, write(V, HEADER)).calls) == 1


def test_without_the_option_or_a_budget_nothing_is_cut_short() -> None:
    plain = enforcer.Enforcer(V, options=enforcer.Options(preamble_ids=5))
    for found in (start(None), plain.matcher([tool(SCHEMAS["plain"])], "required")):
        feed(
            found, write(V, "hello" + section(call("get", 0, '{"a": "' + "x" * 99 + '", "b": 1}')))
        )


def test_another_engine_knows_no_ends() -> None:
    options = enforcer.Options(finish_within_budget=True)
    other = enforcer.Enforcer(V, engine="xgrammar", options=options)
    assert other.matcher([tool(SCHEMAS["plain"])], "required")
    with pytest.raises(ConfigurationError, match="not known of the engine xgrammar"):
        other.matcher([tool(SCHEMAS["plain"])], "required", budget=400)


def test_a_call_that_does_not_fit_is_not_begun_and_text_may_be_cut() -> None:
    need = least_budget()
    for budget in (0, 3, need - 1, need):
        found = start(budget, choice="auto")
        assert (BEGIN in legal(found)) == (budget >= need or budget == 0)
        assert found.accept(BEGIN) == (budget >= need or budget == 0)
    found = start(need + 3, choice="auto")
    for left in (need + 3, need + 2, need + 1, need, need - 1, need - 2):
        assert (BEGIN in legal(found)) == (left >= need)
        feed(found, [ord("x")])
    assert legal(found) >= STOP


@pytest.mark.parametrize("tail", ["", "<think>hm"])
@pytest.mark.parametrize("letters", [4, 400])
def test_the_shorter_of_an_answer_and_a_call_is_what_a_turn_takes(letters: int, tail: str) -> None:
    prompt = write(V, HEADER + tail)

    def takes(tools: list[dict[str, Any]], choice: str | None, **options: Any) -> int:
        with pytest.raises(BudgetTooSmall) as caught:
            served().matcher(tools, choice, prompt_ids=prompt, budget=1, **options)
        return int(re.search(r"takes (\d+) tokens", str(caught.value))[1])

    answer = {"type": "string", "minLength": letters}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": answer}}
    tools = [tool(SCHEMAS["long"])]
    call, text = takes(tools, "required"), takes([], None, response_format=wanted)
    assert (text < call) == (letters == 4)
    assert takes(tools, "auto", response_format=wanted) == min(call, text)


def test_a_demanded_call_is_begun_in_time() -> None:
    need = least_budget()
    for tail in ("", "<think>", "<think>hm"):
        found = start(need + 2, tail=tail)
        feed(found, [ord("x")] * 2)
        assert legal(found) == {BEGIN}
        found.rollback(1)
        assert legal(found) > {BEGIN}


def test_another_call_is_begun_only_if_it_fits() -> None:
    opened = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0"
    ids = write(V, opened + "<|tool_call_argument_begin|>")
    ids += list(b'{"a":"","b":0}')
    ids += write(V, "<|tool_call_end|>")
    headers = [PIECES.count(f"functions.get:{i}".encode()) for i in (0, 1)]
    another = least_budget() - 1 - headers[0] + headers[1]
    found = start(1000)
    feed(found, ids)
    for left in (2, another - 1, another, another + 9):
        found._deadline.total = len(ids) + left
        assert (V.control("<|tool_call_begin|>") in legal(found)) == (left >= another)
        assert V.control("<|tool_calls_section_end|>") in legal(found)


def started(budget: int, choice: str, *schemas: str) -> Matcher:
    """Start a turn of which a call to `late` may be cut off."""
    tools = [tool(UNTIMED, "late"), *(tool(SCHEMAS[name]) for name in schemas)]
    return lenient().matcher(tools, choice, prompt_ids=write(V, HEADER), budget=budget)


def test_a_call_of_which_no_end_is_known_is_begun_where_the_least_could_fit() -> None:
    least = shortest(UNTIMED)
    # Three markers before, and as many ids behind.
    need = PIECES.count(b"functions.late:0") + int(least) + 6
    for budget in (need - 1, need):
        assert (BEGIN in legal(started(budget, "auto"))) == (budget >= need)
    with pytest.raises(BudgetTooSmall):
        started(need - 1, "required")
    assert legal(started(need, "required")) == {BEGIN}


def test_what_no_memory_is_needed_for_counts_for_the_least() -> None:
    for schema, more in (
        (of(x=UNIQUE), 0),
        (of(x=UNIQUE | {"minItems": 3}), len('"","",""')),
        (of(x=UNIQUE, y={"type": "string", "minLength": 40}), 40),
    ):
        assert untold(compile_schema(schema, root=Root.OBJECT))
        assert more <= shortest(schema) - PIECES.count(b'{"x":[]}') <= more + 10


def test_it_may_be_cut_off_and_the_others_may_not() -> None:
    opened = "<|tool_calls_section_begin|><|tool_call_begin|>functions."
    for name, schemas in (("late", ["plain"]), ("get", ["plain"])):
        found = started(400, "auto", *schemas)
        ids = write(V, f"{opened}{name}:0<|tool_call_argument_begin|>")
        ids += list(b'{"x": ["a"' if name == "late" else b'{"a": "')
        feed(found, ids)
        anything = legal(found)
        found._deadline.total = len(ids) + 5
        assert (legal(found) == anything) == (name == "late")


def test_a_demanded_call_is_begun_while_one_fits_that_ends_in_time() -> None:
    need = least_budget()  # of the tool that ends in time
    with pytest.raises(BudgetTooSmall, match=f"takes {need} tokens"):
        started(need - 1, "required", "plain")
    found = started(need + 1, "required", "plain")
    feed(found, [ord("x")])
    assert legal(found) == {BEGIN}


def test_so_it_is_where_the_one_that_may_be_late_is_shorter() -> None:
    need = least_budget(schema="long")
    with pytest.raises(BudgetTooSmall, match=f"takes {need} tokens"):
        started(need - 1, "required", "long")
    assert legal(started(need, "required", "long")) == {BEGIN}


def test_after_a_call_that_ended_too_late_the_turn_can_only_end() -> None:
    opened = "<|tool_calls_section_begin|><|tool_call_begin|>functions.late:0"
    ids = write(V, opened + "<|tool_call_argument_begin|>")
    ids += list(b'{"x":[]}')
    begin, end = V.control("<|tool_call_begin|>"), V.control("<|tool_calls_section_end|>")
    for left in (1, 2, 3, 400):
        found = started(400, "auto", "plain")
        found._deadline.total = len(ids) + 1 + left
        feed(found, ids)
        assert V.control("<|tool_call_end|>") in legal(found)
        feed(found, write(V, "<|tool_call_end|>"))
        assert legal(found) == ({begin, end} if left == 400 else {end})
        feed(found, [end])
        assert legal(found) <= STOP
        assert found.failure is None


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize(
    "begun",
    [
        "",
        "<think>hm",
        f"{OPENED}<|tool_call_begin|>",
        f"{OPENED}<|tool_call_begin|>functions.get",
        OPENED + call("get", 0, '{"a": "').removesuffix("<|tool_call_end|>"),
        OPENED + call("get", 0, '{"a": "", "b": 1}'),
        OPENED + call("get", 0, '{"a": "", "b": 1}') + "<|tool_calls_section_end|>",
    ],
)
def test_what_has_no_end_that_is_known_is_refused_at_the_start_whatever_the_prompt_has_begun(
    begun: str, parallel: bool
) -> None:
    tools = [tool(SCHEMAS["plain"]), tool(UNTIMED, "late")]
    prompt = write(V, HEADER + begun)
    with pytest.raises(UnsupportedSchema, match="finish_within_budget") as caught:
        served().matcher(tools, "auto", parallel, prompt_ids=prompt, budget=400)
    assert caught.value.path.startswith("$.tools[1].function.parameters")
    started = lenient().matcher(tools, "auto", parallel, prompt_ids=prompt, budget=400)
    assert legal(started)


def test_arguments_that_the_prompt_has_begun_are_not_refused() -> None:
    opened = "<|tool_calls_section_begin|><|tool_call_begin|>functions.late:0"
    prompt = write(V, HEADER + opened + '<|tool_call_argument_begin|>{"x": ["a"')
    found = lenient().matcher([tool(UNTIMED, "late")], "auto", prompt_ids=prompt, budget=2)
    assert ord(",") in legal(found)
