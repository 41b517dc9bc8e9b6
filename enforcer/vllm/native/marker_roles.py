"""Which of a format's markers are for calls, which for text, and their control tokens.

Owns: telling markers of calls from those that text needs. Must not know: requests, masks, what
the answer is good for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from enforcer.turn.table import Table


def tokens(table: Table, patterns: Iterable[str]) -> frozenset[int]:
    """Give the ids of the control tokens that stand in some patterns, as far as there are any."""
    controls = table.vocabulary.controls
    known = [(name, controls[name]) for name in table.dialect.controls if name in controls]
    return frozenset(token for pattern in patterns for name, token in known if name in pattern)


def is_there(table: Table, pattern: str) -> bool:
    """Tell whether a tokenizer has what a pattern needs."""
    controls = table.vocabulary.controls
    return not any(
        name in pattern and name not in controls for name in table.dialect.tokens.optional
    )


def beginnings(table: Table) -> tuple[str, ...]:
    """Give the patterns after which a call, or a section of calls, has begun."""
    dialect = table.dialect
    return _those(table, lambda at, to: at not in dialect.calling and to in dialect.calling)


def inside_calls(table: Table) -> tuple[str, ...]:
    """Give the patterns that stand in calls, or between them."""
    dialect = table.dialect
    return _those(table, lambda at, to: {at, to} <= dialect.calling)


def of_calls(table: Table) -> tuple[str, ...]:
    """Give the patterns that begin calls, stand in them, or follow them."""
    dialect = table.dialect
    return _those(table, lambda at, to: not {at, to} <= dialect.speaking)


def of_text(table: Table) -> tuple[str, ...]:
    """Give the patterns that a turn without calls has."""
    dialect = table.dialect
    return _those(table, lambda at, to: {at, to} <= dialect.speaking)


def _those(table: Table, wanted: Callable[[str, str], bool]) -> tuple[str, ...]:
    """Give the patterns by the state that they leave, and the one that they lead to."""
    dialect = table.dialect
    return tuple(
        pattern
        for name, state in dialect.states.items()
        for role, transition in state.on.items()
        for pattern in dialect.markers[role]
        if wanted(name, transition.to)
    )
