"""The ways to arrays of distinct elements, as text that travels.

Owns: writing the tracks of a finished grammar as JSON, and reading them. Must not know: how texts
are followed, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.regex import portable
from enforcer.schema.finishing.distinct import Track, tracks

if TYPE_CHECKING:
    from enforcer.schema import ArgumentGrammar


def written(grammar: ArgumentGrammar) -> list[Any]:
    """Give the tracks of a grammar as JSON's values; none if it needs none."""
    return [
        [
            None if track.distinct is None else portable.to_json(track.distinct),
            track.prefix,
            track.rest,
            dict(track.names),
            track.others,
        ]
        for track in tracks(grammar.definitions, grammar.root)
    ]


def read(found: list[Any]) -> tuple[Track, ...]:
    """Read what `written` has given."""
    return tuple(
        Track(
            None if distinct is None else portable.from_json(distinct),
            tuple(prefix),
            rest,
            tuple(names.items()),
            others,
        )
        for distinct, prefix, rest, names, others in found
    )
