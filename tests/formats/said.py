"""Turns to be written and read in every format, and readings as values that can be compared."""

import json
from collections.abc import Iterable
from typing import Any

from bench.formats.catalogue import ROWS
from bench.formats.writers import Call, Turn
from tests.formats.ours import Read
from tests.formats.stock import Reading
from tests.support.tools import tool

TYPES = {"s": "string", "n": "integer", "o": "object", "x": "number", "y": "boolean"}
PARAMETERS = {
    "type": "object",
    "properties": {"a": {}, **{name: {"type": kind} for name, kind in TYPES.items()}},
}
TOOLS = [tool("w", PARAMETERS), tool("t")]
CALLS = (
    Call("w", {"s": 'b é "q" \n \t \\ }] it\'s', "n": 3, "o": {"k": [1, None]}}),
    Call("t", {}),
)


def turns(name: str, *, speaks: bool) -> list[Turn]:
    """Return turns of a row with and without calls, text and reasoning."""
    calls = CALLS if ROWS[name].parallel else CALLS[:1]
    said = [Turn("", calls), Turn("Hello."), Turn("", CALLS[:1]), Turn("", CALLS[1:])]
    if speaks:
        said.append(Turn("Let me look.", calls))
    if ROWS[name].think:
        said.append(Turn("So.", calls, "Hmm, well"))
    return said


def plain(read: Read | Reading) -> tuple[Any, ...]:
    """Return calls, text, reasoning and problem; no calls are None where one is no JSON.

    White space around a text is framing.
    """
    try:
        calls = [(name, json.loads(arguments)) for name, arguments in read.calls]
    except json.JSONDecodeError:
        calls = None
    return calls, read.content.strip(), read.reasoning.strip(), read.problem


def values(calls: Iterable[Call]) -> list[tuple[str, dict[str, Any]]]:
    """Return calls as `plain` does."""
    return [(call.name, dict(call.arguments)) for call in calls]


def meant(turn: Turn) -> tuple[Any, ...]:
    """Return what `plain` gives of a turn that is read right."""
    return values(turn.calls), turn.content.strip(), turn.reasoning or "", ""
