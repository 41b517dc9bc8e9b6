"""Where this library and stock vLLM 0.32 differ on purpose, each with an example and a reason.

Owns: what stock loses or garbles of turns that are right (`MISREAD`), and texts that stock
takes for calls and no dialect permits (`REFUSED`). Must not know: how either side reads.

Tests run every example: one that does not happen any more is no deviation any more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.formats.catalogue import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.formats.writers import Call, Turn


@dataclass(frozen=True, slots=True)
class Misread:
    """A turn that stock vLLM does not read as what it is.

    Attributes:
        streams: whether that happens only where it is streamed, an id a delta.
        applies: tells from a turn and its text whether it may happen to it.
        example: the text of a turn to which it does happen.
        why: what stock does.

    """

    format: str
    applies: Callable[[Turn, str], bool]
    example: str
    why: str
    streams: bool = True


def _empty(turn: Turn, _: str) -> bool:
    return any(not call.arguments for call in turn.calls)


def _has_calls(turn: Turn, _: str) -> bool:
    return bool(turn.calls)


def _rewritten(turn: Turn, _: str) -> bool:
    """Tell whether a number is there that vLLM writes otherwise: a float that is whole."""

    def whole(value: object) -> bool:
        if isinstance(value, dict):
            return any(map(whole, value.values()))
        if isinstance(value, list):
            return any(map(whole, value))
        return isinstance(value, float) and value.is_integer()

    return any(whole(call.arguments) for call in turn.calls)


def _in_exponents(turn: Turn, text: str) -> bool:
    """Tell whether a number is there whose beginning is another number as JSON writes it."""
    return re.search(r"[0-9][eE][-+]?[0-9]|0\.0000", text) is not None and bool(turn.calls)


def _ends_in_part_of(marker: str, text: str) -> bool:
    return any(text.endswith(marker[:count]) for count in range(1, len(marker)))


def _spaced(turn: Turn, text: str) -> bool:
    """Tell whether stock's pattern of pythonic calls may not match."""
    begun = re.match(r"(<\|python_start\|>)?\[\w+\((\w+=|\))", text)
    spaced = re.search(r"\w\(\s|\)\s+,|[\r\n]", text)
    return bool(turn.calls) and (begun is None or spaced is not None)


_NEVER = "streamed, arguments that are an empty object never come: the client gets an empty text"

