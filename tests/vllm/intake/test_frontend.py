"""What is refused before generation, where vLLM takes requests in."""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from contextvars import Context
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from vllm import SamplingParams
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.scale_out.token_in_token_out.protocol import GenerateRequest
from vllm.exceptions import GracefulHTTPError, VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

import enforcer
from enforcer.errors import Busy
from enforcer.request import carrier, spec_text
from enforcer.request import spec as specs
from enforcer.request.spec import Spec
from enforcer.request.tools import ToolChoice
from enforcer.schema.bundling import Documents
from enforcer.vllm.config import names, settings
from enforcer.vllm.intake import checks, frontend
from enforcer.vllm.observe import metric_defs, metrics, request_context
from enforcer.vllm.server import bodies, reply_lengths, runtime, served_model
from tests import vocabularies
from tests.spec_cases import carried as spec_of
from tests.stock_tags import python_tag
from tests.support import asgi
from tests.support.cases import each_case

VOCABULARY = vocabularies.small()
TABLE = enforcer.Enforcer(VOCABULARY).table
TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
EXTRA: Any = enforcer.extra_body([TOOL], via=enforcer.Route.LOGITS_PROCESSOR)["vllm_xargs"]
WRONG = {"type": "function", "function": {"name": "late", "parameters": {"type": "float"}}}
OTHER = {"type": "function", "function": {"name": "other"}}
OPENING = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"
BEGUN = OPENING + "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0"


def ids(text: str) -> list[int]:
    return vocabularies.write(VOCABULARY, text)


