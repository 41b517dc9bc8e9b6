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


_NEVER = "streamed, `{}` as arguments"

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
        "streamed, calls after text",
    ),
    Misread(
        "internlm",
        _in_exponents,
        '<|action_start|><|plugin|>{"name": "w", "parameters": {"x": -4E-2}}<|action_end|>'
        "<|im_end|>",
        "streamed, numbers with exponents",
    ),
    Misread(
        "granite_20b_fc",
        _in_exponents,
        '<function_call> {"name": "w", "arguments": {"x": 3.482e-1}}<|endoftext|>',
        "streamed, numbers with exponents",
    ),
    Misread(
        "hermes",
        lambda turn, _: _ends_in_part_of("<tool_call>", turn.content),
        "Less <<|im_end|>",
        "streamed, text that could begin a marker",
    ),
    Misread(
        "llama3_json",
        lambda turn, text: len(turn.calls) > 1 and text.count("}; {") < len(turn.calls) - 1,
        '{"name": "w", "parameters": {"a": "b"}};{"name": "w", "parameters": {"a": "b"}}<|eot_id|>',
        "streamed, calls not separated by `; `",
    ),
    Misread(
        "llama3_json",
        lambda turn, text: bool(turn.calls) and re.search(r"[0-9.]{18}", text) is not None,
        '{"name": "w", "parameters": {"x": 5.6791600685643236490808546597149576535267E-115}}'
        "<|eot_id|>",
        "streamed, digits beyond a double's",
    ),
    Misread(
        "mistral",
        lambda _, text: re.search(r"\[TOOL_CALLS\][^\s\[{]*\s", text) is not None,
        '[TOOL_CALLS]w {"a": "b"}</s>',
        "streamed, white space after a name (joins it)",
    ),
    Misread(
        "mistral_v3",
        lambda _, text: re.search(r'"\s+[:,]|"arguments"\s*:\{', text) is not None,
        '[TOOL_CALLS] [{"name": "w", "arguments"\r\n:{"a": "b"}}]</s>',
        "streamed, arguments after white space before a colon or comma, or a token of colon and "
        "bracket",
    ),
    *(
        Misread(
            name,
            _spaced,
            '\n[w(a="b")]' + FORMATS[name].end,
            "calls with white space around a bracket, parenthesis or first key or before the comma "
            "between calls, or with line breaks in arguments",
            streams=False,
        )
        for name in ("pythonic", "llama4_pythonic")
    ),
    Misread(
        "qwen3_coder",
        lambda turn, _: "<parameter=" in str([call.arguments for call in turn.calls]),
        "<tool_call><function=w><parameter=a>b<parameter=q>3</parameter></function></tool_call>"
        "<|im_end|>",
        "values from the text of a tag on",
        streams=False,
    ),
    Misread(
        "jamba",
        _has_calls,
        '<tool_calls>[{"name": "w", "arguments": {"a": "b", "n": 3}}]</tool_calls><|eom|>',
        "streamed, ends of strings (and repeats pieces)",
    ),
    Misread(
        "granite",
        _rewritten,
        '<|tool_call|> [{"name": "w", "arguments": {"x": 1e+20, "n": 3}}]<|end_of_text|>',
        "streamed, `1e+20` and what follows",
    ),
    Misread(
        "mistral",
        lambda _, text: "[CALL_ID]" in text,
        '[TOOL_CALLS]w[CALL_ID]abcdefgh1[ARGS]{"a": "b"}</s>',
        "a call's id (joins the name)",
        streams=False,
    ),
)

# What stock takes for right (format and `tolerances.Text.what`), no dialect permits, and why.
_ORDER = "a name precedes its arguments"
_BOUNDED = "white space is one space, or a line break with indentation"
_DROPPED = "no text follows a call; vLLM drops it, or sends it only when it streams"
_KEYS = "a call has no further keys"
_WHOLE = "calls, and lists of calls, end with the template's markers"
_FOLLOWED = "no white space around the arguments"
_ATTRIBUTES = "attributes have one order"
_TAGS = "no white space in or between tags"
_ID = "ids follow the arguments"
_ARGUMENTS = "a call has arguments"
_AROUND = "no white space around names and keys"
_QUOTED = "names have the template's quotes"
_SPELLING = "no tuple, `0x1F`, `1_000`, `.5`, `r'b'`, `'''b'''`, joined strings or trailing comma"

