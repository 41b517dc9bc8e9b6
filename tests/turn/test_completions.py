"""Lengths of the shortest completions of a turn, as a budget that is too small says them."""

from typing import Any

import pytest

from tests.budget_cases import HEADER, SCHEMAS, V, needed, served, tool
from tests.vocabularies import write


@pytest.mark.parametrize("tail", ["", "<think>hm"])
@pytest.mark.parametrize("letters", [4, 400])
def test_the_shorter_of_an_answer_and_a_call_is_what_a_turn_takes(letters: int, tail: str) -> None:
    prompt = write(V, HEADER + tail)

    def takes(tools: list[dict[str, Any]], choice: str | None, **options: Any) -> int:
        return needed(
            lambda budget: served().matcher(
                tools, choice, prompt_ids=prompt, budget=budget, **options
            )
        )

    answer = {"type": "string", "minLength": letters}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": answer}}
    tools = [tool(SCHEMAS["long"])]
    call, text = takes(tools, "required"), takes([], None, response_format=wanted)
    assert (text < call) == (letters == 4)
    assert takes(tools, "auto", response_format=wanted) == min(call, text)
