"""The style of texts and headers, which turns take from those before them."""

import enforcer
from tests.dialect_cases import vocabulary
from tests.turn.test_drafts import begun, proposed
from tests.vocabularies import feed, write


def test_it_is_that_of_the_turn_before() -> None:
    served = enforcer.Enforcer(vocabulary("hermes"), "hermes")
    for space in ("", " ", "", " "):  # from the third on, the steps of the header are cached
        begin = f'\n{{"name":{space}"get",{space}"arguments":{{"a":{space}"'
        matcher = begun(served, "<tool_call>")
        proposed(matcher)
        feed(matcher, write(served.vocabulary, begin))
        proposed(matcher)
        assert proposed(begun(served, "<tool_call>")) == begin
