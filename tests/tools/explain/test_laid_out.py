"""What is said within arguments that are not laid out as JSON."""

import json
from typing import Any

import pytest

from enforcer.tools.explain.turn import ExplainedMatcher
from tests.dialect_cases import served, vocabulary
from tests.explained_turns import start
from tests.support.cases import load, parametrized
from tests.support.tools import tool
from tests.vocabularies import feed, write

_CASES = load("tools/explain/cases/laid_out.toml")
SCHEMA = json.loads(_CASES["schema"])
CALLS: dict[str, str] = _CASES["calls"]
PAIRS: dict[str, list[str]] = _CASES["pairs"]
ENDS: dict[str, str] = _CASES["ends"]
TOOLS = [tool("get", SCHEMA)]
NAMES = ['"city" (required)', '"unit"', '"n"', '"o"', '"mixed"']


def at(name: str, text: str) -> ExplainedMatcher:
    found = start(served(name), TOOLS)
    feed(found, write(vocabulary(name), CALLS[name] + text))
    assert found.state == "ARGUMENTS"
    return found


def told(name: str, text: str) -> list[str]:
    return [option.what for option in at(name, text).expected().options]


def opened(name: str, key: str, kind: str = "string") -> str:
    return PAIRS[name][0].format(key, kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_the_keys_and_the_end(name: str) -> None:
    before = opened(name, "@").split("@")[0]
    first = before if name != "glm45" else "\n" + before
    key = f"`{before}` and the name of a property"
    if name != "glm45":
        assert told(name, "") == [f"{key}: one of {', '.join(NAMES)}"]
    assert told(name, first + "un") == ['the name of a property: "unit"']
    whole = opened(name, "city") + "P" + PAIRS[name][1]
    assert told(name, whole) == [f"{key}: one of {', '.join(NAMES[1:])}", ENDS[name]]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_an_enum(name: str) -> None:
    matcher = at(name, opened(name, "unit"))
    found = matcher.expected()
    assert [option.what for option in found.options] == ['the value of "unit": one of "c", "f"']
    assert found.options[0].values == ('"c"', '"f"')
    assert found.options[0].paths == ("$.properties.unit",)
    assert (found.tool, found.at, found.begun) == ("get", "$.unit", "")
    assert matcher.explain(ord("k")).reason == (
        '`k` does not fit: expected the value of "unit": one of "c", "f" (by $.properties.unit)'
    )
    end = f'`{PAIRS[name][1]}`, the end of the value of "unit"'
    assert told(name, opened(name, "unit") + "c") == ['the value of "unit": "c"', end]


@pytest.mark.parametrize("name", CALLS)
def test_a_name_that_is_not_declared(name: str) -> None:
    key = opened(name, "@").split("@")[0] if name in PAIRS else ""
    assert at(name, ("\n" if name == "glm45" else "") + key + "c").explain(ord("o")).reason == (
        "`o` belongs to no declared name, and the object is closed: expected the name of a "
        'property: "city" (required) (by $)'
    )


@pytest.mark.parametrize("name", PAIRS)
def test_other_values(name: str) -> None:
    stop = PAIRS[name][1]
    number = opened(name, "n", "number")
    assert told(name, number) == ['the value of "n": an integer from 3']
    assert told(name, number + "12") == [
        'the value of "n": an integer from 3',
        f'`{stop}`, the end of the value of "n"',
    ]
    inside = opened(name, "o", "object")
    assert told(name, inside) == ['the value of "o": an object']
    assert told(name, inside + '{"x": "') == ['the value of "x": one of "p", "q"']
    assert told(name, inside + '{"x": "p"}') == [f'`{stop}`, the end of the value of "o"']


@pytest.mark.parametrize("name", ["qwen3_coder", "minimax_m2"])
def test_a_stop_that_has_been_begun_is_no_number(name: str) -> None:
    assert told(name, opened(name, "n") + "12</par") == ['`ameter>`, the end of the value of "n"']


@pytest.mark.parametrize("name", PAIRS)
def test_the_end_of_a_key_and_values_behind_white_space(name: str) -> None:
    behind = opened(name, "@").split("@")[1].split("string")[0]
    key = opened(name, "unit").split(behind)[0]
    whole = ['the name of a property: "unit"', f'`{behind}`, behind the name "unit"']
    assert told(name, key if name != "glm45" else "\n" + key) == whole
    # Where line breaks are trimmed, the first one is none of JSON's.
    inside = opened(name, "o", "object") + "\n  "
    assert told(name, inside) == ['the value of "o": an object']
    (found,) = at(name, inside + '{"x": "').expected().options
    assert found.values == ('"p"', '"q"')
    assert at(name, inside + '{"x": "').expected().at == "$.o.x"


@pytest.mark.parametrize("name", PAIRS)
def test_only_kinds_that_can_be_written_are_named(name: str) -> None:
    matcher = start(served(name), [tool("get", {"type": "object"})])
    feed(matcher, write(vocabulary(name), CALLS[name] + opened(name, "any", "array")))
    (value,) = [x for x in matcher.expected().options if x.what.startswith("the value of")]
    kind = "an array" if name == "kimi_k3" else "any string (which may end here)"
    assert value.what == f'the value of "any": {kind}'


@pytest.mark.parametrize("text", ["}}", '5, "unit": ', "], [", '{"unit": ', "12 a"])
@pytest.mark.parametrize("name", ["glm45", "qwen3_coder", "minimax_m2"])
def test_a_string_that_looks_like_json_is_a_string(name: str, text: str) -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"type": ["string", "number"]}, "unit": {"enum": ["c", "f"]}},
    }
    matcher = start(served(name), [tool("get", schema)])
    feed(matcher, write(vocabulary(name), CALLS[name] + opened(name, "x") + text))
    value, end = matcher.expected().options
    assert value.what == 'the value of "x": any string (which may end here)'
    assert end.what.endswith(', the end of the value of "x"')


