"""What an engine can hold, as data.

Owns: the measures by which engines differ, so that whoever writes for one asks these and never
which engine it is. Must not know: any engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from enforcer.request.response_format import FormatKind
from enforcer.schema.reading.plain import NAMES

# Formats of texts that are no JSON, and those of them that are regular languages.
REGULAR_FORMATS = frozenset({FormatKind.REGEX, FormatKind.CHOICE})
ALL_FORMATS = REGULAR_FORMATS | {FormatKind.GRAMMAR}


@dataclass(frozen=True, slots=True)
class Capacity:
    """What an engine can hold; None where it has no bound of its own.

    Attributes:
        bits: of the parameter of a rule, in which it is kept what an object or array has had;
            0 where rules have none.
        orders: sets of properties told apart in one object, each by a rule of its own: 2 to the
            power of n for n declared ones.
        rules: rules in all.
        states: of the automaton of one language, where its notation has no intersections,
            complements and names.
        length: characters of the whole grammar.
        nests: whether a value may hold itself.
        formats: kinds of texts that are no JSON which it compiles.

    """

    bits: int
    orders: int | None
    rules: int | None
    states: int | None
    length: int | None
    nests: bool
    formats: frozenset[FormatKind]

    @property
    def holds_plain(self) -> bool:
        """Whether it compiles whatever `enforcer.schema.reading.plain` calls plain."""
        return self.nests and (self.bits >= NAMES or self.orders is None)
