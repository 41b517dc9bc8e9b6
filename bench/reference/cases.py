"""The turns of the reference: which requests are made, and the token ids that follow.

A case is a format, a tool (or a format of text), and either a text that fits it or a seed by which
a walk is drawn from the bitmasks themselves. Real schemas are named by their place in the case
files, which are not part of the repository.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from bench import raw_strings, unions
from bench.first_mask.tools import load as load_tools
from bench.formats import writers
from bench.formats.catalogue import FORMATS
from bench.longest_masks import drawn
from bench.longest_masks.__main__ import cases as real_cases
from enforcer.regex.formats import FORMATS as STRING_FORMATS
from tests.engine_cases import CASES, closed

if TYPE_CHECKING:
    from collections.abc import Iterator

# Formats whose arguments are not one JSON object.
OTHER_LAYOUTS = ("kimi_k3", "glm45", "qwen3_coder", "minimax_m2", "pythonic", "llama4_pythonic")
_SEED = 20261127
_DRAWN = 80  # schemas of each drawn kind
_WALKS = 3  # of each schema written for the reference
_TOOLS_A_FORMAT = 45


def _array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _string(pattern: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "string", **({} if pattern is None else {"pattern": pattern}), **more}


# By the constraint that they are about; each is the value of one required property, `a`.
VALUES: dict[str, list[Any]] = {
    "lengths": [
        _string("^[a-z]*$", maxLength=12),
        _string("^(ab|c{3})+$", minLength=5, maxLength=200),
        _string("^[^<]*$", minLength=2, maxLength=30),
        _string("a.*b", maxLength=64),
        _string(format="uri", maxLength=40),
        _string(minLength=3, maxLength=9),
        _string("\\d{2}$", maxLength=2048),
    ],
    "distinct": [
        _array(_string(), uniqueItems=True),
        _array(_string("^[a-c]$"), uniqueItems=True),
        _array(_string("^[a-z]{2}$"), uniqueItems=True, maxItems=5),
        _array({"type": "integer", "minimum": 0, "maximum": 12}, uniqueItems=True, minItems=2),
        _array({"type": "number"}, uniqueItems=True),
        _array({"enum": ["x", 1, None, [1], {"k": 2}]}, uniqueItems=True),
        _array({"type": ["boolean", "null"]}, uniqueItems=True),
        _array(
            closed({"k": _string(maxLength=2), "n": {"type": "integer"}}, "k"), uniqueItems=True
        ),
        _array(_array({"enum": [0, 1]}, maxItems=2), uniqueItems=True),
        _array({}, uniqueItems=True, maxItems=4),
    ],
    "names": [
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "patternProperties": {"^[a-c]$": {}}, "additionalProperties": False},
        {"type": "object", "propertyNames": _string("^[a-z]{1,3}$"), "minProperties": 2},
        {"type": "object", "minProperties": 2, "maxProperties": 3},
        {"type": "object", "properties": {"x": {}}, "minProperties": 3},
        {"type": "object", "not": {"required": ["x"]}},
        {"type": "object", "dependentRequired": {"x": ["y"]}, "properties": {"x": {}, "y": {}}},
        closed({f"p{n}": {"enum": [n]} for n in range(70)}, "p3", "p69"),
        {"type": "object", "not": {"propertyNames": {"pattern": "^a"}}},
    ],
    "counts": [
        _array({}, contains=_string(), minContains=2),
        _array({"type": ["string", "null"]}, contains={"type": "null"}, maxContains=1),
        _array({"enum": [1, 2]}, minItems=3, maxItems=6),
        {"type": "array", "prefixItems": [{"const": 1}, _string()], "items": False},
        {"type": "array", "prefixItems": [{}], "contains": {"const": 7}, "maxItems": 4},
    ],
    "numbers": [
        {"type": "integer", "multipleOf": 7},
        {"type": "number", "multipleOf": 0.01, "minimum": -3, "exclusiveMaximum": 12.5},
        {"type": "integer", "minimum": -120, "maximum": 9_007_199_254_740_993},
        {"type": "number", "exclusiveMinimum": 99.5, "maximum": 100.25},
        {"type": "number", "not": {"type": "integer"}},
        {"type": "integer", "multipleOf": 16, "minimum": 5},
        {"enum": [1, 1.5, -2e10, 100]},
    ],
    "strings": [
        _string(),
        _string("^[\\p{L} ]+$"),
        _string("[^\\x00-\\x7f]"),
        _string("^a|b$"),
        {"not": {"const": "ab"}, "type": "string"},
        {"enum": ["a", "ab", "abc", 'q"\\', "日本", "</tool_call>", "<|close|>", "\n"]},
        _string("^(?!x)"),
        *(_string(format=name) for name in sorted(STRING_FORMATS)),
    ],
    "unions": [
        unions.union(3, 2),
        {"anyOf": [{"type": "integer"}, _string(), {"type": "null"}, closed({"k": {}}, "k")]},
        {"oneOf": [closed({"t": {"const": c}, c: {"type": "integer"}}, "t") for c in "abc"]},
        {"if": {"required": ["x"]}, "then": {"required": ["y"]}, "else": {"required": ["z"]}},
    ],
}
_HEAD = "def f(a, b):\n    return a < b and '</x>' != \"<|close|>\"\n"
RAW = (
    raw_strings.CODE,
    raw_strings.MARKUP,
    _HEAD,
    "a</parameter", "b</arg_value", "c\n</parameter>x", "<", "\n", "", " x ", "true", "12", "{}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A turn to follow.

    Attributes:
        key: names it; equal keys do not occur.
        format: a file in `grammars/`.
        schema: of the one tool, `f`, that has to be called; or of the text, if `is_text`.
        text: the turn as a template writes it; None for a walk, whose seed is the key.

    """

    key: str
    format: str
    schema: Any
    text: str | None = None
    is_text: bool = False
    seed: Random = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", Random(f"{_SEED} {self.key}"))

    def request(self) -> dict[str, Any]:
        """Return the arguments of `Enforcer.matcher`."""
        if self.is_text:
            schema = {"name": "f", "schema": self.schema}
            return {
                "tools": None,
                "response_format": {"type": "json_schema", "json_schema": schema},
            }
        function = {"name": "f", "parameters": self.schema}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "required",
            "parallel_tool_calls": False,
        }


