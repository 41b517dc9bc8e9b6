"""The roles of a format's markers (in calls, in text) and their special tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enforcer.turn.table import Table


def tokens(table: Table, patterns: Iterable[str]) -> frozenset[int]:
    """Return the ids of the special tokens that some patterns contain and the tokenizer has."""
    controls = table.vocabulary.controls
    known = [(name, controls[name]) for name in table.dialect.controls if name in controls]
    return frozenset(token for pattern in patterns for name, token in known if name in pattern)


def beginnings(table: Table) -> list[str]:
    """Return the patterns that begin a call, or a section of calls."""
    calling = table.dialect.calling
    return [each for each, at, to in _transitions(table) if at not in calling and to in calling]


def into_calls(table: Table) -> list[str]:
    """Return the patterns that begin calls, and those in them and between them."""
    return [each for each, _, to in _transitions(table) if to in table.dialect.calling]


def of_calls(table: Table) -> list[str]:
    """Return the patterns that begin calls, stand in them, or follow them."""
    text = table.dialect.speaking
    return [each for each, *ends in _transitions(table) if not text.issuperset(ends)]


def of_text(table: Table) -> list[str]:
    """Return the patterns of a turn without calls."""
    return [each for each, *ends in _transitions(table) if table.dialect.speaking.issuperset(ends)]


def _transitions(table: Table) -> Iterator[tuple[str, str, str]]:
    """Yield each pattern with the states that it leaves and leads to."""
    for name, state in table.dialect.states.items():
        for role, transition in state.on.items():
            for pattern in table.dialect.markers[role]:
                yield pattern, name, transition.to
