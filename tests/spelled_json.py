"""The ways in which a model may write one JSON value.

Owns: spacing, order of properties, escapes and the spelling of numbers. Must not know:
schemas.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
# Indentation by spaces or tabs, and what ends a line; None for one line.
_INDENTS = (None, None, ("  ", "\n"), ("    ", "\n"), ("\t", "\n"), (" ", "\r\n"), ("", "\n"))


@dataclass(frozen=True, slots=True)
class Form:
    """How one text is written.

    Attributes:
        comma: what stands between members.
        colon: what stands between a name and its value.
        indent: indentation of one level and the end of a line; None for a single line.
        escaped: share of the characters written as escapes.
        shuffled: whether properties come in random order.
        numbers: whether numbers may be written in other ways than Python's.

    """

    comma: str = ","
    colon: str = ":"
    indent: tuple[str, str] | None = None
    escaped: float = 0.0
    shuffled: bool = False
    numbers: bool = False

    @classmethod
    def drawn(cls, random: Random, *, numbers: bool) -> Form:
        """Choose a form; the three printers' own are the likeliest."""
        return cls(
            random.choice((",", ", ")),
            random.choice((":", ": ", ": ", " : ")),
            random.choice(_INDENTS),
            random.choice((0.0, 0.0, 0.3, 1.0)),
            random.random() < 0.7,
            numbers and random.random() < 0.5,
        )


COMPACT = Form()
DEFAULT = Form(", ", ": ")
INDENTED = Form(",", ": ", ("  ", "\n"))


def spell(value: Any, form: Form, random: Random, depth: int = 0) -> str:
    """Write a value in a form."""
    if isinstance(value, dict):
        members = list(value.items())
        if form.shuffled:
            random.shuffle(members)
        parts = [
            f"{_string(name, form, random)}{form.colon}{spell(each, form, random, depth + 1)}"
            for name, each in members
        ]
        return _enclosed("{}", parts, form, depth)
    if isinstance(value, list):
        parts = [spell(each, form, random, depth + 1) for each in value]
        return _enclosed("[]", parts, form, depth)
    if isinstance(value, str):
        return _string(value, form, random)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and form.numbers:
        return random.choice(numbers(value))
    return json.dumps(value)


def _enclosed(brackets: str, parts: list[str], form: Form, depth: int) -> str:
    if not parts or form.indent is None:
        return brackets[0] + form.comma.join(parts) + brackets[1]
    indent, line = form.indent
    inner = line + indent * (depth + 1)
    comma = form.comma.rstrip()
    return brackets[0] + inner + f"{comma}{inner}".join(parts) + line + indent * depth + brackets[1]


def _string(text: str, form: Form, random: Random) -> str:
    return '"' + "".join(_character(c, form, random) for c in text) + '"'


def _character(character: str, form: Form, random: Random) -> str:
    if random.random() < form.escaped:
        if character in _SHORT and random.random() < 0.3:
            return "\\" + _SHORT[character]
        units = character.encode("utf-16-be")
        spelled = random.choice(("{:04x}", "{:04X}"))
        return "".join(
            "\\u" + spelled.format(int.from_bytes(units[i : i + 2], "big"))
            for i in range(0, len(units), 2)
        )
    if character in '"\\' or character < " ":
        return json.dumps(character)[1:-1]
    return character


def numbers(value: float) -> list[str]:
    """List spellings of a number, all of the same value, that docs/schema-support.md promises."""
    plain = json.dumps(value)
    out = [plain]
    exact = Fraction(value) if isinstance(value, int) else Fraction(repr(value))
    # A larger integer with a point would be rounded, and may be another one.
    if "e" not in plain and ("." in plain or abs(value) <= 2**53):
        out += [f"{plain}0", f"{plain}000"] if "." in plain else [f"{plain}.0", f"{plain}.000"]
    if plain.endswith(".0"):
        out.append(plain[:-2])
    if exact == 0:
        return [*out, "-0", "-0.0"]
    digits, exponent = _scientific(abs(exact))
    mantissa = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
    if exact.denominator == 1 and len(digits) > 1 and (3 < exponent < 16 or len(digits) > 17):
        return out  # an integer that no program prints with an exponent
    sign = "-" if exact < 0 else ""
    signed = f"+{exponent}" if exponent >= 0 else str(exponent)
    out += [f"{sign}{mantissa}e{exponent}", f"{sign}{mantissa}E{signed}"]
    if not digits[1:]:
        out.append(f"{sign}{mantissa}.0e{exponent}")
    return out


def _scientific(value: Fraction) -> tuple[str, int]:
    exponent = 0
    while value >= 10:
        value, exponent = value / 10, exponent + 1
    while value < 1:
        value, exponent = value * 10, exponent - 1
    digits = ""
    while value:
        digit = int(value)
        digits += str(digit)
        value = (value - digit) * 10
    return digits, exponent
