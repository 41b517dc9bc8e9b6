r"""Two readings of a pattern: ECMA-262's, in which JSON Schema is written, and Python's.

They differ in `\d`, `\w`, `\s`, `.`, `$`, `\b`, and much of the world checks schemas by Python's
`re`. `Reading.NARROW` holds only strings that match under both, `Reading.WIDE` all that match under
either; each turns into the other below a negative lookaround.

Owns: these, and the languages of trees without assertions. Must not know: what assertions mean.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from enforcer.regex.constructors import ANY, EPSILON, chars, concat, either, repeat
from enforcer.regex.tree import START, Alternation, Counted, Disputed, Node, One, Sequence

if TYPE_CHECKING:
    from enforcer.regex.charset import CharSet, Readings
    from enforcer.regex.syntax import Regex


class Reading(Enum):
    """Which strings count where ECMA-262 and Python's `re` disagree."""

    NARROW = "both agree that it matches"
    WIDE = "at least one says that it matches"

    @property
    def opposite(self) -> Reading:
        """The reading below a negation."""
        return Reading.WIDE if self is Reading.NARROW else Reading.NARROW

    def of(self, readings: Readings) -> CharSet:
        """Choose a set."""
        return readings.narrow if self is Reading.NARROW else readings.wide

    def assertion(self, node: Disputed) -> Node:
        """Choose an assertion."""
        return node.narrow if self is Reading.NARROW else node.wide


def plain_language(node: Node, reading: Reading) -> Regex | None:
    """Build the language that a tree without assertions matches; None if it holds one."""
    if isinstance(node, One):
        return chars(reading.of(node.readings))
    if isinstance(node, Counted):
        part = plain_language(node.item, reading)
        return None if part is None else repeat(part, node.minimum, node.maximum)
    if isinstance(node, Sequence | Alternation):
        parts = []
        for item in node.items:
            part = plain_language(item, reading)
            if part is None:
                return None
            parts.append(part)
        return concat(*parts) if isinstance(node, Sequence) else either(*parts)
    return None


def text_before(item: Node, reading: Reading) -> Regex | None:
    """Build the language of the texts that end in a match of a lookbehind's item.

    None if an assertion inside the lookbehind is not supported.
    """
    if (plain := plain_language(item, reading)) is not None:
        return concat(ANY, plain)
    if item == START:
        return EPSILON
    if isinstance(item, Alternation):
        found = [text_before(part, reading) for part in item.items]
        return None if None in found else either(*(part for part in found if part is not None))
    if isinstance(item, Sequence) and item.items[0] == START:
        return plain_language(Sequence(item.items[1:]), reading)
    return None
