"""Recorded calls of real tools, and how their tokens are counted.

Owns: the tools and their calls, unwrapped, and the stretch of a call that a token begins in. Must
not know: which tokens are proposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bench.first_mask import tools as collected
from enforcer.turn.reader import native_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.matcher import Matcher

STRETCHES = ("header", "names", "values", "closers")
_MOST_ALIKE = 4  # calls of tools whose names begin alike
_ALIKE = 10  # characters
# Phases of the kernel's texts in which a value is written, and in which one begins.
_IN_VALUE = frozenset({7, 8, 15, 19})
_BEFORE_VALUE = frozenset({0, 9})
_SCALAR = b"-0123456789tfnTFN"


class Recorded(NamedTuple):
    """A call as somebody recorded it: its tool as a request declares it, and the arguments."""

    tool: dict[str, Any]
    arguments: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the tool."""
        found: str = self.tool["function"]["name"]
        return found


def recorded() -> list[Recorded]:
    """Return recorded calls, at most four of tools whose names begin alike."""
    found: list[Recorded] = []
    alike: dict[str, int] = {}
    for each in collected.load()[1]:
        call = _unwrapped(each)
        begins = call.name[:_ALIKE]
        alike[begins] = alike.get(begins, 0) + 1
        if call.arguments and alike[begins] <= _MOST_ALIKE:
            found.append(call)
    return found


def _unwrapped(entry: dict[str, Any]) -> Recorded:
    """Take off what the collection has put around the tools of one of its sources."""
    function, arguments = entry["function"], entry["valid_arguments"][0]
    name, parameters = function["name"], function["parameters"]
    if name.startswith("BFCL") and len(arguments) == 1:
        ((inner, arguments),) = arguments.items()
        name, parameters = inner.replace(".", "_"), parameters["properties"][inner]
    tool = {"type": "function", "function": {"name": name, "parameters": parameters}}
    return Recorded(tool, arguments)


def stretch(matcher: Matcher, token: bytes, *, ended: bool) -> str:
    """Return the stretch of a call that a token begins in: one of `STRETCHES`.

    Args:
        matcher: before the token.
        token: its bytes.
        ended: whether the arguments of the call have ended.

    """
    text = native_text(matcher.position.grammar)
    if not matcher.tool or text is None:
        return "closers" if ended else "header"
    phase = text.open_values()[0][0]
    begins = phase in _BEFORE_VALUE and token.lstrip()[:1] in set(map(_byte, _SCALAR))
    if phase in _IN_VALUE or begins:
        return "values"
    return "closers" if text.is_accepting() else "names"


def _byte(number: int) -> bytes:
    return bytes([number])


def padded(call: Recorded, count: int, others: Sequence[Recorded]) -> list[dict[str, Any]]:
    """Return the tools of a request: the call's own, and others up to a count."""
    found = {call.name: call.tool}
    for other in others:
        if len(found) == count:
            break
        found.setdefault(other.name, other.tool)
    return [found[name] for name in sorted(found)]
