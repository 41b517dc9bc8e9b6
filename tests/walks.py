"""Random turns over the small vocabulary, with schemas and instances to go with them.

Owns: a modest strategy of tools with valid arguments, and walking through the masks.
Must not know: the rich schema strategy of the schema compiler's own tests.
"""

import json
from functools import cache
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

import enforcer
from enforcer.turn.matcher import Matcher
from tests.schema_judge import engine
from tests.support.tools import tool
from tests.vocabularies import legal, small

V = small()
_USUAL = 60  # examples of the usual profile
NAMES = ["get", "get_", "get_weather", "a", "a/b-c.d", "天气"]
KEYS = ["a", "city", "città", 'quo"te', "日本", ""]
# What brings a turn to its end, where it is legal.
_CLOSERS = [*b'"]}']


def examples(count: int) -> settings:
    """Give the settings for so many examples, and more of them in a thorough run."""
    return settings(max_examples=round(count * settings().max_examples / _USUAL))


@cache
def served() -> enforcer.Enforcer:
    """Return the enforcer over the small vocabulary, with `schema_judge.engine`."""
    options = enforcer.Options(max_calls=3, preamble_ids=5)
    return enforcer.Enforcer(V, engine=engine(), options=options)


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "maxLength": 3},
        {"type": "integer", "minimum": -2, "maximum": 120},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["C", 'say "hi"', 3.33, None, 10, "日"]},
        {"const": "}<|tool_call_end|>"},
        {},
    ]
)


def _objects(children: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def draw_one(draw: st.DrawFn) -> dict[str, Any]:
        properties = draw(st.dictionaries(st.sampled_from(KEYS), children, max_size=3))
        required = [key for key in properties if draw(st.booleans())]
        schema = {"type": "object", "properties": properties, "required": required}
        return schema if draw(st.booleans()) else {**schema, "additionalProperties": False}

    return draw_one()


def _arrays(children: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3}, children)


VALUES = st.recursive(
    LEAVES, lambda inner: st.one_of(_objects(inner), _arrays(inner)), max_leaves=4
)
OBJECTS = _objects(VALUES)


@st.composite
def instances(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """Draw a value that fits a schema of this module."""
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            value = {
                key: draw(instances(inner))
                for key, inner in schema["properties"].items()
                if key in schema["required"] or draw(st.booleans())
            }
            if "additionalProperties" not in schema and draw(st.booleans()):
                value.setdefault("x", draw(st.integers(0, 9)))
            return dict(draw(st.permutations(list(value.items()))))
        case "array":
            return draw(st.lists(instances(schema["items"]), max_size=schema["maxItems"]))
        case "string":
            return draw(st.text(max_size=schema.get("maxLength", 5)))
        case "integer":
            return draw(st.integers(schema["minimum"], schema["maximum"]))
        case "number":
            return draw(st.sampled_from([0, -1.5, 3.33, 100, 1e5]))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
    return draw(st.sampled_from([None, 0, "x", [1, {"a": []}], {"b": True}]))


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the tools, the choice and the history of a request."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    tools = [tool(name, draw(OBJECTS)) for name in names]
    choices: list[Any] = ["auto", "none", None]
    if names:
        choices += ["required", tool(names[-1])]
    asked = [{"id": "x", "function": {"name": "gone"}}] * draw(st.sampled_from([0, 1, 10]))
    return {
        "tools": tools,
        "tool_choice": draw(st.sampled_from(choices)),
        "parallel_tool_calls": draw(st.booleans()),
        "messages": [{"role": "assistant", "tool_calls": asked}],
    }


def schemas(request: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of each tool by name."""
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in request["tools"]}


def step(matcher: Matcher, random: Random, hurry: float) -> int:
    """Choose a legal id; the more hurry (0 to 1), the rather one that ends something."""
    ids = sorted(legal(matcher))
    markers = [i for i in ids if i in V.control_ids]
    closers = [i for i in ids if i in _CLOSERS]
    if random.random() < hurry:
        ids = (markers if random.random() < 0.5 else closers) or markers or closers or ids
    return random.choice(ids)


def walk(matcher: Matcher, random: Random, most: int = 200) -> list[int]:
    """Sample a turn from the masks, to its end if it comes before so many ids."""
    ids: list[int] = []
    while len(ids) < most and matcher.state != "END":
        ids.append(step(matcher, random, hurry=0.3 + len(ids) / most))
        if not matcher.accept(ids[-1]):
            raise AssertionError(f"the mask has {ids[-1]}, accept refuses it: {matcher!r}")
    return ids


FORMS = [
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    lambda value: json.dumps(value, ensure_ascii=False),
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False, indent=2),
]
