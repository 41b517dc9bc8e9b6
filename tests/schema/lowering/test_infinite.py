"""Which languages go on without end."""

import pytest

from enforcer.regex import both, inverse, literal, parse
from enforcer.schema.lowering.distinct import is_infinite


@pytest.mark.parametrize(
    ("pattern", "endless"),
    [("^a*$", True), ("^[ab]{0,9}$", False), ("^a|b.*$", True), ("^x$", False), ("^(ab)+$", True)],
)
def test_a_language_is_endless_if_some_text_in_it_can_go_round(pattern: str, endless: bool) -> None:
    language = parse(pattern)
    assert is_infinite(language) == endless
    assert is_infinite(both(language, inverse(literal("ab")))) == endless
    assert not is_infinite(both(language, parse("^.{0,4}$")))
    assert not is_infinite(both(parse("^a*$"), inverse(parse("^aaa"))))  # of no known length


@pytest.mark.parametrize(("states", "explored"), [(900, True), (1_100, False)])
def test_a_language_of_too_many_states_is_not_explored(states: int, explored: bool) -> None:
    assert is_infinite(both(parse(f"^a{{{states}}}b*$"), inverse(literal("b")))) == explored
