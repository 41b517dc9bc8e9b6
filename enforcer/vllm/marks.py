"""What a format's markers are for, and which control tokens stand in them.

Owns: telling markers of calls from those that text needs. Must not know: requests, masks, what
the answer is good for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.turn.dialect import FREE_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    return tuple(
        pattern
        for pattern, state, to in _exits(table)
        if table.segment(state) in FREE_TEXT and not _is_text(table, to)
    )


def of_calls(table: Table) -> tuple[str, ...]:
    """Give the patterns that begin calls, or stand in them."""
    return tuple(
        pattern
        for pattern, state, to in _exits(table)
        if to != table.dialect.final
        and not (table.segment(state) in FREE_TEXT and _is_text(table, to))
    )


def of_text(table: Table) -> tuple[str, ...]:
    """Give the patterns that a turn without calls has."""
    return tuple(
        pattern
        for pattern, state, to in _exits(table)
        if table.segment(state) in FREE_TEXT and _is_text(table, to)
    )


def _is_text(table: Table, state: str) -> bool:
    return state == table.dialect.final or table.segment(state) in FREE_TEXT


def _exits(table: Table) -> Iterator[tuple[str, str, str]]:
    """Give each pattern, the state that it leaves, and the one that it leads to."""
    dialect = table.dialect
    for name, state in dialect.states.items():
        for role, transition in state.on.items():
            for pattern in dialect.markers[role]:
                yield pattern, name, transition.to
