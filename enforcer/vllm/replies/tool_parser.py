"""The parsers `NAME_enforced`: they switch the enforcer on, and read what comes back.

Owns: the two ends of a chat request in the API server. Before: the spec, written
from the request's tools. After: the second barrier, which reads calls from marker
ids alone and drops what the request did not declare, streamed and not. Must not
know: masks, the engine process.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    FunctionCall,
)
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.parser.abstract_parser import Parser as VllmParser
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.abstract_tool_parser import ToolParser

from enforcer.errors import InvalidVocabulary
from enforcer.request import carrier
from enforcer.turn.events import Happening
from enforcer.turn.parser import Parser
from enforcer.vllm.config import names
from enforcer.vllm.intake import call_ids, client_paths, dialog_tools, requests, startup, stops
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.observe.families import Outcome
from enforcer.vllm.replies import parser_choice, reply_parsers
from enforcer.vllm.replies.clip import Clip
from enforcer.vllm.replies.reply_parsers import Thinking
from enforcer.vllm.server import (
    model_format,
    prefills,
    reply_lengths,
    runtime,
    served_model,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.turn.dialect import Ids
    from enforcer.turn.events import Event


logger = logging.getLogger("vllm.enforcer")


class EnforcedToolParser(ToolParser):  # type: ignore[misc]
    """What vLLM's command line knows by our names; `EnforcedParser` does the work."""

    supports_required_and_named = False


class EnforcedParser(VllmParser):  # type: ignore[misc]
    """One request's parser, from token ids; takes the part of both of vLLM's parsers."""

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
        self._parser: Parser | None = None
        self._clip: Clip | None = None
        self._length = 0
        self._demanded = False
        self._calls = 0
        self._completed = 0
        self._thinking = Thinking(lambda: Parser(self._table, self._prompt_ids))

    def adjust_request(self, request: Any) -> Any:
        """Put the spec into the request, in place: vLLM drops what this returns."""
        requests.adopt_dialog_tools(request)
        client_paths.drop_think_budget(request)
        if request.tools and request.tool_choice is None:
            request.tool_choice = "auto"
        request.skip_special_tokens = False
        if not isinstance(request, ResponsesRequest):
            # Else vLLM's text is longer than what the ids spell, by which a stop string is cut.
            request.spaces_between_special_tokens = False
        spec = requests.write_spec(request)
        if spec is None:
            return request
        stops.refuse_ids(request, self._table)
        tag = carrier.structural_tag(spec)
        request.structured_outputs = StructuredOutputsParams(structural_tag=tag)
        if isinstance(request, ResponsesRequest):
            request.text = None
        else:
            request.response_format = None
        return request

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Say where the turn starts."""
        self._prompt_ids = prompt_token_ids

    def set_history_tool_call_count(self, count: int) -> None:
        """Know the count already, from the prompt; vLLM 0.33 tells it for ids that we keep."""

    def is_reasoning_end(self, input_ids: list[int]) -> bool:  # noqa: ARG002
        """Tell vLLM to mask from the first id on: the envelope has the think in it."""
        return True

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,  # noqa: FBT001, FBT002, ARG002 - vLLM's signature
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[FunctionCall] | None]:
        """Read a whole reply. One that was cut off inside or right after its calls has none.

        Markers in `model_output` are not to be told from spelled ones: it only says how far
        the reply goes, where a stop string may have ended it.
        """
        parser = self._begin(self._prompt_ids, request)
        self._clip, self._length = None, 0
        events = self._read(parser, model_output_token_ids, request, model_output, last=True)
        self._thinking.is_read(parser, model_output_token_ids)
        cut_off = _is_cut_off(parser, len(model_output_token_ids), request)
        request_context.change(is_cut=cut_off)
        calls = [] if cut_off else _completed(events, self._table.dialect.ids)
        if not calls:
            requests.own_up(request)
        if self._parser is None:  # else its deltas have been counted
            self._count(parser, request, _how_many(events, Happening.CALL), len(calls))
        return _join(events, Happening.REASONING), _join(events, Happening.CONTENT), calls

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> DeltaMessage | None:
        """Read the next ids of a streamed reply."""
        if self._parser is None:
            if prompt_token_ids is not None:
                self._prompt_ids = prompt_token_ids
            self._parser = self._begin(self._prompt_ids, request)
        events = self._read(self._parser, delta_token_ids, request, delta_text, last=finished)
        self._thinking.is_read(self._parser, delta_token_ids)
        reasoning = _join(events, Happening.REASONING) if request.include_reasoning else None
        content = _join(events, Happening.CONTENT)
        calls = self._delta_calls(events)
        self._completed += _how_many(events, Happening.CALL_END)
        if finished:
            is_cut = _is_cut_off(self._parser, self._parser.read, request)
            request_context.change(is_cut=is_cut)
            self._count(self._parser, request, self._calls, self._completed)
        if not (reasoning or content or calls):
            return None
        return DeltaMessage(reasoning=reasoning, content=content, tool_calls=calls)

    def _begin(self, prompt_ids: Sequence[int] | None, request: Any) -> Parser:
        parser = reply_parsers.begin(self._table, prompt_ids, request)
        # The rest of a call that the prompt has begun is no call of the reply.
        self._demanded = not parser.in_calls and requests.demands_call(request)
        return parser

    def _read(
        self, parser: Parser, token_ids: Sequence[int], request: Any, text: str, *, last: bool
    ) -> list[Event]:
        if not request.stop:
            events = parser.feed(token_ids)
            return [*events, *parser.finish()] if last else events
        if self._clip is None:
            self._clip = Clip(parser, self._table.vocabulary)
        self._clip.feed(token_ids)
        if last:
            self._clip.finish()
        self._length += len(text)
        return self._clip.let_out(self._length)

    def _delta_calls(self, events: list[Event]) -> list[DeltaToolCall]:
        deltas: list[DeltaToolCall] = []
        for event in events:
            if event.what is Happening.CALL:
                function = DeltaFunctionCall(name=event.name, arguments="")
                call_id = event.text or call_ids.invent(self._table.dialect.ids)
                deltas.append(
                    DeltaToolCall(id=call_id, type="function", index=self._calls, function=function)
                )
                self._calls += 1
            elif event.what is Happening.ARGUMENTS:
                deltas.append(
                    DeltaToolCall(
                        index=self._calls - 1, function=DeltaFunctionCall(arguments=event.text)
                    )
                )
        return deltas

    def _count(self, parser: Parser, request: Any, begun: int, completed: int) -> None:
        if prefills.is_prefill(request):
            return  # it is the other server's reply that says something of calls
        metrics.calls(Outcome.COMPLETED, completed)
        of = request_context.told()["request"]
        metrics.calls(Outcome.CUT_OFF, begun - completed, request=of)
        if self._demanded and not begun and not parser.dropped:
            metrics.calls(Outcome.NOT_BEGUN, 1, request=of)
        # Ids that a client has sent to be read say nothing of what is enforced here.
        if parser.dropped and dialog_tools.is_prepared(request):
            metrics.calls(Outcome.DROPPED, parser.dropped)
            metrics.log_dropped(**request_context.told_of_call(parser.dropped_name))

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Count the ids inside a think, for vLLM's usage statistics."""
        return self._thinking.count(token_ids)


