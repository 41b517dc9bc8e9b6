"""Draft tokens by the grammar within vLLM: who has them, how many they are, what is counted."""

from collections import Counter
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from vllm.v1.structured_output import StructuredOutputManager

import enforcer
from enforcer.errors import ConfigurationError
from enforcer.vllm.config.names import PATCHED
from enforcer.vllm.drafts import PROPOSER, Drafting, DraftLength, Proposed, Proposer, drafting
from enforcer.vllm.engine import backend
from enforcer.vllm.observe import metric_defs
from enforcer.vllm.observe.metric_defs import Drafted
from tests.support.tools import tool
from tests.vllm_managers import OPENED, bare, enforced, ready
from tests.vocabularies import feed, small, write

pytestmark = pytest.mark.usefixtures("installed")

V = small()
SCHEMA = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
TOOLS = [tool("get", {**SCHEMA, "additionalProperties": False})]
HEADER = "functions.get:0<|tool_call_argument_begin|>"
SECTION = "<|tool_calls_section_begin|><|tool_call_begin|>"
NOTHING = Proposed(0, 0, in_call=False)
OURS = {"method": "custom_class", "model": PROPOSER, "num_speculative_tokens": 8}


def config(asked: Any = OURS, *, is_async: bool = False, is_v2: bool = False) -> Any:
    return SimpleNamespace(
        speculative_config=asked and SimpleNamespace(**asked),
        scheduler_config=SimpleNamespace(async_scheduling=is_async),
        use_v2_model_runner=is_v2,
    )


def test_the_proposer_proposes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    proposer = Proposer(vllm_config=object())
    proposer.load_model(object())
    assert proposer.propose([[1], [], [2, 3]], [1, 0, 2], object()) == [[], [], []]
    stock = getattr(StructuredOutputManager.validate_tokens, PATCHED)
    monkeypatch.setattr(StructuredOutputManager, "validate_tokens", stock)
    with pytest.raises(ConfigurationError, match="needs the plugin"):
        Proposer(vllm_config=object())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (config(None), ""),
        (config({"method": "ngram", "model": "ngram"}), "those of ngram, not of the grammar"),
        (config({"method": "custom_class", "model": "a.B"}), "those of custom_class, not"),
        (config(), "up to 8 draft tokens in calls (forced)"),
    ],
)
def test_what_a_server_proposes_is_said(given: Any, said: str, use: Any, caplog: Any) -> None:
    caplog.set_level("INFO", logger="vllm.enforcer")
    use(drafts="forced")
    assert (drafting(given) is None) == ("forced" not in said)
    assert said in caplog.text
    assert bool(said) == bool(caplog.text)


@pytest.mark.parametrize("given", [config(is_async=True), config(is_v2=True)])
def test_a_server_that_verifies_other_drafts_does_not_start(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="synchronous scheduling"):
        drafting(given)


def test_a_length_is_learned_and_tried_again() -> None:
    length = DraftLength(4)
    assert [length.limit(in_flight) for in_flight in (0, 1, 32, 10_000)] == [4] * 4
    for _ in range(200):
        length.learn(4, 1)
    assert [length.limit(in_flight) for in_flight in (1, 32, 10_000)] == [1, 1, 1]
    length.learn(0, 0)
    tries = next(n for n in range(1000) if length.limit(1) > 1)
    assert 10 < tries < 100
    for _ in range(60):
        length.learn(4, 4)
    assert length.limit(32) > 1


def turn_of(matcher: Any) -> Any:
    return SimpleNamespace(matcher=matcher, proposed=NOTHING)


def test_proposals_and_passes_are_counted(counted: Counter[Any]) -> None:
    matcher = enforcer.Enforcer(V).matcher(TOOLS)
    made, turn = Drafting(8, likely=True), turn_of(matcher)
    assert (made.propose(turn, 1), turn.proposed, counted) == ([], NOTHING, Counter())
    feed(matcher, write(V, SECTION))
    found = made.propose(turn, 1)
    assert V.decode(found).decode() == HEADER + '{"a": '
    assert (turn.proposed, counted) == (Proposed(len(found), 2, in_call=True), Counter())
    feed(matcher, found[:3])
    matcher.rollback(3)  # as a bitmask is filled
    assert made.propose(turn, 1) == found
    assert not counted
    feed(matcher, write(V, HEADER + "{ "))  # all of them but the last, which is another one
    same = len(write(V, HEADER)) - 1
    made.propose(turn, 1)
    accepted = counted[Drafted.ACCEPTED]
    assert same <= accepted < len(found)
    assert counted[Drafted.REJECTED] == len(found) - accepted
    assert counted[metric_defs.CALL_PASSES] == 1
    feed(matcher, write(V, '"a": 1'))
    made.propose(turn, 1)
    assert counted[metric_defs.CALL_PASSES] == 2


def test_where_drafts_are_rejected_none_are_made(counted: Counter[Any]) -> None:
    made, matcher = Drafting(4, likely=False), Mock(accepted=0, tool="get")
    matcher.propose.return_value = [1, 2, 3, 4]
    turn = turn_of(matcher)
    for _ in range(100):
        found = made.propose(turn, 32)
        matcher.accepted += 1
    assert found == []
    assert turn.proposed.tokens == 0
    assert matcher.propose.call_args.args == (4,)
    assert matcher.propose.call_args.kwargs == {"likely": False}
    assert counted[Drafted.ACCEPTED] == 0


def test_a_fault_ends_the_drafts_and_no_turn(lines: Any) -> None:
    made, matcher = Drafting(8, likely=True), Mock(accepted=3, tool="get")
    matcher.propose.side_effect = ZeroDivisionError
    turn = turn_of(matcher)
    assert made.propose(turn, 1) == []
    assert turn.proposed is None
    assert lines() == ["enforcer: a turn gets no more draft tokens"]
    assert not matcher.fail.called


@pytest.fixture
def drafted(made: Any) -> Any:
    """Give vLLM's manager with our proposer."""
    backend._host(made).drafting = Drafting(8, likely=True)
    return made


def asked(drafted: Any, name: str) -> Any:
    ids = drafted.tokenizer.encode(OPENED + SECTION, add_special_tokens=False)
    one = enforced(name, ids, TOOLS)
    drafted.grammar_init(one)
    ready(one)
    return one


def test_the_grammar_proposes_for_its_own_requests_alone(drafted: Any) -> None:
    one = asked(drafted, "r")
    found = drafted.validate_tokens(one, [])
    assert drafted.tokenizer.decode(found).startswith("functions.get:0")
    assert drafted.validate_tokens(one, found[:2]) == found[:2]  # drafts of another one
    assert drafted.validate_tokens(one, [*found[:1], 0]) == found[:1]
    assert one.structured_output_request.grammar.proposed.tokens == len(found)
    one.structured_output_request.grammar.proposed = None
    assert drafted.validate_tokens(one, []) == []
    assert drafted.validate_tokens(bare("p", [1], None), []) == []
    assert drafted.validate_tokens(bare("p", [1], None), [7]) == [7]
    native = asked(drafted, "n")
    native.structured_output_request._grammar = grammar = Mock()
    grammar.validate_tokens.return_value = [5]
    assert drafted.validate_tokens(native, []) == []
    assert drafted.validate_tokens(native, [5, 6]) == [5]


def test_another_drafters_tokens_are_read_as_before(made: Any) -> None:
    one = asked(made, "r")
    assert made.validate_tokens(one, []) == []
    assert one.structured_output_request.grammar.proposed == NOTHING
    header = made.tokenizer.encode(HEADER, add_special_tokens=False)
    assert made.validate_tokens(one, [*header, 0]) == header
