"""What the workers find out about the beginning of a turn is what starting it would."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from enforcer import engines
from enforcer.api import Enforcer
from enforcer.checking import work
from enforcer.checking.pool import Pool
from enforcer.checking.task import TaskVerdict, WorkerState
from enforcer.checking.work import Beginning
from enforcer.errors import BudgetTooSmall, IllegalPrefix, InvalidTools, UnsupportedSchema
from enforcer.request import spec as specs
from enforcer.request import spec_text
from enforcer.request.options import Options
from enforcer.turn.table import Table
from enforcer.turn.token_weights import TokenWeights
from tests.budget_cases import ENDLESS
from tests.checking_cases import sent
from tests.spec_cases import settled as settle
from tests.vocabularies import call, section, small, write

V = small()
ENGINE = engines.load("machine", V)
CLOSED = {"type": "object", "required": ["n"], "additionalProperties": False}
PARAMETERS = {**CLOSED, "properties": {"n": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}
SETTLED = specs.Settled("kimi_k2", "machine", Options())


OPENING = "<|im_assistant|>assistant<|im_middle|>"
CALL = OPENING + "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
BEGUN = CALL + "<|tool_call_argument_begin|>"


def asked(
    text: str,
    tools: tuple[dict[str, Any], ...] = (TOOL,),
    choice: str | None = "auto",
    budget: int | None = None,
    response_format: dict[str, Any] | None = None,
    *,
    finish: bool = False,
) -> Beginning:
    settled = msgspec.structs.replace(SETTLED, options=Options(finish_within_budget=finish))
    written = spec_text.write(list(tools), choice, True, 0, response_format)
    return Beginning(settle(written, settled), 0, tuple(write(V, text)), budget)


def found(one: Beginning) -> TaskVerdict:
    return one.perform(WorkerState(ENGINE))


def test_keys_tell_beginnings_apart_and_do_not_grow() -> None:
    several = [asked(BEGUN), asked(OPENING), asked(BEGUN, budget=7)]
    several += [asked(BEGUN, choice="required")]
    several += [replace(several[0], skipped=1)]
    assert len({one.key() for one in several}) == len(several)
    assert len(repr(asked(BEGUN + "1" * 9_000).key())) < 500


@pytest.mark.parametrize("text", ['{"n": 1', '{"n": 1}', "", '{"n": 1}<|tool_call_end|>'])
def test_what_fits_is_let_in(text: str) -> None:
    assert found(asked(BEGUN + text)).error is None


def test_what_does_not_fit_is_told_with_the_place_in_the_whole_prompt() -> None:
    one = asked(BEGUN + '{"m')
    with pytest.raises(IllegalPrefix) as caught:
        Enforcer(V).start(spec_text.read(one.spec), one.prompt_ids)
    verdict = found(replace(one, skipped=100))
    assert isinstance(verdict.error, IllegalPrefix)
    assert caught.value.path == f"$.prompt_token_ids[{len(one.prompt_ids) - 1}]"
    assert verdict.error.path == f"$.prompt_token_ids[{len(one.prompt_ids) + 99}]"


def test_a_text_that_has_a_format() -> None:
    wanted = {"type": "json_schema", "json_schema": {"schema": {"enum": ["ab"]}}}
    assert found(asked(OPENING + '"a', (), None, response_format=wanted)).error is None
    wrong = found(asked(OPENING + '"b', (), None, response_format=wanted))
    assert isinstance(wrong.error, IllegalPrefix)


def test_a_budget_is_held_against_what_is_demanded() -> None:
    whole = write(V, section(call("f", 0, '{"n":1}')))
    small_one = asked(OPENING, choice="required", budget=4, finish=True)
    verdict = found(small_one)
    assert isinstance(verdict.error, BudgetTooSmall)
    assert "$.max_tokens" in str(verdict.error)
    assert found(replace(small_one, budget=len(whole) + 1)).error is None
    # Without the option a turn may be cut.
    assert found(asked(OPENING, choice="required", budget=4)).error is None


def test_who_is_warm_reads_the_vocabulary_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from one that is; what each built anew made each first check slow."""
    warm = WorkerState(ENGINE)
    warm.enforcer("kimi_k2").warm()

    def refuse(*_: object) -> None:
        raise AssertionError("built once more")

    monkeypatch.setattr(TokenWeights, "__init__", refuse)
    monkeypatch.setattr(Table, "__init__", refuse)
    tight = asked(OPENING, choice="required", budget=4, finish=True)
    assert isinstance(tight.perform(warm).error, BudgetTooSmall)
    with pytest.raises(AssertionError, match="built once more"):
        found(tight)


def test_what_has_no_end_that_is_found_is_told() -> None:
    tool = {"type": "function", "function": {"name": "late", "parameters": ENDLESS}}
    one = asked(OPENING, (TOOL, tool), budget=50, finish=True)
    verdict = found(one)
    assert isinstance(verdict.error, UnsupportedSchema)
    assert "finish_within_budget" in str(verdict.error)
    assert verdict.error.path.startswith("$.tools[1].function.parameters")
    assert found(replace(one, budget=None)).error is None


def test_a_text_that_is_no_json_has_an_end() -> None:
    wanted = {"type": "regex", "regex": "a+"}
    one = asked(OPENING, (), None, 2, response_format=wanted, finish=True)
    assert found(one).error is None
    assert isinstance(found(replace(one, budget=1)).error, BudgetTooSmall)


def test_a_worker_finds_the_same() -> None:
    pool = Pool("machine", V)
    assert pool.check(asked(BEGUN + '{"n": 1')).error is None
    assert isinstance(pool.check(asked(BEGUN + '{"m')).error, IllegalPrefix)
    tight = asked(OPENING, choice="required", budget=4, finish=True)
    assert isinstance(pool.check(tight).error, BudgetTooSmall)


def test_a_spec_is_digested_once_for_all_prompts_of_a_list(
    calls_of: Callable[..., list[Any]],
) -> None:
    digested = calls_of(work, "sha256")
    spec = "x" * 100_000
    assert len({Beginning(spec, at % 7, (at,), None).key() for at in range(100)}) == 100
    assert sum(len(data) for (data,) in digested) < 2 * len(spec)


def test_what_a_format_cannot_tell_crosses_the_pipe() -> None:
    error = InvalidTools("$.response_format", "leave it out")
    verdict = sent(TaskVerdict(error))
    assert type(verdict.error) is InvalidTools
    assert verdict.error.problems == error.problems
