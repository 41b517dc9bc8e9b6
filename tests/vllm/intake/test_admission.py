"""What is refused of a request's options and spec, and how vLLM answers it."""

import copy
import json
import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from vllm import SamplingParams, envs
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.serve.exception_handling.error_response import create_error_response
from vllm.exceptions import VLLMValidationError
from vllm.v1.worker.gpu.sample import logit_bias

from enforcer.errors import InvalidTools, Problem
from enforcer.request import carrier, spec_text
from enforcer.request.spec import Spec
from enforcer.vllm.intake import admission, rejections, sampling_options, settling
from enforcer.vllm.intake.checks import Inexact
from enforcer.vllm.observe import metric_defs, recording
from enforcer.vllm.observe.metric_defs import Relaxed
from enforcer.vllm.server import runtime
from tests import dialect_cases
from tests.support.cases import each_case

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


def _spec(tools: list[dict[str, Any]]) -> Spec:
    return spec_text.read(spec_text.write(tools, "auto" if tools else None, True, 0))


@pytest.mark.parametrize("bias", [float("inf"), float("-inf"), float("nan"), -1e300, 1e39, -3e38])
def test_a_bias_that_is_no_number_is_refused_and_others_pass(bias: float) -> None:
    spec = _spec([TOOL])
    sampling_options.reject_forcing(SimpleNamespace(logit_bias={1: -1e30, 2: 3.5}), spec)
    with pytest.raises(VLLMValidationError, match="infinite"):
        sampling_options.reject_forcing(SimpleNamespace(logit_bias={1: 2.0, 2: bias}), spec)


@pytest.mark.parametrize("penalty", [1e-50, 1e-38, 0.0009, 1001, 3e38, float("nan")])
def test_a_penalty_that_makes_logits_no_numbers_is_refused_and_others_pass(penalty: float) -> None:
    spec = _spec([TOOL])
    for usual in (None, 0.001, 0.5, 1, 1.2, 1000):
        sampling_options.reject_forcing(SimpleNamespace(repetition_penalty=usual), spec)
    with pytest.raises(VLLMValidationError, match="`repetition_penalty`") as refused:
        sampling_options.reject_forcing(SimpleNamespace(repetition_penalty=penalty), spec)
    assert refused.value.parameter == "repetition_penalty"


def test_beam_search_is_refused_where_the_request_says_it() -> None:
    beams, others = (SimpleNamespace(use_beam_search=asks) for asks in (True, False))
    with pytest.raises(VLLMValidationError, match="beam search"):
        sampling_options.reject_forcing(beams, _spec([]), beams)
    sampling_options.reject_forcing(SimpleNamespace(), _spec([]), others)


@each_case
def test_options_that_ban_ids_are_refused(option: str, value: object, without_tools: bool) -> None:
    params = SimpleNamespace(**{option: value})
    with pytest.raises(VLLMValidationError, match=option) as refused:
        sampling_options.reject_forcing(params, _spec([TOOL]))
    assert refused.value.parameter == option
    if without_tools:
        with pytest.raises(VLLMValidationError):
            sampling_options.reject_forcing(params, _spec([]))
    else:
        sampling_options.reject_forcing(params, _spec([]))


def test_of_thousands_of_inexact_schemas_some_have_lines_and_the_rest_a_number(lines: Any) -> None:
    def inexact(at: int, *, is_new: bool) -> Inexact:
        problem = Problem(f"$.tools[{at}].function.parameters", "", "no time was left")
        return Inexact(f"t{at}", Relaxed.ISOLATED, problem, "SchemaLimit", is_new)

    settling.log_inexact([inexact(at, is_new=at % 2 == 0) for at in range(4_000)])
    told = lines()
    assert len(told) == 9
    assert sum("schema not exact" in line for line in told) == 8
    assert 'more schemas not exact count="1992"' in told[-1]


def test_what_a_client_calls_settled_is_no_larger_than_what_it_does_not() -> None:
    settled = settling.admit(carrier.Carried(spec_text.write([TOOL], "auto", True, 0))).text
    own = {"parameters": {"type": "object"}}
    tools = [{"type": "function", "function": {"name": f"get{at}", **own}} for at in range(2_001)]
    forged = {**json.loads(settled), "tools": tools}
    with pytest.raises(VLLMValidationError, match="2001 tools, over 2000"):
        settling.admit(carrier.Carried(json.dumps(forged)))
    settling.admit(carrier.Carried(json.dumps({**forged, "tools": tools[:2_000]})))


def test_a_format_beside_calls_that_look_like_text_is_a_400(monkeypatch: Any) -> None:
    monkeypatch.setattr(runtime, "table_for", lambda *_: dialect_cases.served("granite").table)
    wanted = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    spec = spec_text.read(spec_text.write([TOOL], "auto", True, 0, wanted))
    with pytest.raises(VLLMValidationError, match=r"with ordinary text.*\$\.response_format"):
        admission.reject_prefix(None, spec, dialect_cases.opening("granite"))