@pytest.fixture(autouse=True)
def _vocabulary(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("vllm") is None:
        monkeypatch.setattr(runtime, "table_for", lambda *_: TABLE)


@pytest.fixture
def use(use: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Use settings, with workers of their own; the process's would keep the wrong engine."""

    def run(**words: str) -> None:
        use(**words)
        monkeypatch.setattr(runtime, "pool", cache(runtime.pool.__wrapped__))

    return run


def carried(tools: Sequence[dict[str, Any]] = (TOOL,), **options: Any) -> str:
    return str(enforcer.extra_body(list(tools), **options)["structured_outputs"]["structural_tag"])


def parameters(tag: str | None = None, **more: Any) -> SamplingParams:
    own = None if tag is None else StructuredOutputsParams(structural_tag=tag)
    return SamplingParams(structured_outputs=own, **more)


def validated(params: SamplingParams) -> SamplingParams:
    frontend.validate_structured_outputs(lambda *_: None, params, None, None, None)
    return params


@pytest.mark.slow
def test_a_clients_spec_is_given_what_the_server_has_settled(use: Any) -> None:
    use(max_calls="3", empty_turns="allow", engine="xgrammar")
    spec = spec_of(validated(parameters(carried())))
    own = settings.read({}).options
    options = replace(own, max_calls=3, allow_empty_turns=True, identical_calls=None)
    assert spec.settled == specs.Settled("kimi_k2", "xgrammar", options)


def test_a_refusals_line_names_the_request_and_the_tool(lines: Any) -> None:
    """By each door: where only the client has named it, and where vLLM has."""
    body = completion(carried([TOOL, WRONG]), request_id="order-7")
    with pytest.raises(VLLMValidationError):
        rendering(body, [])
    params = SamplingParams(structured_outputs=body.structured_outputs)
    with pytest.raises(VLLMValidationError):
        asyncio.run(frontend.add_request(nothing, SimpleNamespace(), "cmpl-8", None, params))
    assert [line.partition(" request=")[2] for line in lines() if "refused" in line] == [
        '"order-7" tool="late"',
        '"cmpl-8" tool="late"',
    ]


@each_case
def test_a_client_cannot_claim_other_settings(use: Any, here: dict[str, str], differs: str) -> None:
    """Nor may a server that renders for this one have others; the answer says which."""
    params = validated(parameters(carried()))
    use(**here)
    with pytest.raises(VLLMValidationError, match=f"{differs}: clients leave `settled` out"):
        validated(params)


@each_case
def test_a_clients_wish_is_granted_where_the_server_allows_it(
    use: Any, here: dict[str, str], option: str, value: bool | str, word: str
) -> None:
    wish: dict[str, Any] = {option: value}
    tag = carried(**wish)
    use(**here)
    with pytest.raises(VLLMValidationError, match=option):
        validated(parameters(tag))
    use(**here, allow_client=word)
    options = spec_of(validated(parameters(tag))).settled.options
    granted = getattr(options.conventions if here else options, option)
    assert getattr(granted, "value", granted) == value


CITY = "https://schemas.example.com/city"


def test_what_a_request_refers_to_travels_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    provided = Documents({CITY: {"const": "Rome"}})
    monkeypatch.setattr(runtime, "documents", lambda: provided)
    schema = {"type": "object", "properties": {"a": {"$ref": CITY}}}
    tool = {"type": "function", "function": {"name": "get", "parameters": schema}}
    params = validated(parameters(carried([tool])))
    tag = params.structured_outputs.structural_tag
    monkeypatch.setattr(runtime, "documents", None)  # of another host, which asks for none
    assert json.loads(spec_of(params).toolset.tools["get"].schema)["$defs"][CITY]["const"] == "Rome"
    assert validated(params).structured_outputs.structural_tag == tag
    enforcer.Enforcer(VOCABULARY).check(spec_of(params))


def test_a_reference_to_no_document_is_a_400_with_its_path(use: Any, monkeypatch: Any) -> None:
    provided = Documents({CITY: {"const": "Rome"}, f"{CITY}/more": {"$comment": "x" * 3_000}})
    monkeypatch.setattr(runtime, "documents", lambda: provided)
    function: dict[str, Any] = {"name": "get", "parameters": {"$ref": f"{CITY}/x"}}
    tool = {"type": "function", "function": function}
    with pytest.raises(VLLMValidationError, match=r"leads out.*\$\.tools\[0\].*parameters\.\$ref"):
        validated(parameters(carried([tool])))
    use(limits="size=1000")
    function["parameters"]["$ref"] = f"{CITY}/more"
    with pytest.raises(VLLMValidationError, match=r"over 1000 characters.*\$\.tools\[0\]"):
        validated(parameters(carried([tool])))


def test_more_tools_than_an_engine_tells_apart_in_a_step_are_a_400(use: Any) -> None:
    use(limits="tools=2")
    tools = [{"type": "function", "function": {"name": name}} for name in "abc"]
    with pytest.raises(VLLMValidationError, match=r"3 tools, over 2.*fewer.*\$\.tools"):
        validated(parameters(carried(tools)))
    validated(parameters(carried(tools[:2])))


@each_case
def test_no_room_for_a_check_is_a_503(
    monkeypatch: pytest.MonkeyPatch, lines: Any, more: dict[str, Any], said: str
) -> None:
    request_context.read_header({})
    monkeypatch.setattr(checks, "run", Mock(side_effect=Busy("send it again", **more)))
    with pytest.raises(GracefulHTTPError, match="send it again") as refused:
        validated(parameters(carried()))
    assert refused.value.http_status == 503
    assert lines() == [f"enforcer: busy {said}"]


class Model:
    """As much of vLLM's configuration of a model as the wrappers see."""

    max_model_len = 4096
    generation_config = "auto"
    skip_tokenizer_init = False

    def __init__(self, *logits_processors: str, **overridden: int) -> None:
        self.logits_processors = list(logits_processors)
        self.override_generation_config = overridden

    def get_diff_sampling_param(self) -> dict[str, int]:
        return {}


class Processor:
    """As much of vLLM's input processor as the wrapper sees."""

    tokenizer = None

    def __init__(self, *logits_processors: str) -> None:
        self.model_config = Model(*logits_processors)
        self.vllm_config = SimpleNamespace(
            use_v2_model_runner=False, model_config=self.model_config
        )

    def process(
        self, prompt: list[int], params: SamplingParams, *, resumable: bool = False, name: str = "r"
    ) -> Any:
        def original(_self: object, request_id: str, ids: list[int], own: Any, **_: Any) -> Any:
            taken = {"request_id": request_id, "sampling_params": own, "prompt_token_ids": ids}
            return SimpleNamespace(**taken, resumable=resumable)

        return frontend.process_inputs(original, self, name, prompt, params)


async def nothing(*_: object) -> list[Any]:
    """Stand for vLLM's function that a wrapper calls."""
    return []


# As much of vLLM's renderer as the wrapper sees.
RENDERER = SimpleNamespace(tokenizer=None)


@pytest.mark.parametrize("text", [OPENING, BEGUN, "Hi", OPENING + "<think>"])
def test_a_prompt_that_the_tools_allow_passes(text: str) -> None:
    assert Processor().process(ids(text), parameters(carried())).prompt_token_ids == ids(text)


def test_a_stop_id_that_can_stand_inside_a_call_is_refused_beside_a_spec() -> None:
    with pytest.raises(VLLMValidationError, match="half a call"):
        validated(parameters(carried(), stop_token_ids=ids("{")))


@pytest.mark.parametrize(
    ("parser", "as_text"),
    [(None, False), ("kimi_k2_enforced", False), ("kimi_k2", False), ("xlam", True)],
)
def test_the_engine_is_told_that_a_parser_of_an_unknown_format_reads_the_reply(
    monkeypatch: pytest.MonkeyPatch, parser: str | None, *, as_text: bool
) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, "")
    served_model.tell(parser)
    settled = spec_of(validated(parameters(carried()))).settled
    assert settled is not None
    assert settled.as_text == as_text


@pytest.mark.parametrize("tools", [(), (OTHER,)])
def test_a_prompt_that_begins_illegal_calls_is_refused(tools: tuple[dict[str, Any], ...]) -> None:
    request_context.read_header({})  # no chat request has come before in this task
    with pytest.raises(VLLMValidationError, match=r"IllegalPrefix.*prompt_token_ids"):
        Processor().process(ids(BEGUN), parameters(carried(tools)))


def test_a_prompt_is_looked_at_for_each_spec_of_the_logits_processor() -> None:
    request_context.read_header({})
    prompt = ids(BEGUN)
    processor = Processor(names.PROCESSOR_NAME)
    for tools, allows in ((TOOL, True), (OTHER, False)):
        extra = enforcer.extra_body([tools], via=enforcer.Route.LOGITS_PROCESSOR)["vllm_xargs"]
        with nullcontext() if allows else pytest.raises(VLLMValidationError, match="IllegalPrefix"):
            processor.process(prompt, SamplingParams(extra_args=extra))


def test_a_prompt_that_its_program_goes_on_with_is_looked_at_again() -> None:
    request_context.read_header({})
    prompt, params = ids(OPENING), parameters(carried((OTHER,)))
    Processor().process(prompt, params)
    prompt += ids(BEGUN.removeprefix(OPENING))
    with pytest.raises(VLLMValidationError, match="IllegalPrefix"):
        Processor().process(prompt, params)


@pytest.mark.parametrize("stop", [[], ["STOP"]])
def test_a_text_with_stop_strings_has_no_spaces_that_no_token_spells(stop: list[str]) -> None:
    """By its length a reply is read; a body of /v1/responses cannot say so."""
    made = Processor().process(ids(OPENING), parameters(carried(), stop=stop))
    assert made.sampling_params.spaces_between_special_tokens is not bool(stop)


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (["weather", "weather"], {}, "declared twice"),
        (["get weather!"], {}, "InvalidTools"),
        (["weather"], {"min_tokens": 3}, "min_tokens"),
        (["weather"], {"stop_token_ids": ids("a")}, "half a call"),
    ],
)
def test_an_impossible_vllm_tag_is_a_400(names: list[str], more: dict[str, Any], said: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    tag = python_tag({"tools": tools, "tool_choice": "required"}, "auto")
    params = SamplingParams(structured_outputs=StructuredOutputsParams(structural_tag=tag), **more)
    with pytest.raises(VLLMValidationError, match=said):
        Processor().process(ids(OPENING), params)


def test_vllms_own_tags_pass_as_they_are() -> None:
    tag = python_tag({"tools": [TOOL], "tool_choice": "required"}, "auto")
    for text in (tag, '{"type": "structural_tag"}', "no tag"):
        wanted = StructuredOutputsParams(structural_tag=text)
        made = Processor().process(ids(OPENING), SamplingParams(structured_outputs=wanted))
        assert made.sampling_params.structured_outputs.structural_tag == text


def test_streamed_input_is_refused() -> None:
    with pytest.raises(VLLMValidationError, match="send whole requests"):
        Processor().process(ids(OPENING), parameters(carried()), resumable=True)
    assert Processor().process(ids(OPENING), parameters(), resumable=True)


def test_a_spec_that_nothing_would_read_is_refused() -> None:
    with pytest.raises(VLLMValidationError, match="would be ignored here"):
        Processor("other:LogitsProcessor").process(ids(OPENING), parameters(extra_args=EXTRA))
    named = "enforcer.vllm.logits_processor:EnforcerLogitsProcessor"
    assert Processor(named).process(ids(OPENING), parameters(extra_args=EXTRA))
    word = {carrier.KEY: "off"}
    assert Processor().process(ids(OPENING), parameters(extra_args=word))
    body = {"token_ids": [5], "sampling_params": {"extra_args": EXTRA}}
    with pytest.raises(VLLMValidationError, match="would be ignored here"):
        rendering(GenerateRequest.model_validate(body), [{"prompt_token_ids": [5]}])


def test_what_the_engine_would_refuse_to_serve_unenforced_is_a_400_before(use: Any) -> None:
    assert Processor().process(ids("Hi"), parameters())
    use(require="on")
    with pytest.raises(VLLMValidationError, match="enforced requests only"):
        Processor().process(ids("Hi"), parameters())
    assert Processor().process(ids("Hi"), parameters(carried(())))


@pytest.mark.parametrize("by_http", [False, True])
def test_a_completion_is_excepted_by_its_route_and_not_by_its_id(use: Any, by_http: bool) -> None:
    """By /v1/responses the body's `request_id` is vLLM's."""
    use(require="on", require_except="completions")

    async def prepare(body: Any) -> None:
        body.vllm_xargs = None
        server = SimpleNamespace(model_config=Model(), renderer=RENDERER)
        await frontend.rendered(nothing, server, body)

    async def route(scope: Any, *_: object) -> None:
        # As vLLM does: in a task of its own, and what streams is generated outside of it.
        preparing = prepare(scope["body"])
        await (asyncio.create_task(preparing) if by_http else preparing)
        Processor().process(ids("Hi"), parameters(), name="cmpl-1")

    def ask(body: Any) -> None:
        app = bodies.RequestMiddleware(route) if by_http else route
        Context().run(asgi.run, app, body=body)

    ask(CompletionRequest(prompt="Hi"))
    with pytest.raises(VLLMValidationError, match="enforced requests only"):
        ask(SimpleNamespace(request_id="cmpl-1", model_fields_set={"request_id"}))


def test_requests_are_checked_without_blocking_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    async def check(spec: Spec) -> list[Any]:
        await asyncio.sleep(0)
        seen.append(spec)
        return []

    monkeypatch.setattr(checks, "run_async", check)

    async def original(*_: object) -> int:
        return len(seen)

    added = partial(frontend.add_request, original)
    assert asyncio.run(added(None, "r", ids(OPENING), parameters(carried()))) == 1
    assert asyncio.run(added(None, "r", ids(OPENING), parameters())) == 1


def rendering(request: Any, prompts: Any, model: Model | None = None) -> Any:
    async def original(*_: object) -> Any:
        return prompts

    own = SimpleNamespace(model_config=model or Model(), renderer=RENDERER)
    return asyncio.run(frontend.rendered(original, own, request))


def completion(tag: str, **more: Any) -> CompletionRequest:
    own = StructuredOutputsParams(structural_tag=tag)
    return CompletionRequest(prompt="Hi", structured_outputs=own, **more)


def test_every_prompt_of_a_completion_is_looked_at() -> None:
    good, bad = ({"prompt_token_ids": ids(text)} for text in (OPENING, BEGUN))
    request = completion(carried(()))
    assert rendering(request, [good, good]) == [good, good]
    assert spec_of(request).settled is not None
    with pytest.raises(VLLMValidationError, match="IllegalPrefix"):
        rendering(completion(carried(())), [good, bad])
    with pytest.raises(VLLMValidationError, match="IllegalPrefix"):
        rendering(completion(carried(())), (["dialog"], [bad]))


def test_a_format_that_vllm_would_put_in_the_place_of_a_spec_is_refused() -> None:
    prompts = [{"prompt_token_ids": ids(OPENING)}]
    tag = {"type": "structural_tag", "format": {"type": "any_text"}}
    with pytest.raises(VLLMValidationError, match="cannot be combined") as refused:
        rendering(completion(carried(), response_format=tag), prompts)
    assert refused.value.parameter == "response_format"
    with pytest.raises(VLLMValidationError, match="only use one kind"):  # vLLM's own words
        rendering(completion(carried(), response_format={"type": "json_object"}), prompts)
    assert rendering(completion(carried(), response_format={"type": "text"}), prompts) == prompts


def test_what_streams_is_refused_before_its_reply_begins(use: Any) -> None:
    """Where only the engine's side was asked, it had been answered with HTTP 200."""
    prompts = [{"prompt_token_ids": ids(OPENING)}]
    with pytest.raises(VLLMValidationError, match="half a call"):
        rendering(completion(carried(), stop_token_ids=[5], stream=True), prompts)
    rendering(CompletionRequest(prompt="Hi", stream=True), prompts)
    use(require="on")
    with pytest.raises(VLLMValidationError, match="enforced requests only"):
        rendering(CompletionRequest(prompt="Hi", stream=True), prompts)
    rendering(completion(carried(), stream=True), prompts)


def test_an_accepted_request_is_counted_once(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []

    def count(family: object, *labels: object) -> None:
        counted.extend(labels if family is metric_defs.REQUESTS else ())

    monkeypatch.setattr(metrics, "count", count)
    monkeypatch.setattr(metrics, "relaxed", lambda how, _: counted.append(how.value))
    use(on_unsupported="isolate")
    request = completion(carried([TOOL, WRONG]), max_tokens=9)
    prompts = [{"prompt_token_ids": ids(OPENING)}] * 3
    rendering(request, prompts)
    params = request.to_sampling_params(9, {})
    for each in prompts:
        Processor().process(each["prompt_token_ids"], validated(params))
    assert counted == ["isolated", *[ToolChoice.AUTO] * 3]
    del counted[:]
    with pytest.raises(VLLMValidationError, match="IllegalPrefix"):
        Processor().process(ids(BEGUN), validated(parameters(carried(()))))
    assert counted == []


def of_tokens(tag: str, **more: Any) -> GenerateRequest:
    params = {"structured_outputs": {"structural_tag": tag}, **more}
    return GenerateRequest.model_validate({"token_ids": ids(OPENING), "sampling_params": params})


@pytest.mark.parametrize(
    ("tag", "more", "text", "said"),
    [
        (carried(()), {}, BEGUN, "IllegalPrefix"),
        (carried(), {"stop_token_ids": [5]}, OPENING, "half a call"),
        (carried(), {"min_tokens": 2, "max_tokens": 9}, OPENING, "min_tokens"),
        (carried(), {"trace_decode_token_ids": [5]}, OPENING, "trace_decode_token_ids"),
        (carried([WRONG]), {}, OPENING, r"InvalidSchema.*parameters\.type"),
    ],
)
def test_token_id_bodies_are_refused(tag: str, more: dict[str, Any], text: str, said: str) -> None:
    """What streams has been answered with HTTP 200 by the time that an engine is asked."""
    with pytest.raises(VLLMValidationError, match=said):
        rendering(of_tokens(tag, **more), [{"prompt_token_ids": ids(text)}])


@pytest.mark.parametrize("choice", ["required", "none"])
def test_a_spec_is_refused_at_every_door_of_a_server_without_a_tokenizer(choice: str) -> None:
    """One that is started with --tokens-only, to which others render."""
    tag, processor = carried(tool_choice=choice), Processor()
    model, prompts = processor.model_config, [{"prompt_token_ids": ids(OPENING)}]
    model.skip_tokenizer_init = True
    rendering(of_tokens("{}"), prompts, model)
    refused = partial(pytest.raises, VLLMValidationError)
    with refused(match=r"loads no tokenizer.*enable-scale-out"):
        rendering(of_tokens(tag), prompts, model)
    with refused(match="loads no tokenizer"):
        frontend.validate_structured_outputs(lambda *_: None, parameters(tag), model, None, None)
    if choice == "none":
        with refused(match="loads no tokenizer"):
            processor.process(ids(OPENING), parameters(tag))
    with refused(match="loads no tokenizer"):
        adding = frontend.add_request(nothing, processor, "r", ids(OPENING), parameters(tag))
        asyncio.run(adding)


@pytest.fixture
def tried_out(monkeypatch: pytest.MonkeyPatch, use: Any) -> list[tuple[Any, ...]]:
    """Give the list of beginnings that somebody asks for."""
    found: list[tuple[Any, ...]] = []

    def beginning(*asked: Any) -> Iterator[Any]:
        found.append(asked)
        yield from ()

    use(allow_client="finish")
    monkeypatch.setattr(checks, "beginning", beginning)
    return found


ROOM = 4096 - len(ids(OPENING))


@each_case
def test_a_turn_is_tried_out_with_the_ids_that_the_server_will_allow_it(
    tried_out: list[Any], route: str, most: dict[str, Any], bound: dict[str, int], budget: int
) -> None:
    make: Any = {"completion": completion, "token ids": of_tokens}[route]
    asked = make(carried(finish_within_budget=True), **most)
    rendering(asked, [{"prompt_token_ids": ids(OPENING)}], Model(**bound))
    assert [asked[3] for asked in tried_out] == [budget or ROOM]


def test_whoever_reads_a_reply_knows_how_many_ids_it_may_have() -> None:
    """The model's length may end it, or what the operator allows, and not the client's number."""
    for model, most in ((Model(), ROOM), (Model(max_new_tokens=25), 25)):
        own = StructuredOutputsParams(structural_tag=carried())
        request = ChatCompletionRequest(model="m", messages=[], structured_outputs=own)
        rendering(request, (["dialog"], [{"prompt_token_ids": ids(OPENING)}]), model)
        assert reply_lengths.most(request) == most


def test_a_turn_is_tried_once_whatever_doors_it_passes(tried_out: list[tuple[Any, ...]]) -> None:
    """The second time it is the same question, whose answer is remembered."""
    prompt = {"prompt_token_ids": ids(OPENING)}
    params = parameters(carried(finish_within_budget=True), max_tokens=5)
    server = SimpleNamespace(model_config=Model(), tokenizer=None)

    async def original(_: object, name: str, given: Any, params: Any) -> Any:
        return Processor().process(given["prompt_token_ids"], validated(params), name=name)

    asyncio.run(frontend.add_request(original, server, "generate-tokens-1", prompt, params))
    added, processed = tried_out
    assert added == processed
    assert added[3] == 5
    # Offline, and where a prompt comes as text, nobody has asked before.
    del tried_out[:]
    Processor().process(ids(OPENING), params)
    assert tried_out == [processed]


def test_a_large_request_is_not_read_and_checked_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of some milliseconds each, between which the streams of others go on."""
    turns: dict[int, int] = {}
    rounds = 0

    def schemas(spec: Spec) -> Generator[Any, Any, list[Any]]:
        turns[len(spec.toolset.tools["f"].schema)] = rounds
        yield from ()
        return []

    async def others() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def both() -> None:
        nonlocal rounds
        beside = asyncio.ensure_future(others())
        await asyncio.sleep(0)
        for length in (10, 300_000):
            rounds = 0
            schema = {"description": "x" * length}
            tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
            request = completion(carrier.structural_tag(spec_text.write([tool], "auto", True, 0)))
            await frontend.rendered(nothing, own, request)
        beside.cancel()

    own = SimpleNamespace(model_config=Model(), renderer=RENDERER)
    monkeypatch.setattr(checks, "schemas", schemas)
    asyncio.run(both())
    small, large = turns.values()
    assert small == 0
    assert large > 1
