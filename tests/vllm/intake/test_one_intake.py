"""A request's spec on its way through vLLM's own objects: read once a process, and not forged."""

import asyncio
import copy
import gc
import json
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.scale_out.token_in_token_out.protocol import GenerateRequest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams

from enforcer import Enforcer, extra_body
from enforcer.errors import RequestError
from enforcer.request import carrier, json_text, response_format, spec_text, tools
from enforcer.schema.reading.plain import is_plain, is_quick
from enforcer.vllm.engine import backend
from enforcer.vllm.intake import admission, checks, requests, sampling_options, settling
from enforcer.vllm.observe.stats import Recorder
from tests import vllm_managers
from tests.vllm.way_in import USER, Server

pytestmark = pytest.mark.usefixtures("installed")

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "f", "schema": {"type": "string"}}}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA | more}}


@pytest.fixture(scope="module")
def server(tokenizer: Any) -> Server:
    return Server(vllm_managers.manager(tokenizer, len(tokenizer)))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is decoded and encoded of specs, tools and formats."""
    found: Counter[str] = Counter()

    def counting(name: str, does: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            found[name] += 1
            return does(*args)

        return counted

    for name, module in (("spec", spec_text), ("tools", tools), ("format", response_format)):
        decoder = SimpleNamespace(decode=counting(name, module._DECODER.decode))
        monkeypatch.setattr(module, "_DECODER", decoder)
    monkeypatch.setattr(tools, "dump", counting("schemas written", json_text.dump))
    monkeypatch.setattr(checks, "is_plain", counting("schemas looked at", is_plain))
    monkeypatch.setattr(tools, "is_quick", counting("quick or slow", is_quick))
    return found


@contextmanager
def another_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep nothing of what this process has read, as the engine's has read nothing of it."""
    with monkeypatch.context() as patch:
        patch.setattr(settling, "_known", type(settling._known)(1 << 20))
        patch.setattr(tools, "_sets", type(tools._sets)(1 << 20))
        yield


