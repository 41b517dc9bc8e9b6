"""Draft tokens of turns: headers, closers, what a request demands, what has failed, the style."""

import json
from collections import Counter
from functools import partial
from os.path import commonprefix
from random import Random
from typing import Any, NoReturn

import numpy as np
import pytest

import enforcer
from enforcer.errors import ConfigurationError, EnforcerError
from enforcer.turn.deadline import Deadline
from enforcer.turn.matcher import Matcher
from tests import toys
from tests.budget_cases import SCHEMAS as BUDGETED
from tests.budget_cases import least_budget, of, start
from tests.dialect_cases import vocabulary
from tests.support import cases
from tests.support.cases import each_case
from tests.support.tools import tool
from tests.turn.known import OPENED, TEXTS, V, at
from tests.vocabularies import feed, legal, write

SCHEMAS = cases.schemas("turn/cases/drafts.toml", "tools")
TOOLS = [tool("get", SCHEMAS["get"])]
HEADER = "<|tool_calls_section_begin|><|tool_call_begin|>"
MOST = 60


def begun(served: enforcer.Enforcer, text: str, tools: Any = TOOLS, **request: Any) -> Matcher:
    if "prompt" in request:
        request["prompt_ids"] = write(served.vocabulary, request.pop("prompt"))
    found = served.matcher(tools, **request)
    feed(found, write(served.vocabulary, text))
    return found


def proposed(matcher: Matcher, limit: int = MOST, **policy: Any) -> str:
    ids = matcher.propose(limit, **policy)
    assert matcher.validate(ids) == len(ids)
    return matcher.envelope.table.vocabulary.decode(ids).decode(errors="replace")


@each_case
def test_drafted(
    dialect: str, tools: list[str], rows: list[list[str]], asked: Any, options: Any
) -> None:
    declared = [tool(name, SCHEMAS[name]) for name in tools]
    chosen = enforcer.Options(**{"max_calls": 3, "preamble_ids": 5, **(options or {})})
    for text, *expected in rows:
        found = []
        for likely in (True, False):
            anew = enforcer.Enforcer(vocabulary(dialect), dialect, options=chosen)  # has no style
            found.append(proposed(begun(anew, text, declared, **asked or {}), likely=likely))
        assert found == expected, text


def test_a_proposal_is_as_long_as_wanted() -> None:
    matcher = begun(enforcer.Enforcer(vocabulary("kimi_k2"), "kimi_k2"), HEADER)
    assert [len(matcher.propose(limit)) for limit in (-1, 0, 1, 3)] == [0, 0, 1, 3]
    assert proposed(matcher, limit=10**30) == proposed(matcher)
    for limit in ("1", 1.5, None):
        with pytest.raises(ConfigurationError, match="limit"):
            matcher.propose(limit)  # type: ignore[arg-type]


def test_nothing_is_proposed_where_a_turn_has_failed() -> None:
    matcher = at(OPENED)
    matcher.fail(EnforcerError("closed"))
    assert matcher.propose(MOST) == []


def test_a_character_that_has_begun_goes_on() -> None:
    served = enforcer.Enforcer(vocabulary("kimi_k2"), "kimi_k2")
    matcher = begun(served, HEADER, [tool("天气", of(é={"const": "日"}))])
    for text in ("functions.天气:0", '{"é": "日"}'):
        for byte in text.encode():  # its token's id
            assert proposed(matcher)
            assert matcher.accept(byte)
        feed(matcher, matcher.propose(1))


def test_tools_that_fail_fail_the_turn_no_earlier() -> None:
    def failing(*_: Any) -> NoReturn:
        raise ValueError

    assert proposed(at(HEADER, {"get": failing})) == "functions.get:0<|tool_call_argument_begin|>"


@pytest.mark.parametrize("where", ["fill", "accept", "is_accepting", "rollback"])
def test_an_engine_that_fails_fails_the_turn_no_earlier(where: str) -> None:
    failing = partial(toys.Failing, V, TEXTS, after=1, where=frozenset({where}))
    matcher = at(OPENED[: -len("0<|tool_call_argument_begin|>")], {"get": failing})
    assert matcher.propose(MOST) == write(V, "0<|tool_call_argument_begin|>")
    feed(matcher, matcher.propose(MOST))
    assert matcher.propose(MOST) == []
    assert matcher.failure is None


