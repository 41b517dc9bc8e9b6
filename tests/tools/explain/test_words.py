"""Values, numbers and texts in words."""

from typing import Any

import pytest

from enforcer.schema import compile_schema
from enforcer.schema.grammar import Value
from enforcer.tools.explain.words import Option, constants, in_words, kinds, listing, shown
from tests.support.cases import parametrized


def value_of(schema: dict[str, Any]) -> Value:
    grammar = compile_schema(schema)
    return grammar.definitions[grammar.root]


@parametrized("tools/explain/cases/words.toml", "listed")
def test_all_that_fits_is_listed(schema: dict[str, Any], texts: list[str]) -> None:
    assert list(constants(value_of(schema))) == texts


@parametrized("tools/explain/cases/words.toml", "described")
def test_what_cannot_be_listed_is_described(schema: dict[str, Any], words: list[str]) -> None:
    value = value_of(schema)
    assert constants(value) is None
    assert kinds(value, [schema]) == words


def test_a_long_list_says_how_much_is_left_out() -> None:
    said = listing([str(n) for n in range(100)])
    assert said.startswith("one of 0, 1, 2,")
    assert said.endswith("… and 80 more")
    assert listing(["7"]) == "7"


def test_what_cannot_be_seen_is_spelled() -> None:
    assert shown(b"a\n\xe2\x80\x8b") == "`a\\n\\u200b`"
    assert shown(b"\xe6\x97") == "`\\xe6\\x97`"
    assert len(shown("x" * 500)) < 70


@pytest.mark.parametrize("count", [1, 20, 21, 400])
def test_of_many_paths_and_options_the_first_are_said(count: int) -> None:
    paths = tuple(f"$.anyOf[{i}]" for i in range(count))
    said = str(Option("any text", (), paths))
    assert said.startswith("any text (by $.anyOf[0]")
    assert said.count("$") == min(count, 20)
    assert (f"… and {count - 20} more)" in said) == (count > 20)
    options = [Option(f"option {i}") for i in range(count)]
    assert in_words(options).count("option") == min(count, 20)
    assert in_words(options).endswith(f"; or … and {count - 20} more") == (count > 20)
    assert in_words([]) == "nothing"
