"""The style of texts and headers, which turns take from those before them."""

import enforcer
from tests.dialect_cases import vocabulary
from tests.turn.test_drafts import begun, proposed


def test_it_is_that_of_the_turns_before() -> None:
    served = enforcer.Enforcer(vocabulary("hermes"), "hermes")
    for space in ("", " "):
        begin = f'{{"name":{space}"get",{space}"arguments":{{"a":{space}"'
        begun(served, f"<tool_call>\n{begin}").propose(1)
        assert proposed(begun(served, "<tool_call>")) == f"\n{begin}"
