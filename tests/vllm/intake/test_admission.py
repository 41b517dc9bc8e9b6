from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from vllm.exceptions import VLLMValidationError

from enforcer.errors import Problem
from enforcer.request import carrier, spec_text
from enforcer.vllm.intake import admission, sampling_options, settling
from enforcer.vllm.intake.checks import Inexact
from enforcer.vllm.observe import metrics
from enforcer.vllm.observe.metric_defs import Relaxed
from enforcer.vllm.server import runtime
from tests import dialect_cases

if TYPE_CHECKING:
    from enforcer.request.spec import Spec


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
    beams = SimpleNamespace(use_beam_search=True)
    with pytest.raises(VLLMValidationError, match="beam search"):
        sampling_options.reject_forcing(beams, _spec([]), beams)
    sampling_options.reject_forcing(
        SimpleNamespace(), _spec([]), SimpleNamespace(use_beam_search=False)
    )


@pytest.mark.parametrize(
    ("option", "value", "without_tools"),
    [
        ("thinking_token_budget", 5, True),
        ("trace_decode_token_ids", [], True),
        ("allowed_token_ids", [1], True),
        ("bad_words", ["x"], False),
        ("min_tokens", 3, False),
    ],
)
def test_an_option_that_takes_ids_away_is_refused_by_its_name(
    option: str, value: object, without_tools: bool
) -> None:
    params = SimpleNamespace(**{option: value})
    with pytest.raises(VLLMValidationError, match=option) as refused:
        sampling_options.reject_forcing(params, _spec([TOOL]))
    assert refused.value.parameter == option
    if without_tools:
        with pytest.raises(VLLMValidationError):
            sampling_options.reject_forcing(params, _spec([]))
    else:
        sampling_options.reject_forcing(params, _spec([]))


def test_of_thousands_of_schemas_that_are_not_exact_some_have_a_line_and_the_rest_a_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def inexact(at: int, *, is_new: bool) -> Inexact:
        problem = Problem(f"$.tools[{at}].function.parameters", "", "no time was left")
        return Inexact(f"t{at}", Relaxed.ISOLATED, problem, "SchemaLimit", is_new)

    settling.log_inexact([inexact(at, is_new=at % 2 == 0) for at in range(4_000)])
    lines = [r.getMessage() for r in caplog.records if r.name == metrics.logger.name]
    assert len(lines) == 9
    assert sum("schema not exact" in line for line in lines) == 8
    assert 'more schemas not exact count="1992"' in lines[-1]


def test_what_a_client_calls_settled_is_no_larger_than_what_it_does_not() -> None:
    settled = settling.admit(carrier.Carried(spec_text.write([TOOL], "auto", True, 0))).text
    tools = [
        {"type": "function", "function": {"name": f"get{at}", "parameters": {"type": "object"}}}
        for at in range(2_001)
    ]
    forged = {**json.loads(settled), "tools": tools}
    with pytest.raises(VLLMValidationError, match="2001 tools, over 2000"):
        settling.admit(carrier.Carried(json.dumps(forged)))
    settling.admit(carrier.Carried(json.dumps({**forged, "tools": tools[:2_000]})))


def test_a_format_beside_calls_that_look_like_text_is_a_400(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "table_for", lambda *_: dialect_cases.served("granite").table)
    wanted = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    spec = spec_text.read(spec_text.write([TOOL], "auto", True, 0, wanted))
    with pytest.raises(VLLMValidationError, match=r"with ordinary text.*\$\.response_format"):
        admission.reject_prefix(None, spec, dialect_cases.opening("granite"))
