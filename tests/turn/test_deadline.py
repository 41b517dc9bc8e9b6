"""The least number of ids that a turn takes, and what is not begun that would take more."""

from typing import Any

import pytest

import enforcer
from enforcer.errors import BudgetTooSmall, ConfigurationError, UnsupportedSchema
from tests import dialect_cases
from tests.budget_cases import ENDLESS, HEADER, SCHEMAS, V, least_budget, leave, served, start, tool
from tests.support import cases
from tests.vocabularies import call, feed, legal, section, write

BEGIN = V.control("<|tool_calls_section_begin|>")
STOP = {V.control("<|im_end|>"), V.control("[EOS]")}


def test_a_budget_that_is_too_small_is_refused_and_the_least_is_enough() -> None:
    need = least_budget()
    with pytest.raises(BudgetTooSmall, match=f"takes {need} tokens, and {need - 1}") as told:
        start(need - 1)
    assert told.value.path == "$.budget"
    found = start(need)
    ids = []
    while found.state != "END":
        ids.append(min(legal(found)))
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
    with pytest.raises(ConfigurationError, match="engine xgrammar does not support"):
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


def test_a_call_that_does_not_fit_is_not_begun_beside_a_text_that_does() -> None:
    letters = {"type": "string", "minLength": 9000}
    long = {"type": "object", "properties": {"a": letters}, "required": ["a"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string"}}}
    for budget, fits in ((20_000, True), (5_000, False)):
        found = served().matcher([tool(long)], "auto", response_format=wanted, budget=budget)
        assert (BEGIN in legal(found)) == fits
        assert found.accept(BEGIN) == fits


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
    headers = [len(V.pieces(f"functions.get:{i}".encode())) for i in (0, 1)]
    another = least_budget() - 1 - headers[0] + headers[1]
    found = start(1000)
    feed(found, ids)
    for left in (2, another - 1, another, another + 9):
        leave(found, len(ids) + left)
        assert (V.control("<|tool_call_begin|>") in legal(found)) == (left >= another)
        assert V.control("<|tool_calls_section_end|>") in legal(found)


@pytest.mark.parametrize("parallel", [True, False])
@cases.parametrized("turn/cases/deadline.toml", "case")
def test_a_call_of_unknown_length_is_refused_whatever_is_begun(begun: str, parallel: bool) -> None:
    tools = [tool(SCHEMAS["plain"]), tool(ENDLESS, "late")]
    prompt = write(V, HEADER + begun)
    with pytest.raises(UnsupportedSchema, match="finish_within_budget") as caught:
        served().matcher(tools, "auto", parallel, prompt_ids=prompt, budget=400)
    assert caught.value.path.startswith("$.tools[1].function.parameters")


@pytest.mark.parametrize("budget", ["400", 400.5, float("nan")])
def test_a_budget_that_is_no_whole_number_is_refused(budget: Any) -> None:
    with pytest.raises(ConfigurationError, match="budget must be a whole number"):
        start(budget)


def test_a_call_s_optional_id_is_begun_only_where_it_can_be_ended() -> None:
    found = dialect_cases.vocabulary("mistral_v3")
    options = enforcer.Options(max_calls=1, finish_within_budget=True)
    its = enforcer.Enforcer(found, "mistral_v3", options=options)
    ids = [*write(found, "[TOOL_CALLS]"), *b'[{"name": "get", "arguments": {}']
    fits = []
    for left in range(3, 25):
        turn = its.matcher([tool({"type": "object"})], "required", budget=len(ids) + left)
        feed(turn, ids)
        if turn.accept(ord(",")):
            fits.append(left)
            while not turn.is_finished:
                feed(turn, [max(legal(turn) - {*b" \t\r\n"})])
            assert turn.accepted <= len(ids) + left
    assert fits
    assert fits[0] > 5


def test_white_space_before_a_demanded_call_fits_where_text_is_illegal() -> None:
    found = dialect_cases.vocabulary("llama4_pythonic")
    options = enforcer.Options(preamble_ids=0, finish_within_budget=True)
    its = enforcer.Enforcer(found, "llama4_pythonic", options=options)
    for budget in (30, 300):
        turn = its.matcher([tool({"type": "object"})], "required", budget=budget)
        assert ord("\n") in legal(turn)
        assert ord("x") not in legal(turn)
