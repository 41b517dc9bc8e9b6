"""Reading a turn as stock vLLM does, in this process: its parser for the format, streamed or not.

Owns: what vLLM's serving layer does between a request and its parser: `adjust_request`, which
tokens the detokenizer leaves out, the end of turn that is no text, deltas. Must not know: this
library.
"""

import codecs
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

pytest.importorskip("vllm")

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager

from bench.formats.catalogue import ROWS
from tests.formats import vocabularies


@dataclass(frozen=True, slots=True)
class Reading:
    """What a client gets.

    Attributes:
        calls: name and arguments, the arguments as the text that they come as.
        problem: what the parser raised; vLLM answers 500 then, or ends the stream.

    """

    content: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    reasoning: str = ""
    problem: str = ""


def request(tools: Sequence[Any], **fields: Any) -> ChatCompletionRequest:
    """Make a chat request with these tools."""
    return ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "Hi"}], tools=list(tools), **fields
    )


@cache
def _parser_class(name: str, *, thinks: bool, level: str) -> type:
    row = ROWS[name]
    made = ParserManager.get_parser(
        row.parser,
        reasoning_parser_name=row.reasoning if thinks else None,
        enable_auto_tools=True,
        tool_strict_level=level,
        tokenizer=vocabularies.tokenizer(name),
    )
    assert made is not None
    found: type = made
    return found


def parser(name: str, asked: ChatCompletionRequest, *, thinks: bool = False) -> Any:
    """Make vLLM's parser for one request, which is adjusted as its serving layer does."""
    options = {"chat_template_kwargs": {"thinking": thinks, "enable_thinking": thinks}}
    made = _parser_class(name, thinks=thinks, level="auto")(
        vocabularies.tokenizer(name), asked.tools, **options
    )
    made.adjust_request(asked)
    return made


def whole(name: str, ids: Sequence[int], tools: Sequence[Any], *, thinks: bool = False) -> Reading:
    """Read a turn that is not streamed."""
    asked = request(tools)
    made = parser(name, asked, thinks=thinks)
    text = "".join(piece for piece, _ in _deltas(name, ids, asked, 1))
    logging.disable(logging.CRITICAL)  # what a parser stumbles over is its result here
    try:
        reasoning, content, calls = made.parse(text, asked, True, model_output_token_ids=list(ids))
    except Exception as error:  # noqa: BLE001 - vLLM catches as much
        return Reading(problem=repr(error))
    finally:
        logging.disable(logging.NOTSET)
    found = tuple((call.name, call.arguments) for call in calls or ())
    return Reading(content or "", found, reasoning or "")


def streamed(
    name: str, ids: Sequence[int], tools: Sequence[Any], *, size: int = 1, thinks: bool = False
) -> Reading:
    """Read a streamed turn, `size` ids a delta."""
    asked = request(tools, stream=True)
    made = parser(name, asked, thinks=thinks)
    row = ROWS[name]
    prompt = vocabularies.ids(name, row.think if thinks else row.opening)
    content, reasoning = "", ""
    calls: dict[int, list[str]] = {}
    pieces = list(_deltas(name, ids, asked, size))
    logging.disable(logging.CRITICAL)
    try:
        for at, (text, some) in enumerate(pieces, 1):
            delta = made.parse_delta(text, some, asked, prompt, finished=at == len(pieces))
            if delta is None:
                continue
            content += delta.content or ""
            reasoning += delta.reasoning or ""
            for part in delta.tool_calls or ():
                call = calls.setdefault(part.index, ["", ""])
                if part.function is not None:
                    call[0] += part.function.name or ""
                    call[1] += part.function.arguments or ""
    except Exception as error:  # noqa: BLE001 - vLLM catches as much
        return Reading(problem=repr(error))
    finally:
        logging.disable(logging.NOTSET)
    return Reading(content, tuple((calls[i][0], calls[i][1]) for i in sorted(calls)), reasoning)


def _deltas(
    name: str, ids: Sequence[int], asked: ChatCompletionRequest, size: int
) -> Iterator[tuple[str, list[int]]]:
    """Detokenize as vLLM does: incrementally, without the id that ended the turn."""
    tokenizer = vocabularies.tokenizer(name)
    skipped = set(tokenizer.all_special_ids) if asked.skip_special_tokens else set()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for at in range(0, len(ids), size):
        some = list(ids[at : at + size])
        last = at + size >= len(ids)
        shown = [i for i in (some[:-1] if last else some) if i not in skipped]
        text = decoder.decode(tokenizer.vocabulary.decode(shown), final=last)
        yield text, some