MISREAD: tuple[Misread, ...] = (
    Misread("llama3_json", _empty, '{"name": "t", "parameters": {}}<|eot_id|>', _NEVER),
    Misread(
        "granite_20b_fc",
        _empty,
        '<function_call> {"name": "t", "arguments": {}}<|endoftext|>',
        _NEVER,
    ),
    Misread(
        "internlm",
        _empty,
        '<|action_start|><|plugin|>\n{"name": "t", "parameters": {}}<|action_end|><|im_end|>',
        _NEVER,
    ),
    Misread(
        "granite_20b_fc",
        lambda turn, text: bool(turn.calls) and not text.startswith("<function_call>"),
        'Look.<function_call> {"name": "w", "arguments": {"a": "b"}}<|endoftext|>',
        "streamed, a call behind text is not seen: everything is content",
    ),
    Misread(
        "internlm",
        _in_exponents,
        '<|action_start|><|plugin|>{"name": "w", "parameters": {"x": -4E-2}}<|action_end|>'
        "<|im_end|>",
        "streamed, a number is sent as far as it has come, and is another one at its end",
    ),
    Misread(
        "granite_20b_fc",
        _in_exponents,
        '<function_call> {"name": "w", "arguments": {"x": 3.482e-1}}<|endoftext|>',
        "streamed, a number is sent as far as it has come, and is another one at its end",
    ),
    Misread(
        "hermes",
        lambda turn, _: _ends_in_part_of("<tool_call>", turn.content),
        "Less <<|im_end|>",
        "streamed, text that ends like the beginning of a marker loses that",
    ),
    Misread(
        "llama3_json",
        lambda turn, text: len(turn.calls) > 1 and text.count("}; {") < len(turn.calls) - 1,
        '{"name": "w", "parameters": {"a": "b"}};{"name": "w", "parameters": {"a": "b"}}<|eot_id|>',
        "streamed, calls that anything but `; ` separates are lost",
    ),
    Misread(
        "llama3_json",
        lambda turn, text: bool(turn.calls) and re.search(r"[0-9.]{18}", text) is not None,
        '{"name": "w", "parameters": {"x": 5.6791600685643236490808546597149576535267E-115}}'
        "<|eot_id|>",
        "streamed, a number of more digits than a double has is the next one to it",
    ),
    Misread(
        "mistral",
        lambda _, text: re.search(r"\[TOOL_CALLS\][^\s\[{]*\s", text) is not None,
        '[TOOL_CALLS]w {"a": "b"}</s>',
        "streamed, white space behind the name becomes a part of it",
    ),
    Misread(
        "mistral_v3",
        lambda _, text: re.search(r'"\s+[:,]|"arguments"\s*:\{', text) is not None,
        '[TOOL_CALLS] [{"name": "w", "arguments"\r\n:{"a": "b"}}]</s>',
        "streamed, white space before a colon or a comma can make a colon a part of the arguments, "
        "and a bracket in one token with the colon can lose them",
    ),
    *(
        Misread(
            name,
            _spaced,
            '\n[w(a="b")]' + FORMATS[name].end,
            "white space around a bracket, parenthesis or the first key, before the comma between "
            "calls, or a line break in the arguments: all is content",
            streams=False,
        )
        for name in ("pythonic", "llama4_pythonic")
    ),
    Misread(
        "qwen3_coder",
        lambda turn, _: "<parameter=" in str([call.arguments for call in turn.calls]),
        "<tool_call><function=w><parameter=a>b<parameter=q>3</parameter></function></tool_call>"
        "<|im_end|>",
        "a value that has the text of a tag is cut there",
        streams=False,
    ),
    Misread(
        "jamba",
        _has_calls,
        '<tool_calls>[{"name": "w", "arguments": {"a": "b", "n": 3}}]</tool_calls><|eom|>',
        "streamed, strings lose their end and pieces come twice: no JSON",
    ),
    Misread(
        "granite",
        _rewritten,
        '<|tool_call|> [{"name": "w", "arguments": {"x": 1e+20, "n": 3}}]<|end_of_text|>',
        "streamed, 1e+20 becomes 100000000000000000000 at the end, and what follows is lost",
    ),
    Misread(
        "mistral",
        lambda _, text: "[CALL_ID]" in text,
        '[TOOL_CALLS]w[CALL_ID]abcdefgh1[ARGS]{"a": "b"}</s>',
        "the call's id becomes a part of the tool's name",
        streams=False,
    ),
)

# What stock takes for right (format and `tolerances.Text.what`), no dialect permits, and why.
_ORDER = "the tool's name stands before its arguments, for it says which schema they have to fit"
_BOUNDED = (
    "white space is one space, or a line break and its indentation: a model that writes it "
    "without end is a known failure"
)
_DROPPED = "what follows the calls is lost: stock gives it to nobody, or only when it streams"
_KEYS = "a call has its name and its arguments, and no other key that stock would drop"
_WHOLE = "a call, and a list of them, end with what the template ends them with"
_FOLLOWED = "nothing stands between the arguments and what ends them"
_SPELLING = "a value has the spellings that JSON's writers give it, in Python's quotes and names"

