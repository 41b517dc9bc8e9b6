"""Schemas that are made to cost, and where texts of them go.

Owns: the draws; each is made by a seed. Must not know: engines, times.
"""

from __future__ import annotations

import json
import re
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Schema = dict[str, Any]

_NAMES = "abcdefgh"
_SETS = ("[ab]", "[^a]", r"\w", r"\s", "[a-c]")
_LENGTHS = (20, 64, 200, 1_000, 5_000)
# What a text of structures goes on with where it may; anything legal else.
PIECES = (*'{[}]"1abcde', *('{"', '["', '[{"', '","', '",', '":', '": ', '"b":'))
LETTERS = tuple("ab c")


def patterns(random: Random) -> Schema:
    """Draw a string under up to four patterns of bounded repetition."""
    parts: list[Schema] = [{"pattern": _sequence(random, 0)} for _ in range(random.randint(1, 4))]
    string: Schema = {
        "type": "string",
        "allOf": [part if random.random() < 0.8 else {"not": part} for part in parts],
    }
    if random.random() < 0.5:
        string["maxLength"] = random.choice(_LENGTHS)
    return {"type": "object", "properties": {"a": string}, "required": ["a"]}


def _sequence(random: Random, depth: int) -> str:
    most = 2 if depth > 2 else 3
    return "".join(_atom(random, depth) for _ in range(random.randint(1, most)))


