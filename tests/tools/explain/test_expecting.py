"""What may come around the calls of a turn."""

import pytest

from tests.explained_turns import HEADER, SECTION, told, turn

BEGIN = "the marker of section begin: `<|tool_calls_section_begin|>`"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["any text", BEGIN]),
        (SECTION, ["the marker of call begin: `<|tool_call_begin|>`"]),
        (HEADER, ["the name of a tool: one of get, get_weather"]),
        (HEADER + "get_w", ["the name of a tool: get_weather, written `functions.get_weather:0`"]),
        (HEADER + "get:0", ["the marker of arguments begin: `<|tool_call_argument_begin|>`"]),
    ],
)
def test_places(text: str, words: list[str]) -> None:
    assert told(turn(text)) == words