def all_cases() -> Iterator[Case]:
    """Yield every case, always in the same order; those of one format stand together."""
    yield from _kimi()
    for name in sorted(set(FORMATS) - {"kimi_k2"}):
        yield from _format(name)


def _kimi() -> Iterator[Case]:
    for at, tool in enumerate(load_tools()[1]):
        function = tool["function"]
        for n, arguments in enumerate(tool["valid_arguments"][:2]):
            key = f"tool {at} {n}"
            yield Case(key, "kimi_k2", function["parameters"], _kimi_text(key, arguments))
    for name, schema, instances in real_cases("maskbench"):
        for n, instance in enumerate(instances[:1]):
            key = f"maskbench {name} {n}"
            yield Case(key, "kimi_k2", schema, _json(key, instance), is_text=True)
    for case in CASES:
        for n, value in enumerate((*case.valid, *case.invalid)):
            key = f"engine {case.name} {n}"
            yield Case(key, "kimi_k2", case.schema, _kimi_text(key, value))
    yield from _walks("kimi_k2")
    for kind, (draw, *_) in drawn.KINDS.items():
        for at in range(_DRAWN):
            schema = draw(Random(f"{_SEED} {kind} {at}"))
            for n in range(2):
                yield Case(f"drawn {kind} {at} {n}", "kimi_k2", schema)


def _format(name: str) -> Iterator[Case]:
    for at, tool in enumerate(load_tools()[1]):
        if at % (900 // _TOOLS_A_FORMAT):
            continue
        function = tool["function"]
        for arguments in tool["valid_arguments"][:1]:
            style = writers.STYLES[at % len(writers.STYLES)]
            text = writers.write(name, writers.Turn("", (writers.Call("f", arguments),)), style)
            yield Case(f"{name} tool {at}", name, function["parameters"], text)
    if name not in OTHER_LAYOUTS:
        return
    for at, raw in enumerate(RAW):
        for kind, schema in raw_strings.SCHEMAS.items():
            text = writers.write(name, writers.Turn("", (writers.Call("f", {"a": raw}),)))
            yield Case(f"{name} raw {at} {kind}", name, closed({"a": schema}, "a"), text)
    yield from _walks(name)


def _walks(name: str) -> Iterator[Case]:
    for group, values in VALUES.items():
        for at, value in enumerate(values):
            schema = {"type": "object", "properties": {"a": value}, "required": ["a"]}
            for n in range(_WALKS):
                yield Case(f"{name} {group} {at} {n}", name, schema)


def _kimi_text(key: str, arguments: Any) -> str:
    return (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
        f"{_json(key, arguments)}<|tool_call_end|><|tool_calls_section_end|><|im_end|>"
    )


def _json(key: str, value: Any) -> str:
    """Write JSON in one of the usual forms; any order of properties."""
    random = Random(f"{_SEED} {key}")
    indent, ascii_only = random.choice([None, None, 1, 4]), random.random() < 0.5
    separators = (",", ":") if indent is None and random.random() < 0.5 else None
    shuffled = _shuffled(value, random) if random.random() < 0.5 else value
    return json.dumps(shuffled, ensure_ascii=ascii_only, indent=indent, separators=separators)


def _shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = random.sample(list(value), len(value))
        return {name: _shuffled(value[name], random) for name in names}
    if isinstance(value, list):
        return [_shuffled(item, random) for item in value]
    return value
