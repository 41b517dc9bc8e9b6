"""What each format's markers are for, and what a ban can do about its calls."""

from typing import Any

import pytest

from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vllm.intake import sampling_options
from enforcer.vllm.native import marker_roles
from enforcer.vocabulary import Vocabulary


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


@pytest.mark.parametrize(
    ("name", "missing", "banned"),
    [
        ("hermes", (), {"<tool_call>", "</tool_call>"}),
        ("mistral", (), {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}),
        ("jamba", (), {"<tool_calls>", "</tool_calls>"}),
    ],
)
def test_token_calls_can_be_banned(name: str, missing: tuple[Any, ...], banned: set[str]) -> None:
    found = table(name, *missing)
    assert sampling_options.can_ban_calls(found)
    assert named(found, sampling_options.banned_ids(found)) == banned


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("hermes", ("<tool_call>", "</tool_call>")),  # they are text there
        ("llama3_json", ()),  # a brace
        ("pythonic", ()),  # a bracket
        ("granite_20b_fc", ("<function_call>",)),  # text
        ("kimi_k3", ()),  # a token that every channel begins with
    ],
)
def test_other_calls_cannot(name: str, missing: tuple[str, ...]) -> None:
    assert not sampling_options.can_ban_calls(table(name, *missing))


def test_in_kimi_k3_calls_are_told_from_the_other_channels() -> None:
    found = table("kimi_k3")
    assert marker_roles.beginnings(found) == ["<|open|>tools<|sep|>"] * 4
    assert '<|open|>call tool="' in marker_roles.into_calls(found)
    assert "<|close|>response<|sep|>" in marker_roles.of_text(found)
    assert sampling_options.banned_ids(found) == frozenset()