def _atom(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.3:
        return random.choice("ab")
    if kind < 0.45:
        return "."
    if kind < 0.55:
        return random.choice(_SETS)
    if kind < 0.75:
        return f"(?:{_sequence(random, depth + 1)}|{_sequence(random, depth + 1)})"
    if kind < 0.9:
        return f"(?:{_sequence(random, depth + 1)}){_quantifier(random)}"
    return random.choice("ab") + _quantifier(random)


def _quantifier(random: Random) -> str:
    least = random.randint(0, 30)
    most = least + random.randint(1, 20)
    return random.choice(["*", "+", "?", f"{{{least}}}", f"{{{least},{most}}}"])


def structures(random: Random) -> Schema:
    """Draw unions of objects and arrays that overlap."""
    return {
        "type": "object",
        "properties": {"r": _node(random, random.randint(2, 5))},
        "required": ["r"],
        "definitions": {name: _node(random, random.randint(1, 3)) for name in "xyz"},
    }


def _node(random: Random, depth: int) -> Schema:
    kind = random.random()
    if depth <= 0 or kind < 0.15:
        return _leaf(random)
    if kind < 0.5:
        return _object(random, depth)
    if kind < 0.65:
        least, most = random.choice([0, 0, 2]), random.choice([4, 9, 99])
        return {
            "type": "array", "items": _node(random, depth - 1), "minItems": least, "maxItems": most
        }  # fmt: skip
    if kind < 0.72:
        return {"$ref": "#/definitions/" + random.choice("xyz")}
    if kind < 0.85:
        base = _node(random, depth - 1)
        more: list[Schema] = [{}, *({"required": [name]} for name in _NAMES)]
        return {"anyOf": [base | random.choice(more) for _ in range(random.randint(2, 5))]}
    branches = [_node(random, depth - 1) for _ in range(random.randint(2, 8))]
    return {random.choice(["anyOf", "anyOf", "oneOf"]): branches}


def _object(random: Random, depth: int) -> Schema:
    names = random.sample(_NAMES, random.randint(1, 6))
    found: Schema = {
        "type": "object",
        "properties": {name: _node(random, depth - 1) for name in names},
        "required": random.sample(names, random.choice([0, 0, 1, len(names)])),
    }
    if random.random() < 0.3:
        found["additionalProperties"] = random.choice([False, _leaf(random)])
    if random.random() < 0.2:
        found["minProperties"] = random.randint(1, 3)
    return found


def _leaf(random: Random) -> Schema:
    leaves: list[Schema] = [
        *({"type": name} for name in ("string", "number", "integer", "boolean", "null")),
        {"enum": ["a", "b"]},
        {},
        {"const": 1},
        {"type": "string", "maxLength": random.randint(1, 30)},
    ]
    return random.choice(leaves)


def lengths(random: Random) -> Schema:
    """Draw an array of distinct objects that differ in a string of few characters alone."""
    string: Schema = {"type": "string", "maxLength": random.randint(1, 30)}
    if random.random() < 0.3:
        string["pattern"] = random.choice(("^[^<>]*$", r"^\S.*$", "^[a-z ]*$"))
    return _distinct({"s": string, "k": {"type": "boolean"}}, random.choice((["s"], ["s", "k"])))


def members(random: Random) -> Schema:
    """Draw an array of distinct objects of a few members that may be left out."""
    values = random.choice(([True, False], [True, False, None]))
    names = _NAMES[: random.randint(2, 6 if len(values) == 2 else 4)]
    return _distinct({name: {"enum": values} for name in names}, [])


def bounds(random: Random) -> Schema:
    """Draw a string of one of many ranges of lengths, behind whose pattern few texts are left."""
    pattern = random.choice(("^[^x]*x?$", "^[^xbBX1,]*x?$", "^[^x]*x[^y]{0,40}$", "^[^<]*$"))
    step, width = random.choice(((7, 2), (10, 3), (50, 20)))
    lengths = [(step * at, step * at + width) for at in range(random.choice((2, 5, 20, 40)))]
    strings = [
        {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
        for least, most in lengths
    ]
    string = {random.choice(("anyOf", "oneOf")): strings}
    return {"type": "object", "properties": {"a": string}, "required": ["a"]}


def ranges(random: Random) -> Schema:
    """Draw a string of characters of many ranges, which a pattern tells apart."""
    step = random.randint(2, 4)
    first, count = random.choice(((0x4E00, 5_000), (0x4E00, 500), (0xAC00, 2_500), (0x3041, 40)))
    characters = "".join(chr(first + step * at) for at in range(count))
    half = random.choice((f"[{characters}]", f"[^{characters}]", f"(?:a|[{characters}])"))
    pattern = f"^{half}{random.choice(('{1,3}', '{2}', '*', '+', '{0,9}'))}[a-z]?$"
    string = {"type": "string", "pattern": pattern}
    return {"type": "object", "properties": {"a": string}, "required": ["a"]}


def names(random: Random) -> Schema:
    """Draw an object with undeclared properties."""
    schema: Schema = {"type": "object", "properties": {"known": {"type": "string"}}}
    if random.random() < 0.5:
        schema["patternProperties"] = {"^[nk]": {"type": "integer"}}
    return schema


def _distinct(properties: Schema, required: list[str]) -> Schema:
    items = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    array = {"type": "array", "items": items, "uniqueItems": True}
    return {"type": "object", "properties": {"r": array}, "required": ["r"]}


def near_length(schema: Schema, random: Random) -> str:
    """Begin a string near its greatest length, behind others that begin in the same way."""
    string = schema["properties"]["r"]["items"]["properties"]["s"]
    most = string["maxLength"]
    begun = "x" * max(0, most - random.randint(0, 4))
    room = most - len(begun)
    written = {begun + word[:room] for word in ("", "a", "b", "the", "of a", "go", "is it")}
    fit = sorted(each for each in written if re.search(string.get("pattern", ""), each))
    elements = [{"s": each, "k": at % 2 == 0} for at, each in enumerate(fit)]
    return f'{{"r": {json.dumps(elements)[:-1]}, {{"s": "{begun}'


def nearly_full(schema: Schema, random: Random) -> str:
    """Write nearly all objects that there are."""
    properties = schema["properties"]["r"]["items"]["properties"]
    ways = [[None, *((name, x) for x in each["enum"])] for name, each in properties.items()]
    every = [dict(filter(None, way)) for way in product(*ways)]
    random.shuffle(every)
    return f'{{"r": {json.dumps(every[random.randint(0, 3) :])[:-1]}'


def many_names(_: Schema, random: Random) -> str:
    """Write many properties, most of whose names begin alike."""
    count = random.choice((30, 300, 300, 2_000))
    written = (random.choice(("n", "n1", "k", "的")) + str(at) for at in range(count))
    begun = json.dumps(dict.fromkeys(written, 1), ensure_ascii=False)[:-1]
    return begun + random.choice((', "n', ', "', ', "n1', ', "的', ", "))


# How each is drawn, how its texts begin, and what they go on with.
KINDS: dict[
    str,
    tuple[Callable[[Random], Schema], Callable[[Schema, Random], str], tuple[str, ...]],
] = {
    "patterns": (patterns, lambda *_: '{"a": "', LETTERS),
    "structures": (structures, lambda *_: '{"r": ', PIECES),
    "lengths": (lengths, near_length, (*LETTERS, '"', "的", '", "', '"}, {"')),
    "bounds": (bounds, lambda *_: '{"a": "', (*LETTERS, "x", " the", "xy")),
    "ranges": (ranges, lambda *_: '{"a": "', ("一", "的", "是一", "가", "の", "a")),
    "names": (names, many_names, (*"n1k的", '": ', "1", '", "', ', "n')),
    "members": (members, nearly_full, (*PIECES, "true", "false", '", "', '":true', "},")),
}
