"""Where this library and stock vLLM 0.32 differ on purpose, each with an example and a reason.

Owns: what stock loses or garbles of turns that are right (`MISREAD`), and texts that stock
takes for calls and no dialect permits (`REFUSED`). Must not know: how either side reads.

Tests run every example: one that does not happen any more is no deviation any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.formats.writers import Call, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

W = Call("w", {"a": "b"})
T = Call("t", {})


@dataclass(frozen=True, slots=True)
class Misread:
    """A turn that stock vLLM, streaming an id a delta, does not read as what it is.

    Attributes:
        applies: tells from a turn whether this may happen to it.
        example: a turn to which it does happen.
        why: what stock does.

    """

    format: str
    applies: Callable[[Turn], bool]
    example: Turn
    why: str


def _empty(turn: Turn) -> bool:
    return any(not call.arguments for call in turn.calls)


def _rewritten(turn: Turn) -> bool:
    """Tell whether a number is there that vLLM writes otherwise: a float that is whole."""

    def whole(value: object) -> bool:
        if isinstance(value, dict):
            return any(map(whole, value.values()))
        if isinstance(value, list):
            return any(map(whole, value))
        return isinstance(value, float) and value.is_integer()

    return any(whole(call.arguments) for call in turn.calls)


_NEVER = "streamed, arguments that are an empty object never come: the client gets ''"

MISREAD: tuple[Misread, ...] = (
    *(
        Misread(name, applies=_empty, example=Turn("", (T,)), why=_NEVER)
        for name in ("llama3_json", "granite_20b_fc", "internlm")
    ),
    Misread(
        "granite_20b_fc",
        applies=lambda turn: bool(turn.calls) and bool(turn.content),
        example=Turn("Let me look.", (W,)),
        why="streamed, a call behind text is not seen: everything is content",
    ),
    Misread(
        "jamba",
        applies=lambda turn: bool(turn.calls),
        example=Turn("", (Call("w", {"a": "b", "n": 3}),)),
        why="streamed, strings lose their end and pieces come twice: no JSON",
    ),
    Misread(
        "granite",
        applies=_rewritten,
        example=Turn("", (Call("w", {"x": 1e20, "n": 3}),)),
        why="streamed, 1e+20 becomes 100000000000000000000 at the end, and what follows is lost",
    ),
)


def misread(name: str, turn: Turn) -> str:
    """Say why stock vLLM, streaming, may not read a turn as what it is; empty if it does."""
    found = (each.why for each in MISREAD if each.format == name and each.applies(turn))
    return next(found, "")