V1, V2 = (SimpleNamespace(use_v2_model_runner=which) for which in (False, True))
MOST = {
    "allowed_token_ids": logit_bias.MAX_NUM_ALLOWED_TOKEN_IDS,
    "logit_bias": logit_bias.MAX_NUM_LOGIT_BIAS_TOKENS,
    "stop_token_ids": logit_bias.MAX_NUM_STOP_TOKEN_IDS,
    "bad_words": envs.VLLM_MAX_NUM_BAD_WORDS,
}


def parameters(option: str, count: int) -> SamplingParams:
    ids = list(range(count))
    if option == "bad_words":
        params = SamplingParams()
        params._bad_words_token_ids = [[each] for each in ids]
        return params
    given: dict[str, Any] = {option: dict.fromkeys(ids, 1.0) if option == "logit_bias" else ids}
    return SamplingParams(**given, min_tokens=1)


@pytest.mark.parametrize("option", MOST)
def test_as_much_as_the_worker_holds_is_taken_and_no_more(option: str) -> None:
    sampling_options.reject_over_worker_limits(parameters(option, MOST[option]), V2)
    more = parameters(option, MOST[option] + 1)
    with pytest.raises(VLLMValidationError, match=f"this server takes {MOST[option]}") as caught:
        sampling_options.reject_over_worker_limits(more, V2)
    assert caught.value.parameter == option
    sampling_options.reject_over_worker_limits(more, V1)


def test_words_are_counted_by_their_ids_as_well() -> None:
    params = SamplingParams()
    params._bad_words_token_ids = [[1] * 600, [2] * 600]
    with pytest.raises(VLLMValidationError, match="1200 entries"):
        sampling_options.reject_over_worker_limits(params, V2)


def test_stop_ids_that_nobody_forbids_are_not_held() -> None:
    sampling_options.reject_over_worker_limits(SamplingParams(stop_token_ids=list(range(500))), V2)


@pytest.mark.parametrize("option", ["allowed_token_ids", "logit_bias", "stop_token_ids"])
def test_the_worker_raises_beyond_it(option: str) -> None:
    # Its buffers are of a device's; only what it checks before it writes is of interest.
    state = logit_bias.LogitBiasState.__new__(logit_bias.LogitBiasState)
    state.prompt_len_np = np.zeros(1, dtype=np.int32)
    state.use_logit_bias = np.zeros(1, dtype=bool)
    for name in (
        *("num_allowed_token_ids", "allowed_token_ids", "num_logit_bias", "logit_bias_token_ids"),
        *("logit_bias", "min_lens", "num_stop_token_ids", "restore_when_all_masked"),
        "stop_token_ids",
    ):
        own = SimpleNamespace(np=np.zeros(1, dtype=np.int32), stage_write=lambda *_: None)
        setattr(state, name, own)
    assert state.add_request(0, parameters(option, MOST[option]))
    with pytest.raises(ValueError, match="Too many"):
        state.add_request(0, parameters(option, MOST[option] + 1))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the list of what is counted, instead of counting it."""
    found: list[Any] = []
    recorder = SimpleNamespace(add=lambda name, labels, _: found.append((name, labels)))
    monkeypatch.setattr(recording, "recorder", lambda: recorder)
    return found


def test_functions_are_not_read_by_vllm() -> None:
    """Which `enforcer check` says of them."""
    old = [{"name": "f", "parameters": {}}]
    sent = {"messages": [{"role": "user", "content": "hi"}], "functions": old}
    assert ChatCompletionRequest.model_validate(sent).tools is None


def test_a_refused_option_is_counted_logged_and_named(counted: list[Any], caplog: Any) -> None:
    with caplog.at_level(logging.INFO):
        error = rejections.option_rejection("min_tokens", "leave it out")
    assert isinstance(error, VLLMValidationError)
    assert error.parameter == "min_tokens"
    assert "leave it out" in str(error)
    assert counted == [(metric_defs.REFUSED, (metric_defs.OPTION, "min_tokens"))]
    assert '"$.min_tokens"' in caplog.text


def test_a_refused_request_is_counted_and_says_which_error(counted: list[Any]) -> None:
    error = rejections.rejection(InvalidTools("$.tools", "no list"))
    assert isinstance(error, VLLMValidationError)
    assert str(error) == "InvalidTools: no list (at `$.tools`)"
    assert counted == [(metric_defs.REFUSED, ("InvalidTools", ""))]
    assert create_error_response(error).error.param == "tools"
    assert rejections.rejection(InvalidTools("$", "no object")).parameter is None
    again = copy.copy(error)  # by its `args`, as between a server's processes
    assert (str(again), again.parameter) == (str(error), "tools")