def _is_cut_off(parser: Parser, length: int, request: Any) -> bool:
    """Tell whether a reply was cut off inside its calls, or right after them.

    Right after: vLLM may report `length` there, under which no client expects a call.
    """
    return parser.in_calls or (not parser.ended and length >= reply_lengths.most(request))


def _join(events: list[Event], what: Happening) -> str | None:
    return "".join(event.text for event in events if event.what is what) or None


def _how_many(events: list[Event], what: Happening) -> int:
    return sum(event.what is what for event in events)


def _completed(events: list[Event], ids: Ids) -> list[FunctionCall]:
    calls = []
    for event in events:
        if event.what is Happening.CALL:
            begun = event
        elif event.what is Happening.CALL_END:
            call_id = begun.text or call_ids.invent(ids)
            calls.append(FunctionCall(id=call_id, name=begun.name, arguments=event.text))
    return calls


def compose_parser(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `ParserManager._compose_parser`, which picks the class for the command line's names."""

    def _compose_parser(cls: Any, tool_parser_name: str | None, *args: Any, **kwargs: Any) -> Any:
        served_model.tell(tool_parser_name)
        tokenizer = kwargs.get("tokenizer")
        if not names.is_enforced(tool_parser_name):
            startup.say(tool_parser_name, tuple(one.name for one in served_model.dialects()))
            _warm_for_specs(tokenizer)
            made = original(cls, tool_parser_name, *args, **kwargs)
            return parser_choice.beside(made, tool_parser_name, EnforcedParser)
        # What a server has been asked before its engine was started, whoever starts it otherwise.
        served_model.demand_auto_tools(tool_parser_name, kwargs.get("enable_auto_tools"))
        model_format.demand(tokenizer)
        dialect = runtime.dialect_for(tokenizer)
        if tokenizer is not None:
            runtime.warm(tokenizer)  # the server is not healthy before it
        # After it: where the vocabulary is another format's, nothing is enforced.
        startup.say(tool_parser_name, (dialect.name,))
        return EnforcedParser

    return _compose_parser


def _warm_for_specs(tokenizer: Any) -> None:
    """Build what requests with a spec need, on a server whose model one can be for.

    Other models are served as ever; an operator's mistake ends the start as with a parser of ours.
    """
    if tokenizer is None:
        return
    try:
        runtime.table_for(tokenizer)
    except InvalidVocabulary as error:
        runtime.forget(tokenizer)
        logger.info("enforcer: requests with a spec cannot be enforced for this model: %s", error)
    else:
        runtime.ready()


def apply_structural_tag(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `DelegatingParser._apply_structural_tag`, where vLLM's other parsers constrain.

    A chat request that brings our spec to a server with another parser would lose it there:
    vLLM puts a tag of its own in its place where a call is demanded or a tool is strict.
    """

    def _apply_structural_tag(self: Any, request: Any) -> Any:
        if parser_choice.brings_spec(request):
            return request
        return original(self, request)

    return _apply_structural_tag


def ours(parser: Any, request: Any) -> type[EnforcedParser] | None:
    """Give our class where it prepares a request: on a server with it, or for a spec beside."""
    if isinstance(parser, type) and issubclass(parser, EnforcedParser):
        return parser
    return EnforcedParser if parser_choice.reads(parser, request) else None
