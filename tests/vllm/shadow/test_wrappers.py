import asyncio
from functools import partial
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

import enforcer
from enforcer.errors import ConfigurationError, InvalidVocabulary
from enforcer.vllm.config import names
from enforcer.vllm.intake import startup
from enforcer.vllm.server import runtime
from enforcer.vllm.shadow import wrappers

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


def validate(params: SamplingParams) -> list[Any]:
    seen: list[Any] = []
    wrappers.reject_spec(lambda *given: seen.append(given), params, 1, 2, 3)
    return seen


def test_requests_are_vllms_own() -> None:
    for params in (
        SamplingParams(),
        SamplingParams(extra_args={"enforcer": "off"}),
        SamplingParams(structured_outputs=StructuredOutputsParams(regex="a")),
    ):
        before = repr(params)
        assert validate(params) == [(params, 1, 2, 3)]
        assert repr(params) == before


def test_a_spec_is_refused_by_name() -> None:
    tag = enforcer.extra_body([TOOL])["structured_outputs"]["structural_tag"]
    tagged = SamplingParams(structured_outputs=StructuredOutputsParams(structural_tag=tag))
    beside = SamplingParams(extra_args={"enforcer": '{"tools": []}'})
    for params in (tagged, beside):
        with pytest.raises(VLLMValidationError, match="ENFORCER_SHADOW=on"):
            validate(params)


def test_a_spec_is_refused_before_its_stream_begins() -> None:
    async def original(*given: Any) -> Any:
        return given

    more: Any = {"model": "m", "messages": [{"role": "user", "content": "a"}], "stream": True}
    asked = ChatCompletionRequest(**more)
    assert asyncio.run(wrappers.rendered(original, None, asked)) == (None, asked)
    asked = ChatCompletionRequest(**more, **enforcer.extra_body([TOOL]))
    with pytest.raises(VLLMValidationError, match="ENFORCER_SHADOW=on"):
        asyncio.run(wrappers.rendered(original, None, asked))


@pytest.fixture
def _shadow(monkeypatch: pytest.MonkeyPatch, use: Any) -> None:
    use(shadow="on")
    monkeypatch.setenv(names.PARSER_VARIABLE, "")


@pytest.mark.usefixtures("_shadow")
def test_the_parser_is_vllms_own(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[Any] = []
    monkeypatch.setattr(runtime, "warm", warmed.append)
    monkeypatch.setattr(startup, "say", lambda *_: None)
    composed = partial(wrappers.compose_parser, lambda *given, **named: (given, named))
    found = composed(int, "kimi_k2", enable_auto_tools=True, tokenizer="t")
    assert found == ((int, "kimi_k2"), {"enable_auto_tools": True, "tokenizer": "t"})
    assert warmed == ["t"]
    with pytest.raises(ConfigurationError, match="start with --tool-call-parser kimi_k2, or"):
        composed(int, "kimi_k2_enforced", tokenizer="t")


@pytest.mark.usefixtures("_shadow")
def test_a_model_that_cannot_be_judged_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def warm(_: object) -> None:
        raise InvalidVocabulary("another format's")

    monkeypatch.setattr(runtime, "warm", warm)
    with pytest.raises(InvalidVocabulary):
        wrappers.compose_parser(lambda *_, **__: None, int, "kimi_k2", tokenizer="t")
