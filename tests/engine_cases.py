# ruff: noqa: E501 - a case reads best on one line
"""Schemas with valid and invalid instances, and ways of writing an instance.

Owns: what the engines' shared suite is run on. Must not know: engines.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any


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


_WEATHER = closed(
    {
        "city": {"type": "string"},
        "unit": {"enum": ["C", "F", 1, None]},
        "sure": {"type": "boolean"},
    },
    "city",
)
_TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": closed(
            {
                "v": {"type": "integer"},
                "next": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "v",
        )
    },
}

CASES = (
    Case("empty object", closed({}), ({},), ({"a": 1},), small=True),
    Case(
        "one enum",
        closed({"a": {"enum": ["x", "yé", 3.5, False, None]}}, "a"),
        ({"a": "x"}, {"a": "yé"}, {"a": 3.5}, {"a": False}, {"a": None}),
        ({}, {"a": "y"}, {"a": 3}, {"a": True}, {"b": "x"}, {"a": ["x"]}),
        small=True,
    ),
    Case(
        "one string",
        closed({"naïve": {"type": "string"}}),
        ({}, {"naïve": ""}, {"naïve": 'quoted " \\ / \n \u0001 日本 🙂'}),
        ({"naive": ""}, {"naïve": 1}, {"naïve": None}),
        small=True,
    ),
    Case(
        "bounded string",
        closed({"a": {"type": "string", "minLength": 1, "maxLength": 3}}),
        ({"a": "é"}, {"a": "🙂🙂🙂"}, {"a": "\n\t"}),
        ({"a": ""}, {"a": "abcd"}),
        small=True,
    ),
    Case(
        "pattern",
        closed({"id": {"type": "string", "pattern": "^[a-z]{2}-[0-9]+$", "maxLength": 6}}),
        ({"id": "ab-1"}, {"id": "ab-123"}),
        ({"id": "ab-1234"}, {"id": "ab-"}, {"id": "AB-1"}),
        small=True,
    ),
    Case(
        "number",
        closed({"a": {"type": "number"}}),
        ({"a": 0}, {"a": -1.5}, {"a": 1e30}, {"a": 2.5e-7}),
        ({"a": "1"}, {"a": None}),
        small=True,
    ),
    Case(
        "three properties",
        _WEATHER,
        ({"city": "Paris"}, {"city": "", "unit": "C", "sure": True}, {"city": "é", "unit": 1}),
        ({}, {"unit": "C"}, {"city": "x", "unit": "K"}, {"city": "x", "day": 1}),
    ),
    Case(
        "integers",
        closed({"n": {"type": "integer", "minimum": 1, "maximum": 100}, "m": {"type": "integer"}}),
        ({"n": 1}, {"n": 100, "m": -7}, {"n": 10.0}, {"m": 12345678901234}),
        ({"n": 0}, {"n": 101}, {"n": 1.5}, {"m": 0.5}),
    ),
    Case(
        "fraction bounds",
        closed({"p": {"type": "number", "minimum": 0, "maximum": 1}}),
        ({"p": 0}, {"p": 1}, {"p": 0.25}, {"p": 1.0}),
        ({"p": -0.5}, {"p": 1.25}, {"p": 2}),
    ),
    Case(
        "multiples",
        closed({"p": {"type": "number", "multipleOf": 0.25}}),
        ({"p": 0}, {"p": 1.5}, {"p": -0.75}, {"p": 12}),
        ({"p": 0.3}, {"p": 1.1}),
    ),
    Case(
        "arrays",
        closed({"a": {"type": "array", "items": {"enum": [1, "b"]}, "minItems": 1, "maxItems": 3}}),
        ({"a": [1]}, {"a": ["b", 1, "b"]}),
        ({"a": []}, {"a": [1, 1, 1, 1]}, {"a": [2]}, {"a": 1}),
    ),
    Case(
        "tuples",
        closed(
            {
                "a": {
                    "type": "array",
                    "prefixItems": [{"type": "boolean"}, {"type": "null"}],
                    "items": {"const": "z"},
                    "minItems": 1,
                }
            }
        ),
        ({"a": [True]}, {"a": [False, None]}, {"a": [True, None, "z", "z"]}),
        ({"a": []}, {"a": [None]}, {"a": [True, "z"]}, {"a": [True, None, None]}),
    ),
    Case(
        "union",
        {
            "type": "object",
            "anyOf": [
                closed({"kind": {"const": "a"}, "x": {"type": "null"}}, "kind", "x"),
                closed({"kind": {"const": "b"}, "y": {"type": "boolean"}}, "kind"),
            ],
        },
        ({"kind": "a", "x": None}, {"kind": "b"}, {"kind": "b", "y": True}),
        ({"kind": "a"}, {"kind": "a", "y": True}, {"kind": "b", "x": None}, {}),
    ),
    Case(
        "nested",
        closed({"at": closed({"lat": {"type": "number"}, "name": {"type": "string"}}, "lat")}, "at"),
        ({"at": {"lat": 1.5}}, {"at": {"name": "x", "lat": 0}}),
        ({"at": {}}, {"at": {"lat": "x"}}, {"at": None}),
    ),
    Case(
        "recursive",
        _TREE,
        ({"v": 1}, {"v": 1, "next": [{"v": 2, "next": []}, {"v": 3}]}),
        ({}, {"v": 1, "next": [{}]}, {"v": 1, "next": {"v": 2}}),
    ),
    Case(
        "open",
        {"type": "object", "properties": {"ab": {"type": "integer"}}, "required": ["ab"]},
        ({"ab": 1}, {"a": None, "ab": 2, "abc": [{"ab": "x"}]}, {"ab": 1, "": {}}),
        ({}, {"ab": "1"}, {"abc": 1}),
    ),
    Case(
        "typed others",
        {
            "type": "object",
            "properties": {"a": {"type": "null"}},
            "patternProperties": {"^x-": {"type": "string"}},
            "additionalProperties": {"type": "boolean"},
        },
        ({}, {"a": None, "x-y": "z", "b": True}, {"x": False}),
        ({"a": True}, {"x-y": True}, {"b": "z"}),
    ),
    Case(
        "counts",
        closed({"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, minProperties=1, maxProperties=2),
        ({"a": 1}, {"c": 3, "a": 1}),
        ({}, {"a": 1, "b": 2, "c": 3}),
    ),
    Case(
        "least count",
        closed({"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "a", minProperties=2),
        ({"a": 1, "b": 2}, {"c": 3, "a": 1}, {"a": 1, "b": 2, "c": 3}),
        ({}, {"a": 1}, {"b": 2, "c": 3}),
    ),
    Case(
        "counts of others",
        {"type": "object", "minProperties": 1, "maxProperties": 2},
        ({"a": 1}, {"a": 1, "b": []}),
        ({}, {"a": 1, "b": 2, "c": 3}),
    ),
    Case(
        "formats",
        closed({"u": {"type": "string", "format": "uuid"}}),
        ({"u": "123e4567-e89b-12d3-a456-426614174000"},),
        ({"u": "123"}, {"u": ""}),
    ),
    Case(
        "unique",
        closed({"a": {"type": "array", "items": {"enum": ["x", "y"]}, "uniqueItems": True}}),
        ({"a": []}, {"a": ["y", "x"]}),
        ({"a": ["x", "x"]},),
    ),
    Case(
        "nine properties",
        closed({name: {"const": 0} for name in "abcdefghi"}, "e"),
        ({"e": 0}, dict.fromkeys("ihgfedcba", 0)),
        ({}, {"e": 0, "j": 0}, {"e": 1}),
    ),
)  # fmt: skip


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
