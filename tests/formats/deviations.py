"""Where this library and stock vLLM 0.32 differ on purpose, each with an example and a reason.

Owns: what stock loses or garbles of turns that are right (`MISREAD`, whose examples are in
`cases/deviations.toml`), and texts that stock takes for calls and no dialect permits (`REFUSED`).
Must not know: how either side reads.

Tests run every example: one that does not happen any more is no deviation any more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.formats.tolerances import TEXTS
from tests.support import cases

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


def _is_any(turn: Turn, _: str) -> bool:
    return bool(turn.calls)


def _is_empty(turn: Turn, _: str) -> bool:
    return any(not call.arguments for call in turn.calls)


def _has_rewritten(turn: Turn, _: str) -> bool:
    """Tell whether a number is there that vLLM writes otherwise: a float that is whole."""

    def whole(value: object) -> bool:
        if isinstance(value, dict):
            return any(map(whole, value.values()))
        if isinstance(value, list):
            return any(map(whole, value))
        return isinstance(value, float) and value.is_integer()

    return any(whole(call.arguments) for call in turn.calls)


def _has_exponent(turn: Turn, text: str) -> bool:
    """Tell whether a number is there whose beginning is another number as JSON writes it."""
    return re.search(r"[0-9][eE][-+]?[0-9]|0\.0000", text) is not None and bool(turn.calls)


def _has_long_number(turn: Turn, text: str) -> bool:
    return bool(turn.calls) and re.search(r"[0-9.]{18}", text) is not None


def _follows_text(turn: Turn, text: str) -> bool:
    return bool(turn.calls) and not text.startswith("<function_call>")


def _ends_in_part_of_a_marker(turn: Turn, _: str) -> bool:
    marker = "<tool_call>"
    return any(turn.content.endswith(marker[:count]) for count in range(1, len(marker)))


def _is_joined_otherwise(turn: Turn, text: str) -> bool:
    return len(turn.calls) > 1 and text.count("}; {") < len(turn.calls) - 1


def _has_space_behind_name(_: Turn, text: str) -> bool:
    return re.search(r"\[TOOL_CALLS\][^\s\[{]*\s", text) is not None


def _has_space_before_colon(_: Turn, text: str) -> bool:
    return re.search(r'"\s+[:,]|"arguments"\s*:\{', text) is not None


def _has_tag(turn: Turn, _: str) -> bool:
    return "<parameter=" in str([call.arguments for call in turn.calls])


def _has_id(_: Turn, text: str) -> bool:
    return "[CALL_ID]" in text


def _is_spaced(turn: Turn, text: str) -> bool:
    """Tell whether stock's pattern of pythonic calls may not match."""
    begun = re.match(r"(<\|python_start\|>)?\[\w+\((\w+=|\))", text)
    spaced = re.search(r"\w\(\s|\)\s+,|[\r\n]", text)
    return bool(turn.calls) and (begun is None or spaced is not None)


_APPLIES = {
    each.__name__.removeprefix("_"): each
    for each in (
        *(_is_any, _is_empty, _is_spaced, _is_joined_otherwise, _has_rewritten, _has_exponent),
        *(_has_long_number, _has_tag, _has_id, _has_space_behind_name, _has_space_before_colon),
        *(_follows_text, _ends_in_part_of_a_marker),
    )
}
MISREAD = tuple(
    Misread(**{**each, "applies": _APPLIES[each["applies"]]})
    for each in cases.read("formats/cases/deviations.toml")
)

# What stock takes for right (format and `tolerances.Text.what`), no dialect permits, and why.
REFUSED: Mapping[tuple[str, str], str] = {
    (name, text.what): text.refused
    for name, texts in TEXTS.items()
    for text in texts
    if text.refused
}


def misread(name: str, turn: Turn, text: str, *, streamed: bool) -> str:
    """Say why stock vLLM may not read a turn as what it is; empty if it does."""
    found = (
        each.why
        for each in MISREAD
        if each.format == name and (streamed or not each.streams) and each.applies(turn, text)
    )
    return next(found, "")