@pytest.mark.parametrize("engine", ["xgrammar", "outlines-core"])
def test_another_engines_arguments_are_not_drafted(engine: str) -> None:
    pytest.importorskip(engine.replace("-", "_"))
    served = enforcer.Enforcer(vocabulary("kimi_k2"), "kimi_k2", engine=engine)
    header = "functions.get:0<|tool_call_argument_begin|>"
    assert proposed(begun(served, HEADER)) == header
    assert proposed(begun(served, HEADER + header)) == ""
    assert proposed(begun(served, HEADER + header + '{"a": "x"}')) == ""
    whole = HEADER + header + '{"a": "x"}<|tool_call_end|>'
    assert proposed(begun(served, whole)) == "<|tool_calls_section_end|>"


@pytest.mark.slow
@pytest.mark.parametrize("name", BUDGETED)
def test_near_the_end_of_a_budget_what_is_proposed_is_in_the_masks(
    name: str, calls_of: Any
) -> None:
    need, drafted, rows = least_budget(schema=name), 0, calls_of(Deadline, "restrict")
    for more in range(0, 240, 15):
        matcher, random = start(need + more, name), Random(more)
        while not matcher.is_finished:
            made = len(rows)
            drafts = matcher.propose(8)
            assert len(rows) == made  # none is computed for a proposal
            for token_id in drafts:
                assert token_id in legal(matcher)
                feed(matcher, [token_id])
                drafted += 1
            if not matcher.is_finished:
                feed(matcher, [random.choice(sorted(legal(matcher)))])
        assert matcher.accepted <= need + more
    assert drafted > 50


def test_what_a_mask_tries_near_the_end_of_a_budget_teaches_nothing() -> None:
    options = enforcer.Options(preamble_ids=0, finish_within_budget=True)
    found = vocabulary("hermes")
    served = enforcer.Enforcer(found, "hermes", options=options)
    text = '<tool_call>\n{"name": "get", "arguments": {"a": null}}\n</tool_call><|im_end|>'
    ids, rejected = found.encode(text, markers=True), 0
    for _ in range(2):
        matcher = served.matcher([tool("get", of(a={"type": "null"}))], "required", budget=150)
        rejected = 0
        while (at := matcher.accepted) < len(ids):
            drafts = matcher.propose(8)
            kept = len(commonprefix([drafts, ids[at:]]))  # noqa: RUF071 - of any lists
            rejected += len(drafts) - kept
            for token_id in ids[at : at + kept + 1]:
                matcher.mask()
                assert matcher.accept(token_id)
    assert rejected == 0


def sampled(count: int, *, drafted: bool) -> Counter[str]:
    """Return how often each call was sampled, each token by fixed odds among the legal ones."""
    served = enforcer.Enforcer(V, options=enforcer.Options(max_calls=1), closed_objects=True)
    odds = np.random.default_rng(1).random(V.words * 32) ** 4
    random, found = np.random.default_rng(2 + drafted), Counter[str]()
    schema = {"a": {"enum": ["on", "off", "of"]}, "b": {"type": "boolean"}}
    spec = served.read_request([tool("f", {"type": "object", "properties": schema})])

    def choose(matcher: Matcher, draft: int = -1) -> int:
        legal = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        ways = odds * legal
        if draft >= 0 and random.random() < ways[draft] / ways.sum():
            return draft
        ways[draft] *= draft < 0  # a draft that was rejected is not sampled
        return int(random.choice(len(ways), p=ways / ways.sum()))

    for _ in range(count):
        matcher, text = served.start(spec, None, rollback=9), ""
        feed(matcher, write(V, HEADER + "functions.f:0<|tool_call_argument_begin|>"))
        while matcher.tool:
            for draft in [*(matcher.propose(8) if drafted else ()), -1]:
                token = choose(matcher, draft)
                assert matcher.accept(token)
                text += V.token_bytes(token).decode(errors="replace")
                if token != draft or not matcher.tool:
                    break
        found[json.dumps(json.loads(text.partition("<|")[0]))] += 1
    return found


@pytest.mark.slow
def test_sampled_turns_are_distributed_alike() -> None:
    count = 6000
    with_drafts, without = sampled(count, drafted=True), sampled(count, drafted=False)
    for call, number in (with_drafts | without).most_common(20):
        assert abs(with_drafts[call] - without[call]) < 0.02 * count, (call, number)
    assert without.most_common(1)[0][1] > 0.1 * count
