"""Schemas with valid and invalid instances, and ways of writing an instance.

Owns: what the engines' shared suite is run on. Must not know: engines.
"""

import json
import random
from dataclasses import dataclass
from typing import Any

from tests.support import cases


@dataclass(frozen=True)
class Case:
    """A schema and what fits it or not; `small` if even a plain automaton holds it."""

    name: str
    schema: Any
    valid: tuple[Any, ...]
    invalid: tuple[Any, ...]
    small: bool = False


def closed(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


CASES = tuple(
    Case(
        each["name"],
        each["schema"],
        tuple(map(json.loads, each["valid"])),
        tuple(map(json.loads, each["invalid"])),
        each.get("small", False),
    )
    for each in cases.read("cases/engine.toml")
)


def shuffled(value: Any, seed: int) -> Any:
    """Give the same value with the properties of every object in another order."""
    draw = random.Random(seed)
    if isinstance(value, dict):
        names = draw.sample(list(value), len(value))
        return {name: shuffled(value[name], seed + 1) for name in names}
    if isinstance(value, list):
        return [shuffled(each, seed + 1) for each in value]
    return value


def escaped(text: str) -> str:
    """Spell every letter of names and texts as an escape, in upper and lower case."""
    out = []
    inside = skip = False
    for char in text:
        if skip or char == "\\":
            skip = not skip
            out.append(char)
        elif char == '"':
            inside = not inside
            out.append(char)
        elif inside:
            units = char.encode("utf-16-be").hex()
            codes = [units[i : i + 4] for i in range(0, len(units), 4)]
            out.append("".join("\\u" + (c.upper() if len(out) % 2 else c) for c in codes))
        else:
            out.append(char)
    return "".join(out)


def spellings(value: Any) -> dict[str, str]:
    """Write a value in the ways that programs and models write."""
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return {
        "compact": compact,
        "default": json.dumps(value),
        "indented": json.dumps(value, indent=2, ensure_ascii=False),
        "tabs": json.dumps(value, indent="\t").replace("\n", "\r\n"),
        "shuffled": json.dumps(shuffled(value, 7), ensure_ascii=False),
        "spaced": " " + compact.replace("{", "{ ").replace("}", " }")
        if compact == "{}"
        else compact,
        "escaped": escaped(compact) if "\\" not in compact else compact,
    }