def test_types_that_are_written() -> None:
    key, both = '<|open|>argument key="mixed" type="', 'the type and the value of "mixed": one of'
    assert told("kimi_k3", key) == [f'{both} null, 5, "5", "x"']
    assert told("kimi_k3", key + "n") == [f"{both} null, 5"]
    assert told("kimi_k3", key + "number") == ['the type and the value of "mixed": 5']
    assert told("kimi_k3", opened("kimi_k3", "mixed", "number")) == ['the value of "mixed": 5']
    assert told("kimi_k3", opened("kimi_k3", "mixed")) == ['the value of "mixed": one of "5", "x"']


@pytest.mark.parametrize("name", ["glm45", "qwen3_coder", "minimax_m2"])
def test_types_that_are_declared_say_what_a_text_is(name: str) -> None:
    (found,) = at(name, opened(name, "mixed")).expected().options
    assert set(found.values) == {"null", "5", '"x"'}  # the text 5 is the number


def test_a_key_that_is_escaped() -> None:
    tools: list[dict[str, Any]] = [
        tool("get", {
            "type": "object", "properties": {'a"&': {"const": 1}}, "additionalProperties": False,
        })
    ]  # fmt: skip
    matcher = start(served("kimi_k3"), tools)
    for token_id in write(
        vocabulary("kimi_k3"), CALLS["kimi_k3"] + '<|open|>argument key="a&quot;'
    ):
        assert matcher.accept(token_id)
    assert matcher.expected().options[0].values == ('"a\\"&"',)


@pytest.mark.parametrize("name", ["pythonic", "llama4_pythonic"])
@parametrized("tools/explain/cases/laid_out.toml", "python")
def test_pythons_arguments(name: str, text: str, words: list[str]) -> None:
    assert told(name, text) == words


@pytest.mark.parametrize("name", CALLS)
def test_names_that_are_not_declared(name: str) -> None:
    tools = [tool("get", {"type": "object", "properties": {"unit": {"enum": ["c", "f"]}}})]
    for begun, words in (("", '"unit" or any other name'), ("an", "any other name")):
        key = opened(name, "@").split("@")[0] if name in PAIRS else ""
        matcher = start(served(name), tools)
        feed(matcher, write(vocabulary(name), CALLS[name] + key + begun))
        assert words in str(matcher.expected())