REFUSED: Mapping[tuple[str, str], str] = {
    ("kimi_k2", "runs of white space"): _BOUNDED,
    ("kimi_k2", "another index"): "the index counts the dialog's calls",
    ("kimi_k2", "no prefix"): "the id of a call is functions.NAME:INDEX",
    ("kimi_k3", "an index of the dialog"): "the index counts the message's calls",
    ("kimi_k3", "attributes swapped"): "attributes have one order",
    ("kimi_k3", "attributes of an argument swapped"): "attributes have one order",
    ("kimi_k3", "no index"): "the index counts the message's calls",
    ("kimi_k3", "no type"): "the type is written, for it says how the value is read",
    ("kimi_k3", "no end of message"): _WHOLE,
    ("kimi_k3", "no end of calls"): _WHOLE,
    ("kimi_k3", "white space between tags"): "nothing stands between tags",
    ("kimi_k3", "white space in a tag"): "a tag has no white space of its own",
    ("kimi_k3", "no end of the response"): "tools begin where the response has ended",
    ("kimi_k3", "the arguments as one JSON"): (
        "stock's Python parser reads `{}`, whatever they are"
    ),
    ("hermes", "runs of white space"): _BOUNDED,
    ("hermes", "an empty line between calls"): _BOUNDED,
    ("hermes", "arguments first"): _ORDER,
    ("hermes", "a further key"): _KEYS,
    ("hermes", "last tag missing"): _WHOLE,
    ("hermes", "text between calls"): _DROPPED,
    ("hermes", "text after the calls"): _DROPPED,
    ("hermes", "an escaped name"): "streamed, stock gives the escape as the name",
    ("mistral_v3", "runs of white space"): _BOUNDED,
    ("mistral_v3", "arguments first"): _ORDER,
    ("mistral_v3", "id first"): "an id stands behind the arguments, where the template has it",
    ("mistral_v3", "id between"): "an id stands behind the arguments, where the template has it",
    ("mistral_v3", "arguments as a string"): "arguments are an object: nothing masks a quoted one",
    ("mistral_v3", "a bare object"): "calls are a list",
    ("mistral_v3", "text after the calls"): _DROPPED,
    ("mistral_v3", "the marker twice"): "calls begin once",
    ("mistral_v3", "no arguments"): "a call has arguments; streamed, stock gives an empty text",
    ("mistral", "white space around the name"): "streamed, it becomes a part of the name",
    ("mistral", "text after the calls"): "streamed, it becomes a part of the arguments",
    ("mistral", "no arguments"): "a call has arguments; streamed, stock gives an empty text",
    ("llama3_json", "parameters first"): _ORDER,
    ("llama3_json", "a newline between calls"): "streamed, stock loses what follows the first",
    ("llama3_json", "text after"): _DROPPED,
    ("granite", "arguments first"): _ORDER,
    ("granite", "text after the calls"): _DROPPED,
    ("granite", "a further key"): _KEYS,
    ("granite_20b_fc", "arguments first"): _ORDER,
    ("granite_20b_fc", "text after the calls"): _DROPPED,
    ("internlm", "parameters first"): _ORDER,
    ("internlm", "no end marker"): _WHOLE,
    ("internlm", "text after the call"): _DROPPED,
    ("internlm", "no arguments"): "a call has arguments; streamed, stock gives an empty text",
    ("jamba", "arguments first"): _ORDER,
    ("jamba", "text after the calls"): _DROPPED,
    ("deepseek_v3", "no end of calls"): _WHOLE,
    ("deepseek_v3", "text after the calls"): _DROPPED,
    ("deepseek_v31", "no end of calls"): _WHOLE,
    ("deepseek_v31", "text after the calls"): _DROPPED,
    ("deepseek_v31", "tabs"): _BOUNDED,
    ("deepseek_v3", "spaces around the arguments"): _FOLLOWED,
    ("deepseek_v31", "spaces around the arguments"): _FOLLOWED,
    **{
        (name, what): _SPELLING
        for name in ("pythonic", "llama4_pythonic")
        for what in (
            *("a tuple", "a hexadecimal number", "a grouped number", "a raw string"),
            *("strings beside one another", "triple quotes", "a comma after the arguments"),
            *("a comma in a list", "a float without zero"),
        )
    },
    ("qwen3_coder", "no </parameter> between"): "a value ends where its tag ends",
    ("qwen3_coder", "no </tool_call>"): _WHOLE,
    ("qwen3_coder", "white space between"): _BOUNDED,
    ("qwen3_coder", "two calls in one"): "each call has its tags",
    ("qwen3_coder", "text after the calls"): _DROPPED,
    ("glm45", "white space around name and key"): "a name begins where its tag ends",
    ("glm45", "text after the calls"): _DROPPED,
    ("minimax_m2", "single quotes"): "names stand in the template's quotes",
    ("minimax_m2", "no quotes"): "names stand in the template's quotes",
    ("minimax_m2", "no end of calls"): _WHOLE,
    ("minimax_m2", "text after the calls"): _DROPPED,
    ("minimax_m2", "white space between"): _BOUNDED,
    ("minimax_m2", "two sections"): "all calls of a turn stand in one section",
}

# What we read otherwise than stock does: the calls, and why.
OTHERWISE: Mapping[tuple[str, str], tuple[tuple[Call, ...], str]] = {
    ("llama3_json", "text before"): (
        (),
        "calls begin where the turn does; streamed, stock takes this for text, too",
    ),
}


def misread(name: str, turn: Turn, text: str, *, streamed: bool) -> str:
    """Say why stock vLLM may not read a turn as what it is; empty if it does."""
    found = (
        each.why
        for each in MISREAD
        if each.format == name and (streamed or not each.streams) and each.applies(turn, text)
    )
    return next(found, "")