def test_a_process_reads_a_request_once(
    server: Server, counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = [tool(f"once{at}", title=f"{at}") for at in range(5)]
    sent = server.processed(*server.chat(tools=declared, response_format=FORMAT))
    assert counts == {"tools": 1, "format": 1, "schemas looked at": 6}
    counts.clear()
    with another_process(monkeypatch):
        server.begun(sent)
        assert counts == {"spec": 1, "tools": 1, "format": 1, "quick or slow": 5}
        counts.clear()
        server.begun(sent)
        assert counts == {}


def test_turns_of_a_spec_share_an_envelope(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = [tool("shared", title="shared")]
    sent = server.processed(*server.chat(tools=declared))
    first = server.begun(sent)
    with monkeypatch.context() as patch:
        for made in ("prepare", "_envelope"):
            patch.setattr(Enforcer, made, None)  # nobody calls it
        patch.setattr(Recorder, "set", None)  # nor is anything published that is as it was
        patch.setattr(backend, "monotonic", float)  # and not due
        second = server.begun(sent)
    assert second is not first
    assert second.matcher.envelope is first.matcher.envelope


@pytest.mark.slow
def test_what_is_compiled_before_a_turn_stays_the_caches_to_drop(server: Server) -> None:
    declared = [tool("dropped", title="dropped")]
    sent = server.processed(*server.chat(tools=declared, response_format=FORMAT))
    first, second = server.begun(sent), server.begun(sent)
    kept = weakref.ref(first.matcher.envelope)
    assert second.matcher.envelope is not kept()
    del first
    gc.collect()
    assert kept() is None


def test_the_next_turn_of_a_dialog_reads_no_tools(
    server: Server, counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = [tool("again", title="again")]
    first = server.processed(*server.chat(tools=declared))
    counts.clear()
    call = {"id": "x", "type": "function", "function": {"name": "again", "arguments": "{}"}}
    dialog = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "21"},
    ]
    second = server.processed(*server.chat(USER, *dialog, tools=declared))
    assert first != second
    assert counts == {"format": 1}
    with another_process(monkeypatch):
        server.begun(first)
        counts.clear()
        server.begun(second)
    assert counts == {"spec": 1, "format": 1}


def test_a_clients_spec_is_read_once_by_each_process(
    server: Server, counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = extra_body([tool("brought", title="brought")])
    counts.clear()
    sent = server.processed(*server.completion(**body))
    assert counts == {"spec": 1, "format": 1, "schemas looked at": 1}
    with another_process(monkeypatch):
        counts.clear()
        server.begun(sent)
    assert counts == {"spec": 1, "tools": 1, "format": 1, "quick or slow": 1}


@pytest.mark.parametrize("by_chat", [True, False])
def test_a_request_is_admitted_once_and_its_options_are_asked_of_body_and_parameters(
    server: Server, monkeypatch: pytest.MonkeyPatch, *, by_chat: bool
) -> None:
    """vLLM hands on the object beside which the admission is, from the body to the parameters."""
    asked = Mock()
    for module, name in (
        *((settling, "settle"), (sampling_options, "reject")),
        *((checks, "schemas"), (admission, "reject_prefix")),
    ):
        asked.attach_mock(noted := Mock(side_effect=getattr(module, name)), name)
        monkeypatch.setattr(module, name, noted)
    declared = [tool("admitted", title=f"{by_chat}")]
    made = server.chat(tools=declared) if by_chat else server.completion(**extra_body(declared))
    server.processed(*made)
    names = [name for name, *_ in asked.mock_calls]
    assert names == ["settle", "reject", "schemas", "reject_prefix", "reject"]


def test_an_admission_holds_for_no_other_text(server: Server) -> None:
    """Where the text beside the tag is another one, it is read and compared anew."""
    prompt, params = server.chat(tools=[tool("first", title="held")])
    text = params.extra_args[carrier.BESIDE]
    params.extra_args[carrier.BESIDE] = text.replace("first", "other")
    with pytest.raises(VLLMValidationError, match="not the text that the structural tag was made"):
        server.processed(prompt, params)
    params.extra_args[carrier.BESIDE] = text
    assert server.processed(prompt, params)


def test_parameters_that_share_a_constraint_each_get_the_spec(server: Server) -> None:
    """A program may copy its sampling parameters, and send both at once."""
    prompt, _ = server.chat(tools=[tool("any", title="shared")])
    spec = extra_body([tool("shared", title="constraint")])["structured_outputs"]
    one = SamplingParams(structured_outputs=StructuredOutputsParams(**spec))
    other = copy.copy(one)
    inputs = server._inputs
    admitted = [
        admission.admit(each, carrier.find(each), inputs.get_tokenizer(), inputs.model_config)
        for each in (one, other)
    ]
    assert admitted[0] is admitted[1]
    for params in (one, other):
        checks.run(admitted[0].check_schemas(params))
    assert carrier.find(one) == carrier.find(other)
    assert server.processed(prompt, one)
    assert server.processed(prompt, other)


def test_what_travels_has_the_text_once(server: Server) -> None:
    mark = "here it is"
    sent = server.processed(*server.chat(tools=[tool("travels", title=mark)]))
    assert sent.count(mark.encode()) == 1


@pytest.mark.parametrize("said", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"'])
def test_what_python_reads_and_json_has_not_is_named_where_it_stands(said: str) -> None:
    """msgspec writes such numbers as null; tools with a null there may have been read before."""
    for value in ("null", said):
        fields = json.loads(json.dumps(tool("odd", const="HERE")).replace('"HERE"', value))
        request = ChatCompletionRequest(model="m", messages=[USER], tools=[fields])
        if value == "null":
            assert requests.take_in(request, None)
            continue
        with pytest.raises(VLLMValidationError, match=r"not JSON.*function\.parameters"):
            requests.take_in(request, None)


@pytest.mark.parametrize("beside", [{}, {"default": None}])
def test_numbers_of_any_length_travel_as_they_are(server: Server, beside: dict[str, Any]) -> None:
    """A text with a null is looked at once more, in a form that has no such numbers."""
    prompt, params = server.chat(tools=[tool("long", maximum=10**30, **beside)])
    assert f'"maximum":{10**30}' in params.extra_args[carrier.BESIDE]
    server.begun(server.processed(prompt, params))


def enveloped(*names: str) -> tuple[str, str]:
    """Return a spec's text as it travels, and its digest."""
    wire = spec_text.wire([tool(name) for name in names], "required", True, 0)
    intake = settling.settle(wire, None)
    return intake.text, intake.digest


def begun(server: Server, digest: str, extra: dict[str, Any]) -> Any:
    """Begin a turn in the engine of parameters that carry this."""
    tag = StructuredOutputsParams(structural_tag=carrier.structural_tag(digest))
    asked = vllm_managers.bare("r", [], tag)
    asked.sampling_params.extra_args = extra
    server.manager.grammar_init(asked)
    return asked.structured_output_request._grammar.result(60)


def test_a_text_that_has_lost_its_tag_is_refused_on_its_way_in(server: Server) -> None:
    text, _ = enveloped("get")
    prompt, params = server.completion()
    params.extra_args = {carrier.BESIDE: text}
    for send in (
        lambda: server.completion(vllm_xargs=params.extra_args),
        lambda: server.processed(prompt, params),
    ):
        with pytest.raises(VLLMValidationError, match="came without its structural tag"):
            send()


def changed(text: str, **fields: Any) -> str:
    return msgspec.json.encode(msgspec.json.decode(text) | fields).decode()


def honest(text: str) -> tuple[str, str]:
    return text, carrier.digest_of(text)


def settled(**fields: Any) -> tuple[str, str]:
    text, _ = enveloped("get")
    return honest(changed(text, settled=msgspec.json.decode(text)["settled"] | fields))


def attacks() -> dict[str, Callable[[], tuple[Any, str]]]:
    """Return pairs of what may stand beside a tag, and the digest in it."""

    def beside(make: Callable[[str], Any]) -> Callable[[], tuple[Any, str]]:
        def made() -> tuple[Any, str]:
            text, digest = enveloped("get")
            return make(text), digest

        return made

    return {
        "no text": beside(lambda _: None),
        "another's text": lambda: (enveloped("get")[0], enveloped("other")[1]),
        "a changed text": beside(lambda text: text.replace("integer", "x")),
        "bytes": beside(str.encode),
        "a number": beside(lambda _: 7),
        "a digest that is none": lambda: (enveloped("get")[0], "sha256:"),
        "no spec": lambda: honest("{}"),
        "no JSON": lambda: honest("{"),
        "a nested text": lambda: honest('{"version":3,"tools":' + "[" * 100_000),
        "an old form": lambda: honest(changed(enveloped("get")[0], version=2)),
        "another engine": lambda: settled(engine="xgrammar"),
        "other options": lambda: settled(options={"max_calls": 9}),
        "no options": lambda: settled(options={"max_calls": 0}),
        "huge": lambda: honest(enveloped("get")[0].replace('"integer"', f'"{"x" * 8_000_000}"')),
    }


@pytest.mark.parametrize("attack", attacks())
def test_an_envelope_that_is_not_as_a_server_makes_it_is_refused(
    server: Server, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the API server, whatever the route; and by an engine behind another front end."""
    text, digest = attacks()[attack]()
    tag = {"structural_tag": carrier.structural_tag(digest)}
    extra = {} if text is None else {carrier.BESIDE: text}
    if not isinstance(text, bytes):
        with pytest.raises(VLLMValidationError):
            server.completion(structured_outputs=tag, vllm_xargs=extra)
        token_ids = {"structured_outputs": tag, "extra_args": extra}
        body = GenerateRequest.model_validate({"token_ids": [5], "sampling_params": token_ids})
        with pytest.raises(VLLMValidationError):
            asyncio.run(server.renderer.preprocess_completion(body, [[5]], None))
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")  # where nothing counts as settled
    with pytest.raises((RequestError, VLLMValidationError)):
        begun(server, digest, extra)


@pytest.mark.parametrize("attack", ["no text", "another's text", "a changed text", "an old form"])
def test_an_engine_behind_our_front_end_reads_no_other_text(server: Server, attack: str) -> None:
    text, digest = attacks()[attack]()
    asked = vllm_managers.bare("r", [], StructuredOutputsParams(structural_tag="-"))
    carrier.put(asked.sampling_params, text, digest)
    server.manager.grammar_init(asked)
    with pytest.raises(RequestError):
        asked.structured_output_request._grammar.result(60)


def test_what_one_server_has_rendered_another_generates(server: Server, monkeypatch: Any) -> None:
    """Through JSON, and read anew where nothing is known of it."""
    prompt, params = server.chat(tools=[tool("rendered", title="rendered")])
    body = GenerateRequest(token_ids=prompt["prompt_token_ids"], sampling_params=params)
    text = body.model_dump_json()
    with another_process(monkeypatch):
        received = GenerateRequest.model_validate_json(text)
        ids = received.token_ids
        (again,) = asyncio.run(server.renderer.preprocess_completion(received, [ids], None))
        assert carrier.find(received.sampling_params) == carrier.find(params)
        grammar = server.begun(server.processed(again, received.sampling_params))
    assert grammar.matcher.state == "START"


def test_tools_of_messages_stand_behind_those_of_the_request(server: Server) -> None:
    says = {"role": "system", "content": "", "tools": [tool("said", title="said")]}
    _, params = server.chat(says, USER, tools=[tool("first"), tool("second")])
    spec = spec_text.read(carrier.find(params).text)
    assert [*spec.toolset.tools] == ["first", "second", "said"]


def test_a_prompt_of_a_request_without_tools_is_rendered(server: Server) -> None:
    """Those of vLLM's structured decisions have no such field."""
    protocol = pytest.importorskip("vllm.entrypoints.generate.structured_decisions.protocol")
    asked = protocol.ReadPromptRequest()
    rendered = server.renderer.preprocess_chat(asked, [USER], None, "auto", None)
    _, (prompt,) = asyncio.run(rendered)
    assert prompt["prompt_token_ids"]


def test_the_responses_api_brings_the_same_spec(server: Server) -> None:
    function = tool("flat")["function"]
    request = ResponsesRequest(input=[USER], tools=[{"type": "function", **function}])
    asyncio.run(server.renderer.render_responses(request))
    _, params = server.chat(tools=[tool("flat")])
    assert carrier.find(request.to_sampling_params(64, {})) == carrier.find(params)
