"""The parsers `NAME_enforced`: they write a request's spec, and read its replies.

The two ends of a chat request in the API server. Replies pass the second barrier: calls are read
from the token ids of markers alone, and calls of undeclared tools are dropped, streamed or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base import protocol
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.parser.abstract_parser import Parser as VllmParser
from vllm.tool_parsers.abstract_tool_parser import ToolParser

from enforcer.turn.events import Event, Happening
from enforcer.turn.parser import Parser
from enforcer.vllm.intake import admission, client_paths, dialogs, requests
from enforcer.vllm.replies.reply import ReplyReader
from enforcer.vllm.server import runtime


class EnforcedToolParser(ToolParser):  # type: ignore[misc]
    """The class that vLLM's command line finds by our names; `EnforcedParser` does the work."""

    supports_required_and_named = False


class EnforcedParser(VllmParser):  # type: ignore[misc]
    """One request's parser, in place of vLLM's reasoning parser and tool parser."""

    tool_parser_cls = EnforcedToolParser
    # Without tools vLLM takes tool_choice for "none" and would skip us; but then, too, the
    # markers must be banned.
    always_adjust_request = True

    def __init__(self, tokenizer: Any, tools: Any = None, **_: Any) -> None:  # noqa: ARG002
        self.model_tokenizer = tokenizer
        self._reasoning_parser = None
        self._tool_parser = None
        self._table = runtime.table_for(tokenizer)
        self._prompt_ids: Sequence[int] | None = None
        self._reply: ReplyReader | None = None

    def adjust_request(self, request: Any) -> Any:
        """Put the spec into the request, in place: vLLM drops what this returns."""
        dialogs.adopt(request)
        client_paths.drop_think_budget(request)
        if request.tools and request.tool_choice is None:
            request.tool_choice = "auto"
        request.skip_special_tokens = False
        is_flat = isinstance(request, ResponsesRequest)
        if not is_flat:
            # Else vLLM's text is longer than what the ids spell, by which a stop string is cut.
            request.spaces_between_special_tokens = False
        admitted = requests.take_in(request, self.model_tokenizer)
        if admitted is None:
            return request
        admission.enter(request, admitted)
        setattr(request, "text" if is_flat else "response_format", None)
        return request

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Set the prompt's token ids, by which it is known where the turn starts."""
        self._prompt_ids = prompt_token_ids

    def set_history_tool_call_count(self, count: int) -> None:
        """Ignore the count that vLLM 0.33 passes: the prompt has it."""

    def is_reasoning_end(self, input_ids: list[int]) -> bool:  # noqa: ARG002
        """Return True, so that vLLM masks from the first token id on: the mask covers reasoning."""
        return True

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,  # noqa: FBT001, FBT002, ARG002 - vLLM's signature
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[protocol.FunctionCall] | None]:
        """Read a whole reply. One that was cut off inside or right after its calls has none."""
        is_counted = self._reply is not None  # counted while it was streamed
        self._reply = reply = ReplyReader(self._table, self._prompt_ids, request)
        events = reply.read(model_output_token_ids, model_output, last=True)
        calls = [
            protocol.FunctionCall(id=self._id(call.id), name=call.name, arguments=call.arguments)
            for call in (() if reply.is_cut else reply.parser.turn().calls)
        ]
        if not calls:
            requests.own_up(request)
        if not is_counted:
            reply.count(len(calls))
        return _join(events, Happening.REASONING), _join(events, Happening.CONTENT), calls

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> protocol.DeltaMessage | None:
        """Read the next token ids of a streamed reply."""
        if self._reply is None:
            if prompt_token_ids is not None:
                self._prompt_ids = prompt_token_ids
            self._reply = ReplyReader(self._table, self._prompt_ids, request)
        reply, first = self._reply, self._reply.begun
        events = reply.read(delta_token_ids, delta_text, last=finished)
        if finished:
            reply.count(len(reply.parser.turn().calls))
        reasoning = _join(events, Happening.REASONING) if request.include_reasoning else None
        content = _join(events, Happening.CONTENT)
        calls = self._delta_calls(events, first)
        if not (reasoning or content or calls):
            return None
        return protocol.DeltaMessage(reasoning=reasoning, content=content, tool_calls=calls)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return how many token ids of a reply are reasoning, for vLLM's usage statistics."""
        if self._reply is not None and self._reply.parser.read == len(token_ids):
            return self._reply.parser.reasoning_ids
        parser = Parser(self._table, self._prompt_ids)
        parser.feed(token_ids)
        return parser.reasoning_ids

    def _delta_calls(self, events: list[Event], begun: int) -> list[protocol.DeltaToolCall]:
        deltas = []
        for event in events:
            if event.what is Happening.CALL:
                begun += 1
                opened = protocol.DeltaFunctionCall(name=event.name, arguments="")
                opening = {"id": self._id(event.text), "type": "function", "function": opened}
                deltas.append(protocol.DeltaToolCall(index=begun - 1, **opening))
            elif event.what is Happening.ARGUMENTS:
                more = protocol.DeltaFunctionCall(arguments=event.text)
                deltas.append(protocol.DeltaToolCall(index=begun - 1, function=more))
        return deltas

    def _id(self, written: str) -> str:
        return written or dialogs.new_call_id(self._table.dialect.ids)


def _join(events: list[Event], what: Happening) -> str | None:
    return "".join(event.text for event in events if event.what is what) or None
