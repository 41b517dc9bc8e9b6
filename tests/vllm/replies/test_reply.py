"""No id of a prompt or of a reply is read twice."""

from contextvars import copy_context
from typing import Any

import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

import enforcer
from enforcer.vllm.replies.tool_parser import EnforcedParser
from enforcer.vllm.server import runtime
from tests import vocabularies

V = vocabularies.small()
TABLE = enforcer.Enforcer(V).table
OPENED = vocabularies.write(V, "<|im_assistant|>assistant<|im_middle|>")
BEGUN = [*OPENED, *vocabularies.write(V, "<think>" + "so " * 200)]
CALL = vocabularies.section(vocabularies.call("get", 0, "{}"))
REPLY = vocabularies.write(V, f"and so on</think>{CALL}<|im_end|>")
THOUGHT = len(vocabularies.write(V, "and so on"))
TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, ids_read: list[int]) -> list[int]:
    """The ids that parsers read, of this vocabulary."""
    monkeypatch.setattr(runtime, "table_for", lambda *_: TABLE)
    return ids_read


def request(**fields: Any) -> Any:
    return ChatCompletionRequest(model="m", messages=[], tools=[TOOL], tool_choice="auto", **fields)


def whole(asked: Any, prompt: list[int], ids: list[int]) -> tuple[Any, int]:
    parser = EnforcedParser(None)
    parser.set_prompt_token_ids(prompt)
    parsed = parser.parse("", asked, True, ids)
    return parsed, parser.count_reasoning_tokens(ids)


def streamed(asked: Any, prompt: list[int], ids: list[int]) -> list[int]:
    """Read a reply by an id; gives what is counted behind each."""
    parser, counts = EnforcedParser(None), []
    for at, token_id in enumerate(ids):
        parser.parse_delta("", [token_id], asked, prompt, finished=at == len(ids) - 1)
        counts.append(parser.count_reasoning_tokens(tuple(ids[: at + 1])))
    return counts


def test_what_replies_share_is_read_once(read: list[int]) -> None:
    def replies(prompt: list[int]) -> None:
        asked = request(n=16)
        for _ in range(8):
            (reasoning, content, calls), thought = whole(asked, prompt, REPLY)
            assert (reasoning, content, thought) == ("and so on", None, THOUGHT)
            assert [call.id for call in calls] == ["functions.get:0"]
            assert streamed(asked, list(prompt), REPLY)[-1] == THOUGHT

    copy_context().run(replies, BEGUN)
    assert len(read) == len(BEGUN) - len(OPENED) + 16 * len(REPLY)


def test_each_request_and_prompt_has_its_own_beginning(read: list[int]) -> None:
    def replies() -> list[Any]:
        one, other = request(), request()
        given = [(one, BEGUN), (other, OPENED), (one, OPENED), (one, BEGUN), (one, BEGUN)]
        return [whole(asked, prompt, REPLY)[0][0] for asked, prompt in given]

    # Where no think has been begun, its end is none that the format has there.
    assert copy_context().run(replies) == ["and so on", None, None, "and so on", "and so on"]
    assert len(read) == 2 * (len(BEGUN) - len(OPENED)) + 5 * len(REPLY)


def test_a_reply_is_counted_as_it_grows(read: list[int]) -> None:
    counts = copy_context().run(streamed, request(), BEGUN, REPLY)
    assert counts == [min(at, THOUGHT) for at in range(1, len(REPLY) + 1)]
    assert len(read) == len(BEGUN) - len(OPENED) + len(REPLY)


def test_what_nobody_has_read_is_counted(read: list[int]) -> None:  # noqa: ARG001
    parser = EnforcedParser(None)
    parser.set_prompt_token_ids(BEGUN)
    for at in range(len(REPLY) + 1):
        assert parser.count_reasoning_tokens(tuple(REPLY[:at])) == min(at, THOUGHT)


def test_another_reply_is_counted_from_its_beginning(read: list[int]) -> None:  # noqa: ARG001
    parser = EnforcedParser(None)
    parser.set_prompt_token_ids(BEGUN)
    parser.parse("", request(), True, REPLY)
    assert parser.count_reasoning_tokens(REPLY) == THOUGHT
    assert parser.count_reasoning_tokens(REPLY[:3]) == 3
    assert parser.count_reasoning_tokens([*REPLY[:2], *REPLY[8:]]) == THOUGHT - 6
    assert parser.count_reasoning_tokens([]) == 0


def test_a_call_that_is_drafted_behind_a_stop_string_is_none(read: list[int]) -> None:  # noqa: ARG001
    """Draft tokens bring it in the step in which vLLM finds the stop string."""
    parser, asked = EnforcedParser(None), request(stop=["on"])
    said = len(vocabularies.write(V, "and "))
    parser.parse_delta("and ", REPLY[:said], asked, BEGUN, finished=False)
    delta = parser.parse_delta("so ", REPLY[said:], asked, BEGUN, finished=True)
    assert (delta.reasoning, delta.content, delta.tool_calls) == ("so ", None, [])
    parser = EnforcedParser(None)
    parser.set_prompt_token_ids(BEGUN)
    assert parser.parse("and so ", asked, True, REPLY) == ("and so ", None, [])


@pytest.mark.parametrize("stop", [None, ["a stop"]])
@pytest.mark.usefixtures("read")
def test_an_id_that_is_none_of_the_vocabulary_is_nothing(stop: list[str] | None) -> None:
    """Clients of the derender route write ids themselves."""
    ids = [ord("b"), V.size + 10**6, ord("c")]

    def reply() -> Any:
        return whole(request(stop=stop), list(OPENED), ids)[0]

    _, content, calls = copy_context().run(reply)
    assert (content or "")[:1] in {"", "b"}
    assert not calls
