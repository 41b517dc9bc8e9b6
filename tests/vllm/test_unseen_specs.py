"""Specs that come into the engine by a front end that checks nothing, as vLLM's Rust one."""

from typing import Any

import pytest
from vllm.exceptions import VLLMValidationError

import enforcer
from enforcer.errors import RequestError
from enforcer.request import carrier
from enforcer.vllm.intake import settling
from enforcer.vllm.observe.metric_defs import Failure
from enforcer.vllm.server import runtime
from tests.stock_tags import tokenizer
from tests.vllm_managers import OPENED, begin
from tests.vocabularies import write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"type": "function", "function": {"name": "get", "parameters": NUMBER}}
SECTION = "<|tool_calls_section_begin|><|tool_call_begin|>"


@pytest.fixture
def _behind_rust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")


def tag(*tools: dict[str, Any], **more: Any) -> str:
    extra = enforcer.extra_body(list(tools), "required", **more)
    return str(extra["structured_outputs"]["structural_tag"])


TEXT = str(carrier.from_structural_tag(tag(TOOL)))


def settled() -> str:
    """Write the tag of TOOL as a server of these settings does."""
    return carrier.structural_tag(settling.admit(carrier.Carried(TEXT), tokenizer()).text)


OPTIONS: list[dict[str, Any]] = [
    *({"allowed_token_ids": [1]}, {"bad_words": ["get"]}, {"min_tokens": 3}),
    {"_bad_words_token_ids": [[1]]},  # all that the Rust front end sends of them
    *({"logit_bias": {1: -1e39}}, {"repetition_penalty": 1e-30}, {"stop_token_ids": [1]}),
]


@pytest.mark.parametrize("params", OPTIONS)
def test_options_that_do_not_go_with_a_spec_are_the_clients_doing(
    made: Any, failed: list[Any], params: dict[str, Any]
) -> None:
    # Left to the sampler, an id would come that the mask forbids: an operator's alert.
    with pytest.raises(VLLMValidationError):
        begin(made, tag(TOOL), **params)
    assert [why for why, *_ in failed] == [Failure.REFUSED]


FLOAT = {"type": "function", "function": {"name": "f", "parameters": {"type": "float"}}}


@pytest.mark.parametrize(
    ("text", "prompt", "error"),
    [
        (tag(FLOAT), OPENED, "InvalidSchema"),
        (tag(TOOL), f"{OPENED}{SECTION}functions.evil:0", "IllegalPrefix"),
        (tag(TOOL, on_unsupported="relax"), OPENED, "VLLMValidationError"),
    ],
)
def test_so_is_what_cannot_be_enforced(
    made: Any, failed: list[Any], text: str, prompt: str, error: str
) -> None:
    with pytest.raises((VLLMValidationError, RequestError)):
        begin(made, text, prompt)
    assert failed == [(Failure.REFUSED, "r", error)]


@pytest.mark.usefixtures("_behind_rust")
@pytest.mark.parametrize("params", OPTIONS)
def test_a_client_of_the_rust_front_end_settles_nothing(
    made: Any, failed: list[Any], params: dict[str, Any]
) -> None:
    mine = settled()
    with pytest.raises(VLLMValidationError):
        begin(made, mine, **params)
    with pytest.raises(VLLMValidationError, match="settled by a server with other settings"):
        begin(made, mine.replace("machine", "xgrammar"))
    with pytest.raises(VLLMValidationError, match="not a spec of form 3"):
        begin(made, carrier.structural_tag(TEXT.replace('"version"', '"vrsion"')))
    assert [why for why, *_ in failed] == [Failure.REFUSED] * 3
    assert begin(made, mine)


def test_a_spec_of_another_release_is_told(made: Any, failed: list[Any]) -> None:
    with pytest.raises(VLLMValidationError, match="engine 'engine-of-2027', and 'machine' here"):
        begin(made, settled().replace("machine", "engine-of-2027"))
    assert [why for why, *_ in failed] == [Failure.REFUSED]


def test_a_spec_that_fits_is_enforced(made: Any, failed: list[Any]) -> None:
    _assert_enforced(begin(made, tag(TOOL)))
    assert not failed


def _assert_enforced(grammar: Any) -> None:
    vocabulary = runtime.table_for(tokenizer()).vocabulary
    call = f"{SECTION}functions.get:0<|tool_call_argument_begin|>" + '{"n":1}<|tool_call_end|>'
    for text, legal in ((call, True), (call.replace("1}", '"1"}'), False)):
        ids = write(vocabulary, text)
        assert (grammar.validate_tokens(ids) == ids) is legal
