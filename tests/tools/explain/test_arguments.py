"""What is said within the arguments of a call."""

import enforcer
from enforcer.request.spec import Spec
from enforcer.request.tools import parse
from enforcer.tools.explain.expecting import ExplainedPosition
from enforcer.tools.explain.turn import why as reason_of
from tests.explained_turns import ARGUMENTS, TOOLS, told, turn, why
from tests.support.cases import parametrized
from tests.support.tools import tool
from tests.vocabularies import feed, write
from tests.walks import V

END = '`}`, the end of the arguments of "get_weather"'
TAG = 'one of 1, 12, "a", "b"'


@parametrized("tools/explain/cases/arguments.toml", "places")
def test_places(text: str, words: list[str]) -> None:
    assert told(turn(ARGUMENTS + text)) == words


def test_values_and_paths_are_there_to_be_read() -> None:
    found = turn(ARGUMENTS + '{"tags":["').expected()
    (option,) = found.options
    assert option.values == ('"a"', '"b"')
    assert option.paths == ("$.properties.tags.items", "$.$defs.tag")
    assert (found.state, found.tool, found.at, found.begun) == (
        "ARGUMENTS",
        "get_weather",
        "$.tags[0]",
        '"',
    )


@parametrized("tools/explain/cases/arguments.toml", "tokens")
def test_why_an_id_is_not_legal(text: str, token: str, reason: str | None) -> None:
    matcher = turn(ARGUMENTS + text)
    if reason is None:
        (token_id,) = write(V, token)
        found = matcher.explain(token_id)
        assert found.legal
        assert str(found) == '` "` is legal'
    else:
        assert why(matcher, token) == reason


def test_a_name_that_is_there_is_not_offered_again() -> None:
    assert why(turn(ARGUMENTS + '{"city":"P", "'), "city") == (
        '`city` does not fit: expected the name of a property: one of "unit", "tags" (by $)'
    )


OPEN = {"type": "object", "properties": {"city": {"type": "string"}}}
UNDECLARED = (
    "belongs to no declared name, and the object is closed: expected the name of a property"
)


@parametrized("tools/explain/cases/arguments.toml", "names")
def test_why_a_name_is_not_legal(text: str, token: str, reason: str) -> None:
    assert why(turn(ARGUMENTS + text), token).startswith(reason)


def test_an_open_object_takes_other_names() -> None:
    matcher = turn(ARGUMENTS + '{"city": "P", "city', tools=[tool("get_weather", OPEN)])
    assert "no declared name" not in why(matcher, '"')


def test_alternatives_are_told_together_until_one_is_out() -> None:
    branches = [
        {"properties": {"kind": {"const": kind}, "v": {"enum": values}}, "required": ["kind"]}
        for kind, values in (("x", [1, 2]), ("y", [3, 4]))
    ]
    tools = [tool("get", {"type": "object", "oneOf": branches})]
    begun = ARGUMENTS.replace("get_weather", "get")
    (both,) = turn(begun + '{"v":', tools=tools).expected().options
    assert both.values == ("1", "2", "3", "4")
    assert both.paths == ("$.oneOf[0].properties.v", "$.oneOf[1].properties.v")
    (one,) = turn(begun + '{"kind":"y","v":', tools=tools).expected().options
    assert one.what == 'the value of "v": one of 3, 4'
    assert one.paths == ("$.oneOf[1].properties.v",)


@parametrized("tools/explain/cases/arguments.toml", "escapes")
def test_strings_that_are_spelled_by_escapes(text: str, words: str) -> None:
    (found,) = told(turn(ARGUMENTS + text))
    assert found.endswith(f": {words}")


def test_there_are_words_for_texts_that_no_budget_holds() -> None:
    tools = [
        tool("get", {
            "type": "object", "properties": {"long": {"type": "string", "minLength": 1_000_000}},
        })
    ]  # fmt: skip
    begun = ARGUMENTS.replace("get_weather", "get")
    words = ['the value of "long": a string (`minLength` 1000000)']
    assert told(turn(begun + '{"long":', tools=tools)) == words


def test_shapes_that_are_out_of_question_have_no_words() -> None:
    branches = [
        {"properties": {"kind": {"const": kind}, "v": {"type": "integer", "minimum": least}},
         "required": ["kind"]}
        for kind, least in (("x", 1), ("y", 50))
    ]  # fmt: skip
    tools = [
        tool("get", {
            "type": "object", "properties": {"o": {"type": "object", "anyOf": branches}},
        })
    ]  # fmt: skip
    begun = ARGUMENTS.replace("get_weather", "get") + '{"o":{"kind":"y","v":'
    (found,) = turn(begun, tools=tools).expected().options
    assert found.what == 'the value of "v": an integer from 50'
    assert found.paths == ("$.properties.o.anyOf[1].properties.v",)


def test_open_objects_say_so() -> None:
    assert told(turn(ARGUMENTS.replace("get_weather", "get") + "{")) == [
        "the name of a property: any other name",
        '`}`, the end of the arguments of "get"',
    ]


def test_a_text_that_has_a_format_is_told_like_arguments() -> None:
    schema = {"type": "json_schema", "json_schema": {"schema": {"enum": ["red", "green"]}}}
    matcher = turn('"r', tools=None, choice=None, response_format=schema)
    assert told(matcher) == ['the text: "red"']
    matcher = turn("", tools=None, choice=None, response_format={"type": "regex", "regex": "[ab]+"})
    assert told(matcher) == ["more of text that fits the regex"]


def test_words_follow_a_turn_that_goes_back() -> None:
    matcher = turn(ARGUMENTS + '{"unit": "')
    before = matcher.expected()
    for token_id in write(V, 'c","'):
        assert matcher.accept(token_id)
        matcher.expected()
    matcher.rollback(len(write(V, 'c","')))
    assert matcher.expected() == before


def test_servers_matchers_remember_no_text() -> None:
    served = enforcer.Enforcer(V)
    matcher = served.start(Spec(parse(TOOLS, "auto", True), 0, None), None)
    feed(matcher, write(V, ARGUMENTS))
    (option,) = ExplainedPosition(matcher).expected.options
    assert option.what == "more of this text"
    assert not reason_of(ExplainedPosition(matcher), V.find(b"1")).legal


UNIQUE = {
    "type": "object",
    "properties": {
        "s": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "t": {"type": "array", "items": {"type": "string"}},
        "p": {"type": "object", "minProperties": 2},
    },
    "additionalProperties": False,
}
DIFFER = "the elements have to differ"
OTHER = "unlike those before: any string"


@parametrized("tools/explain/cases/arguments.toml", "memory")
def test_what_takes_a_memory_has_words_too(text: str, words: list[str]) -> None:
    tools = [tool("f", UNIQUE)]
    assert told(turn(ARGUMENTS.replace("get_weather", "f") + text, tools=tools)) == words
