"""What a format's markers are for, and which control tokens stand in them.

Owns: telling markers of calls from those that text needs. Must not know: requests, masks, what
the answer is good for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.turn.envelope import Table


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
    return _between(table, False, True)


def inside_calls(table: Table) -> tuple[str, ...]:
    """Give the patterns that stand in calls, or between them."""
    return _between(table, True, True)


def of_calls(table: Table) -> tuple[str, ...]:
    """Give the patterns that begin calls, stand in them, or end them."""
    return (*beginnings(table), *inside_calls(table), *_between(table, True, False))


def of_text(table: Table) -> tuple[str, ...]:
    """Give the patterns that a turn without calls has."""
    return _between(table, False, False)


def _between(table: Table, *calling: bool) -> tuple[str, ...]:
    """Give the patterns that leave, and lead to, a state that is inside calls, or is not."""
    dialect = table.dialect
    return tuple(
        pattern
        for name, state in dialect.states.items()
        for role, transition in state.on.items()
        for pattern in dialect.markers[role]
        if (name in dialect.calling, transition.to in dialect.calling) == calling
    )
