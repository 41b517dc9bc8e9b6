"""What /v1/responses says of a call that the end of its reply has cut."""

from functools import partial
from typing import Any

import pytest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest, ResponsesResponse
from vllm.entrypoints.openai.responses.streaming_events import (
    SimpleStreamingEventProcessor,
    split_delta,
)
from vllm.sampling_params import SamplingParams

import enforcer
from enforcer.vllm.config import names
from enforcer.vllm.replies import cut_calls
from enforcer.vllm.replies.tool_parser import EnforcedParser
from enforcer.vllm.server import runtime
from enforcer.vllm.server.side_table import notes
from tests import vocabularies

VOCABULARY = vocabularies.small()
TABLE = enforcer.Enforcer(VOCABULARY).table
PROMPT = vocabularies.write(VOCABULARY, "<|im_assistant|>assistant<|im_middle|>")
GET = {"type": "function", "name": "get", "parameters": {"type": "object"}}
PATCH = {"type": "custom", "name": "patch"}
SECTION = "<|tool_calls_section_begin|>"
END = "<|tool_calls_section_end|>"


CALL_END = "<|tool_call_end|>"


def half(header: str, arguments: str) -> str:
    """Spell a call without its end."""
    return f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>{arguments}"


def call(header: str, arguments: str) -> str:
    return half(header, arguments) + CALL_END


FIRST = call("functions.get:0", '{"a": 1}')
SECOND = call("functions.get:1", '{"b": 2}')


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> type[SimpleStreamingEventProcessor]:
    """Give vLLM's, patched as the plugin does, whether it is loaded or not."""
    monkeypatch.setattr(runtime, "table_for", lambda *_: TABLE)
    own = SimpleStreamingEventProcessor.close_current
    original = getattr(own, names.PATCHED, own)

    class Patched(SimpleStreamingEventProcessor):  # type: ignore[misc]
        def close_current(self, *args: Any) -> list[Any]:
            return cut_calls.close_current(original, self, *args)

    return Patched


def streamed(
    processor_type: type[Any], text: str, most: int | None = None, *, at_once: int = 1
) -> tuple[list[Any], list[Any]]:
    """Give the events that end something, and what the last event of the stream has.

    As vLLM's `_process_simple_streaming_events` goes through a reply.
    """
    ids = vocabularies.write(VOCABULARY, text)
    request = ResponsesRequest(input="Hi", tools=[GET, PATCH], tool_choice="required")
    notes(request).most_ids = len(ids) if most is None else most
    parser = EnforcedParser(None, request.tools)
    processor = processor_type(tools=request.tools)
    events = []
    chunks = [ids[at : at + at_once] for at in range(0, len(ids), at_once)]
    for at, chunk in enumerate(chunks):
        last = at == len(chunks) - 1
        delta = parser.parse_delta("", chunk, request, PROMPT, finished=last)
        for part in split_delta(delta) if delta else ():
            state, tool_call = processor.resolve_target_state(part)
            if processor.needs_transition(state, tool_call):
                events += [*processor.close_current(), *processor.open(state, tool_call)]
            events += processor.emit_delta(part, None)
    events += processor.close_current()
    return [one for one in events if one.type.endswith(".done")], processor.output_items


def told(events: list[Any]) -> list[tuple[str, str]]:
    items = [one.item for one in events if one.type == "response.output_item.done"]
    return [(item.arguments, item.status) for item in items]


@pytest.mark.parametrize("at_once", [1, 1_000])
def test_whole_calls_are_as_they_were(processor: type[Any], at_once: int) -> None:
    text = SECTION + FIRST + SECOND + END + "<|im_end|>"
    events, output = streamed(processor, text, at_once=at_once)
    assert told(events) == [('{"a": 1}', "completed"), ('{"b": 2}', "completed")]
    assert [one.arguments for one in output] == ['{"a": 1}', '{"b": 2}']
    assert len(events) == 4


def test_half_a_call_is_incomplete_and_no_output(processor: type[Any]) -> None:
    begun = SECTION + half("functions.get:0", '{"a": ')
    events, output = streamed(processor, begun)
    assert told(events) == [('{"a": ', "incomplete")]
    assert len(events) == 1  # nothing says that its arguments are done
    assert output == []


def test_text_before_it_stays(processor: type[Any]) -> None:
    events, output = streamed(processor, "Let me" + SECTION + "<|tool_call_begin|>functions.get:0")
    assert [one.type for one in output] == ["message"]
    assert output[0].content[0].text == "Let me"
    assert "response.output_text.done" in [one.type for one in events]


def test_calls_before_it_have_been_sent_and_are_no_output(processor: type[Any]) -> None:
    """As in a reply that does not stream: no call comes with a reply that was cut off."""
    begun = half("functions.get:1", '{"b": ')
    events, output = streamed(processor, SECTION + FIRST + begun)
    assert told(events) == [('{"a": 1}', "completed"), ('{"b": ', "incomplete")]
    assert output == []


@pytest.mark.parametrize("most", [None, 1_000])
def test_a_reply_cut_behind_its_calls_has_none(processor: type[Any], most: int | None) -> None:
    events, output = streamed(processor, SECTION + FIRST + END, most)
    status = "incomplete" if most is None else "completed"  # a stop id may end it there
    assert told(events) == [('{"a": 1}', status)]
    assert len(output) == (most is not None)


def test_half_the_input_of_a_custom_tool_is_not_sent_as_the_whole(processor: type[Any]) -> None:
    """vLLM would send `{"input": "*** Beg` once more, as the input itself."""
    begun = SECTION + half("functions.patch:0", '{"input": "*** Beg')
    events, output = streamed(processor, begun)
    assert (events, output) == ([], [])


def test_the_next_reply_of_a_task_is_its_own(processor: type[Any]) -> None:
    streamed(processor, SECTION + "<|tool_call_begin|>functions.get:0")
    events, output = streamed(processor, SECTION + FIRST + END + "<|im_end|>")
    assert told(events) == [('{"a": 1}', "completed")]
    assert len(output) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_that_is_aborted_inside_a_call_is_incomplete(
    processor: type[Any], monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    own = ResponsesResponse.from_request
    patched = partial(cut_calls.from_request, getattr(own, names.PATCHED, own).__func__)
    monkeypatch.setattr(ResponsesResponse, "from_request", classmethod(patched))
    request = ResponsesRequest(input="Hi", tools=[GET], tool_choice="required")

    def status(text: str, said: str) -> tuple[str, Any]:
        if stream:
            streamed(processor, text, 1_000)
        else:
            ids = vocabularies.write(VOCABULARY, text)
            notes(request).most_ids = 1_000
            EnforcedParser(None, request.tools).parse("", request, model_output_token_ids=ids)
        made = ResponsesResponse.from_request(
            request, SamplingParams(), model_name="m", created_time=0, output=[], status=said
        )
        return made.status, made.incomplete_details

    begun = SECTION + FIRST.removesuffix(CALL_END)
    assert status(begun, "completed") == ("incomplete", None)
    assert status(begun, "in_progress")[0] == "in_progress"
    assert status(SECTION + FIRST + END + "<|im_end|>", "completed")[0] == "completed"