REFUSED: Mapping[tuple[str, str], str] = {
    ("kimi_k2", "runs of white space"): _BOUNDED,
    ("kimi_k2", "another index"): "the index counts the dialog's calls",
    ("kimi_k2", "no prefix"): "an id is `functions.NAME:INDEX`",
    ("kimi_k3", "an index of the dialog"): "the index counts the message's calls",
    ("kimi_k3", "attributes swapped"): _ATTRIBUTES,
    ("kimi_k3", "attributes of an argument swapped"): _ATTRIBUTES,
    ("kimi_k3", "no index"): "the index counts the message's calls",
    ("kimi_k3", "no type"): "types are written",
    ("kimi_k3", "no end of message"): _WHOLE,
    ("kimi_k3", "no end of calls"): _WHOLE,
    ("kimi_k3", "white space between tags"): _TAGS,
    ("kimi_k3", "white space in a tag"): _TAGS,
    ("kimi_k3", "no end of the response"): "tools follow the end of the response",
    ("kimi_k3", "the arguments as one JSON"): ("arguments are no JSON, which vLLM reads as `{}`"),
    ("hermes", "runs of white space"): _BOUNDED,
    ("hermes", "an empty line between calls"): _BOUNDED,
    ("hermes", "arguments first"): _ORDER,
    ("hermes", "a further key"): _KEYS,
    ("hermes", "last tag missing"): _WHOLE,
    ("hermes", "text between calls"): _DROPPED,
    ("hermes", "text after the calls"): _DROPPED,
    (
        "hermes",
        "an escaped name",
    ): "names have no escapes",
    ("mistral_v3", "runs of white space"): _BOUNDED,
    ("mistral_v3", "arguments first"): _ORDER,
    ("mistral_v3", "id first"): _ID,
    ("mistral_v3", "id between"): _ID,
    ("mistral_v3", "arguments as a string"): "arguments are an object, not a string",
    ("mistral_v3", "a bare object"): "calls are a list",
    ("mistral_v3", "text after the calls"): _DROPPED,
    ("mistral_v3", "the marker twice"): "calls begin once",
    ("mistral_v3", "no arguments"): _ARGUMENTS,
    ("mistral", "white space around the name"): _AROUND,
    (
        "mistral",
        "text after the calls",
    ): "no text follows arguments, which it joins when vLLM streams",
    ("mistral", "no arguments"): _ARGUMENTS,
    ("llama3_json", "parameters first"): _ORDER,
    (
        "llama3_json",
        "a newline between calls",
    ): "`;` separates calls, not a line break",
    ("llama3_json", "text after"): _DROPPED,
    ("granite", "arguments first"): _ORDER,
    ("granite", "text after the calls"): _DROPPED,
    ("granite", "a further key"): _KEYS,
    ("granite_20b_fc", "arguments first"): _ORDER,
    ("granite_20b_fc", "text after the calls"): _DROPPED,
    ("internlm", "parameters first"): _ORDER,
    ("internlm", "no end marker"): _WHOLE,
    ("internlm", "text after the call"): _DROPPED,
    ("internlm", "no arguments"): _ARGUMENTS,
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
    ("qwen3_coder", "no </parameter> between"): "a value ends with its tag",
    ("qwen3_coder", "no </tool_call>"): _WHOLE,
    ("qwen3_coder", "white space between"): _BOUNDED,
    ("qwen3_coder", "two calls in one"): "each call has its own tags",
    ("qwen3_coder", "text after the calls"): _DROPPED,
    ("glm45", "white space around name and key"): _AROUND,
    ("glm45", "text after the calls"): _DROPPED,
    ("minimax_m2", "single quotes"): _QUOTED,
    ("minimax_m2", "no quotes"): _QUOTED,
    ("minimax_m2", "no end of calls"): _WHOLE,
    ("minimax_m2", "text after the calls"): _DROPPED,
    ("minimax_m2", "white space between"): _BOUNDED,
    ("minimax_m2", "two sections"): "all calls of a turn are in one section",
}

# What we read otherwise than stock does: the calls, and why.
OTHERWISE: Mapping[tuple[str, str], tuple[tuple[Call, ...], str]] = {
    ("llama3_json", "text before"): (
        (),
        "calls begin where the turn does; streamed, vLLM takes this for text, too",
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
