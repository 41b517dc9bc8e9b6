"""An engine that serves nothing unenforced, whoever asks it."""

from types import SimpleNamespace
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.scale_out.token_in_token_out.protocol import GenerateRequest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

from enforcer.client.body import Route, extra_body
from enforcer.errors import ConfigurationError
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import PROCESSOR_NAME
from enforcer.vllm.intake import required
from tests import vllm_managers
from tests.stock_tags import python_tag

TOOLS = [{"type": "function", "function": {"name": "f"}}]
EXTRA = extra_body(TOOLS, via=Route.LOGITS_PROCESSOR)["vllm_xargs"]
STOCK = '{"type": "structural_tag", "format": {"x": "<|tool_calls_section_begin|>"}}'


def take_in(
    params: SamplingParams | None, name: str = "chatcmpl-1", loaded: Any = None, *, v2: bool = False
) -> Any:
    own = SimpleNamespace(logits_processors=loaded)
    core = SimpleNamespace(vllm_config=SimpleNamespace(model_config=own, use_v2_model_runner=v2))
    request = SimpleNamespace(sampling_params=params, request_id=name)
    return required.preprocess_add_request(lambda _, request: request, core, request)


def structured(**own: Any) -> SamplingParams:
    return SamplingParams(structured_outputs=StructuredOutputsParams(**own))


UNENFORCED = [
    SamplingParams(),
    structured(regex="a+"),
    structured(structural_tag='{"type": "structural_tag", "format": {"type": "any_text"}}'),
    SamplingParams(extra_args=EXTRA),  # which nothing here reads
    SamplingParams(extra_args={"enforcer": "off"}),
]


@pytest.mark.parametrize("params", UNENFORCED)
def test_what_brings_nothing_to_enforce_is_refused(use: Any, params: SamplingParams) -> None:
    take_in(params)
    use(require="on")
    with pytest.raises(VLLMValidationError, match="enforced requests only"):
        take_in(params)


@pytest.mark.parametrize(
    ("params", "loaded"),
    [
        (SamplingParams(structured_outputs=vllm_managers.structured(TOOLS)), None),
        (SamplingParams(extra_args=EXTRA), [f"enforcer.vllm.logits_processor:{PROCESSOR_NAME}"]),
        (structured(structural_tag=STOCK), None),  # enforced, or refused where it is made ready
        (None, None),  # for embeddings, say
    ],
)
def test_what_is_enforced_is_served(use: Any, params: SamplingParams | None, loaded: Any) -> None:
    use(require="on")
    assert take_in(params, loaded=loaded).sampling_params is params


def test_a_tag_that_leaves_arguments_free_is_refused_with_their_tool(use: Any) -> None:
    tool = {"name": "get_weather", "parameters": {"type": "object"}}
    asked = {"tools": [{"type": "function", "function": tool}], "tool_choice": "required"}
    params = structured(structural_tag=python_tag(asked, "function"))
    take_in(params)
    use(require="on")
    with pytest.raises(VLLMValidationError, match=r"'get_weather' free.*strict: true"):
        take_in(params)
    use(require="on", require_except="structured")
    take_in(params)


CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
SPEC = extra_body(TOOLS)["structured_outputs"]
MODEL = SimpleNamespace(logits_processors=None)


HI = {"prompt": "Hi"}
MADE: Any = {"completion": CompletionRequest, "chat": ChatCompletionRequest}
MADE |= {"responses": ResponsesRequest, "ids": GenerateRequest, "other": SimpleNamespace}


@pytest.mark.parametrize(
    ("kind", "fields", "lacks"),
    [
        ("completion", HI, True),
        ("completion", HI | {"structured_outputs": {"regex": "a+"}}, True),
        ("completion", HI | {"response_format": {"type": "json_object"}}, True),
        ("completion", HI | {"structured_outputs": SPEC}, False),
        ("chat", CHAT, True),
        ("chat", CHAT | {"structured_outputs": SPEC}, False),
        ("responses", {"input": "Hi"}, True),
        ("responses", {"input": "Hi", "structured_outputs": SPEC}, False),
        ("ids", {"token_ids": [1], "sampling_params": SamplingParams()}, True),
        ("ids", {"token_ids": [1], "sampling_params": structured(**SPEC)}, False),
        ("other", {"model_fields_set": ()}, False),  # for embeddings, say, or to tokenize
    ],
)
def test_bodies_are_checked_early(use: Any, kind: str, fields: dict[str, Any], lacks: bool) -> None:
    """As far as one can tell there: what the engine would refuse, and nothing else."""
    body = MADE[kind](**fields)

    def missing(*, is_completion: bool = False) -> str | None:
        return required.unmet(body, MODEL, is_completion=is_completion)

    assert missing() is None
    use(require="on")
    assert (missing() is not None) == lacks
    assert (missing(is_completion=True) is not None) == lacks
    use(require="on", require_except="completions")
    assert (missing() is not None) == lacks
    assert missing(is_completion=True) is None


def test_nobody_may_switch_off_what_is_required() -> None:
    with pytest.raises(ConfigurationError, match="ALLOW_CLIENT"):
        settings.read({"ENFORCER_REQUIRE": "on", "ENFORCER_ALLOW_CLIENT": "finish,off"})
    settings.read({"ENFORCER_REQUIRE": "on", "ENFORCER_ALLOW_CLIENT": "finish"})


def test_the_operator_names_exceptions(use: Any) -> None:
    use(require="on", require_except="completions")
    take_in(SamplingParams(), "cmpl-1-0")
    take_in(SamplingParams(), "12_cmpl-1-0")  # one of several replies
    for name in ("chatcmpl-1", "0_chatcmpl-1", "resp_cmpl-1"):
        with pytest.raises(VLLMValidationError):
            take_in(structured(regex="a"), name)
    use(require="on", require_except="structured")
    take_in(structured(regex="a"), "chatcmpl-1")
    with pytest.raises(VLLMValidationError):
        take_in(SamplingParams(), "cmpl-1-0")


def test_what_ends_a_worker_is_refused_whoever_has_let_it_in() -> None:
    biased = SamplingParams(logit_bias=dict.fromkeys(range(2000), 1.0))
    assert take_in(biased).sampling_params is biased
    with pytest.raises(VLLMValidationError, match="logit_bias"):
        take_in(biased, v2=True)
    assert take_in(None, v2=True).sampling_params is None
