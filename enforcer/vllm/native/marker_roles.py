"""The roles of a format's markers (in calls, in text) and their special tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from enforcer.turn.table import Table


def tokens(table: Table, patterns: Iterable[str]) -> frozenset[int]:
    """Return the ids of the special tokens that some patterns contain and the tokenizer has."""
    controls = table.vocabulary.controls
    known = [(name, controls[name]) for name in table.dialect.controls if name in controls]
    return frozenset(token for pattern in patterns for name, token in known if name in pattern)


def beginnings(table: Table) -> tuple[str, ...]:
    """Return the patterns that begin a call, or a section of calls."""
    dialect = table.dialect
    return _those(table, lambda at, to: at not in dialect.calling and to in dialect.calling)


def inside_calls(table: Table) -> tuple[str, ...]:
    """Return the patterns in calls and between them."""
    dialect = table.dialect
    return _those(table, lambda at, to: {at, to} <= dialect.calling)


def of_calls(table: Table) -> tuple[str, ...]:
    """Return the patterns that begin calls, stand in them, or follow them."""
    dialect = table.dialect
    return _those(table, lambda at, to: not {at, to} <= dialect.speaking)


def of_text(table: Table) -> tuple[str, ...]:
    """Return the patterns of a turn without calls."""
    dialect = table.dialect
    return _those(table, lambda at, to: {at, to} <= dialect.speaking)


def _those(table: Table, wanted: Callable[[str, str], bool]) -> tuple[str, ...]:
    """Return the patterns by the states that they leave and lead to."""
    dialect = table.dialect
    return tuple(
        pattern
        for name, state in dialect.states.items()
        for role, transition in state.on.items()
        for pattern in dialect.markers[role]
        if wanted(name, transition.to)
    )
