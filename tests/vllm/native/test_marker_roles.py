"""What each format's markers are for, and what a ban can do about its calls."""

import pytest

from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vllm.intake import sampling_options
from enforcer.vllm.native import marker_roles
from enforcer.vocabulary import Vocabulary
from tests.support.cases import each_case


def table(name: str, *missing: str) -> Table:
    dialect = dialects.load(name)
    return Table(dialect, Vocabulary.of_bytes(n for n in dialect.controls if n not in missing))


def named(found: Table, tokens: frozenset[int]) -> set[str]:
    return {name for name, token in found.vocabulary.controls.items() if token in tokens}


@pytest.mark.parametrize("name", dialects.available())
def test_each_marker_is_of_calls_or_of_text(name: str) -> None:
    found = table(name)
    every = {text for texts in found.dialect.markers.values() for text in texts}
    assert {*marker_roles.of_calls(found), *marker_roles.of_text(found)} == every
    assert marker_roles.beginnings(found)
    # No token that a text may need is banned where nothing may be called.
    assert sampling_options.banned_ids(found).isdisjoint(
        marker_roles.tokens(found, marker_roles.of_text(found))
    )


@each_case
def test_token_calls_can_be_banned(dialect: str, banned: list[str]) -> None:
    found = table(dialect)
    assert sampling_options.can_ban_calls(found)
    assert named(found, sampling_options.banned_ids(found)) == {*banned}


@each_case
def test_other_calls_cannot(dialect: str, missing: list[str]) -> None:
    assert not sampling_options.can_ban_calls(table(dialect, *missing))


def test_in_kimi_k3_calls_are_told_from_the_other_channels() -> None:
    found = table("kimi_k3")
    assert marker_roles.beginnings(found) == ["<|open|>tools<|sep|>"] * 4
    assert '<|open|>call tool="' in marker_roles.into_calls(found)
    assert "<|close|>response<|sep|>" in marker_roles.of_text(found)
    assert sampling_options.banned_ids(found) == frozenset()
