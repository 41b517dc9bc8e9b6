"""Where this library and stock vLLM 0.32 differ on purpose, each with an example and a reason.

Owns: what stock loses or garbles of turns that are right (`MISREAD`), and texts that stock
takes for calls and no dialect permits (`REFUSED`). Must not know: how either side reads.

Tests run every example: one that does not happen any more is no deviation any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.formats.writers import Turn


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
        lambda turn, _: bool(turn.calls) and bool(turn.content),
        'Look.<function_call> {"name": "w", "arguments": {"a": "b"}}<|endoftext|>',
        "streamed, a call behind text is not seen: everything is content",
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
REFUSED: Mapping[tuple[str, str], str] = {}


def misread(name: str, turn: Turn, text: str, *, streamed: bool) -> str:
    """Say why stock vLLM may not read a turn as what it is; empty if it does."""
    found = (
        each.why
        for each in MISREAD
        if each.format == name and (streamed or not each.streams) and each.applies(turn, text)
    )
    return next(found, "")
