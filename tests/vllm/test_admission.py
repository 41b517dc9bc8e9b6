from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from vllm.exceptions import VLLMValidationError

from enforcer.request import spec as specs
from enforcer.vllm import admission

if TYPE_CHECKING:
    from enforcer.request.spec import Spec


TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


def _spec(tools: list[dict[str, Any]]) -> Spec:
    return specs.read(specs.write(tools, "auto" if tools else None, True, 0))


@pytest.mark.parametrize("bias", [float("inf"), float("-inf"), float("nan")])
def test_a_bias_that_is_no_number_is_refused_and_others_pass(bias: float) -> None:
    spec = _spec([TOOL])
    admission.refuse_sampling(SimpleNamespace(logit_bias={1: -100.0, 2: 3.5}), spec)
    with pytest.raises(VLLMValidationError, match="infinite"):
        admission.refuse_sampling(SimpleNamespace(logit_bias={1: 2.0, 2: bias}), spec)


@pytest.mark.parametrize(
    ("option", "value", "without_tools"),
    [
        ("thinking_token_budget", 5, True),
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
        admission.refuse_sampling(params, _spec([TOOL]))
    assert refused.value.parameter == option
    if without_tools:
        with pytest.raises(VLLMValidationError):
            admission.refuse_sampling(params, _spec([]))
    else:
        admission.refuse_sampling(params, _spec([]))
