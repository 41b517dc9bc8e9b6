"""What vLLM's scheduler sees of a turn, without an engine around it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock
from unittest.mock import Mock

import numpy as np
import pytest

import enforcer
from enforcer.errors import EnforcerError
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.turn.matcher import Matcher
from enforcer.vllm.config import names
from enforcer.vllm.engine import backend, engine_admission
from enforcer.vllm.engine.backend import EnforcedGrammar, initialised
from enforcer.vllm.observe import metric_defs, metrics
from enforcer.vllm.server import runtime
from tests import dialect_cases, vllm_managers
from tests.vocabularies import bits, small, write

V = small()
TOOLS = [{"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}]
OPENED = write(
    V, "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{"
)


@pytest.fixture
def grammar() -> EnforcedGrammar:
    return EnforcedGrammar(enforcer.Enforcer(V).matcher(TOOLS), "chatcmpl-1")


def legal(grammar: EnforcedGrammar) -> list[int]:
    bitmask = np.zeros((1, V.words), dtype=np.int32)
    grammar.fill_bitmask(bitmask, 0)
    return sorted(bits(bitmask[0]))


def test_a_turn_is_accepted_and_taken_back(grammar: EnforcedGrammar) -> None:
    assert grammar.accept_tokens("chatcmpl-1", OPENED)
    assert grammar.validate_tokens(write(V, "}x")) == write(V, "}")
    assert not grammar.accept_tokens("chatcmpl-1", write(V, "}x"))
    assert grammar.matcher.accepted == len(OPENED)
    grammar.rollback(len(OPENED))
    assert grammar.matcher.accepted == 0
    assert not grammar.is_terminated()


def test_a_turn_whose_gate_was_closed_ends_with_an_error(grammar: EnforcedGrammar) -> None:
    assert grammar.accept_tokens("chatcmpl-1", OPENED)
    grammar.matcher.fail(EnforcerError("a limit of the engine"))
    end = V.control("<|im_end|>")
    assert legal(grammar) == [V.control("[EOS]"), end]
    assert not grammar.accept_tokens("chatcmpl-1", [end])
    assert grammar.matcher.accepted == len(OPENED)


def test_a_turn_that_fails_in_first_arguments_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "failed", failed := Mock())
    matcher = enforcer.Enforcer(V).matcher(TOOLS)
    matcher._transitions._arguments = Mock(side_effect=EnforcerError("a limit of the engine"))
    grammar = EnforcedGrammar(matcher, "chatcmpl-1")
    header, begun = OPENED[:-2], OPENED[-2:-1]
    assert grammar.accept_tokens("chatcmpl-1", header)
    for _ in range(2):
        assert not grammar.accept_tokens("chatcmpl-1", begun)
        assert matcher.accepted == len(header)
    told = {"state": "ARGUMENTS", "error": "EnforcerError", "tool": "get"}
    assert failed.mock_calls == [mock.call(metric_defs.Failure.GATE_CLOSED, "chatcmpl-1", **told)]


@pytest.mark.parametrize(
    ("ids", "tool"), [(0, ""), (3, ""), (len(OPENED) - 1, "get"), (len(OPENED), "get")]
)
def test_a_closed_gate_names_the_tool_whose_arguments_it_was_in(
    grammar: EnforcedGrammar, monkeypatch: pytest.MonkeyPatch, ids: int, tool: str
) -> None:
    named = []
    monkeypatch.setattr(metrics, "failed", lambda *_, **fields: named.append(fields["tool"]))
    assert grammar.accept_tokens("chatcmpl-1", OPENED[:ids])
    grammar.matcher.fail(EnforcerError("a limit of the engine"))
    legal(grammar)
    legal(grammar)
    assert named == [tool]


def test_a_reply_says_that_its_budget_has_shortened_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(metrics, "shortened", lambda *of: told.append(of))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [{"type": "function", "function": {"name": "get", "parameters": schema}}]
    served = enforcer.Enforcer(V, options=enforcer.Options(finish_within_budget=True))
    for letters, is_shortened in ((3, False), (60, True)):
        matcher = served.matcher(tools, budget=len(OPENED) + 70)
        request = Mock(stop_reason=None)
        grammar = EnforcedGrammar(matcher, "chatcmpl-1", request)
        assert grammar.accept_tokens("chatcmpl-1", [*OPENED, *b'"a":"'])
        for _ in range(letters):
            if ord("x") in legal(grammar):
                assert grammar.accept_tokens("chatcmpl-1", [*b"x"])
        for token_id in write(V, '"}<|tool_call_end|><|tool_calls_section_end|><|im_end|>'):
            assert token_id in legal(grammar)
            assert grammar.accept_tokens("chatcmpl-1", [token_id])
        assert (request.stop_reason == "finish_within_budget") == is_shortened
        assert told == [("chatcmpl-1", "get")] * is_shortened


def test_a_gate_that_a_draft_closed_is_open_again_without_it(grammar: EnforcedGrammar) -> None:
    assert grammar.accept_tokens("chatcmpl-1", OPENED)
    grammar.matcher.fail(EnforcerError("a limit of the engine"))
    grammar.rollback(1)
    assert grammar.accept_tokens("chatcmpl-1", OPENED[-1:])


FOREIGN = "--tool-call-parser kimi_k2_enforced is for models of the format kimi_k2: "


@pytest.mark.parametrize(
    ("parser", "level", "cause"),
    [("kimi_k2_enforced", "WARNING", FOREIGN), ("kimi_k2", "INFO", "")],
)
def test_an_engine_of_another_vocabulary_warns_that_it_enforces_nothing(
    monkeypatch: Any, caplog: Any, known: Any, *, parser: str, level: str, cause: str
) -> None:
    """A model that merely has the plugin beside it is none of whom a warning is for."""
    caplog.set_level("INFO", logger="vllm.enforcer")
    monkeypatch.setenv(names.PARSER_VARIABLE, parser)
    tokenizer = known(dialect_cases.vocabulary("hermes"))
    built = vllm_managers.manager(None, V.size)

    def original(self: SimpleNamespace) -> None:
        self.vllm_config, self.tokenizer = built.vllm_config, tokenizer
        self._grammar_bitmask = built._grammar_bitmask

    initialised(original, SimpleNamespace())
    (record,) = [each for each in caplog.records if each.name == "vllm.enforcer"]
    assert record.levelname == level
    assert record.getMessage().startswith(
        f"enforcer: this engine enforces nothing: {cause}the tokenizer has no control token "
    )


def test_the_arguments_that_are_written_weigh_something_and_little() -> None:
    spec = Spec(tools_.parse(TOOLS, "auto", True), 0)
    matcher = enforcer.Enforcer(V).start(spec, None)
    assert matcher.text_weight == 0
    assert all(matcher.accept(token) for token in OPENED)
    assert 0 < matcher.text_weight < 65_536
    matcher.rollback(len(OPENED))
    assert matcher.text_weight == 0


TURN = "<|im_assistant|>assistant<|im_middle|>"
LONG = TURN + "so it is " * 500


@pytest.fixture
def host(known: Any) -> Iterator[Any]:
    runtime.kept.cache_clear()
    manager = vllm_managers.manager(known(V), V.size)
    yield backend._host(manager)
    manager.executor.shutdown(wait=False)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many token ids the prompts have that are read from here on."""
    counts: list[int] = []
    begun = Matcher._begun

    def _begun(self: Matcher, prompt_ids: Any) -> Any:
        counts.append(len(prompt_ids))
        return begun(self, prompt_ids)

    monkeypatch.setattr(Matcher, "_begun", _begun)
    return counts


def steps(host: Any, prompt: str) -> Any:
    asked = vllm_managers.enforced("r", write(V, prompt), TOOLS)
    source = engine_admission.source_of(asked)
    assert source is not None
    return host._steps(source, asked)


def test_what_is_long_is_left_to_the_lane_of_what_is(host: Any, read: list[int]) -> None:
    short = steps(host, "x" * 3000 + TURN + "so")
    with pytest.raises(StopIteration):
        next(short)
    read.clear()
    for prompt in (LONG, "so it is " * 500):
        next(made := steps(host, prompt))
        assert read == []  # nothing has been done on the thread that all requests come by
        made.close()
