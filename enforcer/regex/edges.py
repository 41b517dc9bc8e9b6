r"""What assertions about neighbouring characters see: `^`, `$`, `\b` and short lookbehinds.

Owns: the two readings of a pattern, the kinds of characters that `\b` tells apart, and the classes
of characters that a position can have on its left as far as the assertions of a pattern tell. Must
not know: how languages are put together.

Two readings exist of `\d`, `\w`, `\s`, `.`, `$`, `\b`: ECMA-262's, in which JSON Schema is written,
and that of Python's `re`, by which much of the world checks it. `Reading.NARROW` holds only strings
that match under both, `Reading.WIDE` all that match under either; each turns into the other below a
negative lookaround.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex.charset import EMPTY, LINE_ENDS, CharSet, Readings, partition, word
from enforcer.regex.constructors import chars, concat, either, repeat
from enforcer.regex.syntax import Chars, Literal, Regex
from enforcer.regex.tree import Alternation, Counted, Edge, Look, Node, One, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

START = -1  # the left context of the first position; others are indices of `left_classes`


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

    def decide(self, *, ecma: bool, python: bool) -> bool:
        """Choose a verdict."""
        return (ecma and python) if self is Reading.NARROW else (ecma or python)


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


def one_character(item: Node, reading: Reading) -> CharSet | None:
    """Find the set S for which a lookbehind asks "is the last character in S"."""
    plain = plain_language(item, reading)
    if isinstance(plain, Literal) and len(plain.text) == 1:
        return CharSet.span(plain.text)
    return plain.chars if isinstance(plain, Chars) else None


@lru_cache(maxsize=1)
def word_kinds() -> tuple[CharSet, CharSet, CharSet]:
    """Split all characters: word characters to both readings, to Python's alone, to neither."""
    readings = word()
    return readings.ecma, readings.python - readings.ecma, ~readings.python


def is_boundary(
    edge: Edge, before: CharSet | None, after: CharSet | None, reading: Reading
) -> bool:
    r"""Tell whether `\b` or `\B` holds.

    Args:
        edge: `Edge.WORD` or `Edge.NOT_WORD`.
        before: a non-empty set inside one of `word_kinds` for the character before; None for none.
        after: likewise for the character after.
        reading: how to decide where ECMA-262 and Python differ.

    """
    both, python_only, _ = word_kinds()
    ecma = _overlap(before, both) != _overlap(after, both)
    word_before = _overlap(before, both) or _overlap(before, python_only)
    word_after = _overlap(after, both) or _overlap(after, python_only)
    python = word_before != word_after
    if edge is Edge.WORD:
        return reading.decide(ecma=ecma, python=python)
    # Python before 3.14 finds no `\B` in an empty string.
    return reading.decide(ecma=not ecma, python=not (python or before is after is None))


@lru_cache(maxsize=64)
def after_boundary(edge: Edge, before: CharSet | None, reading: Reading) -> CharSet:
    r"""Build the set of characters that may follow `\b` or `\B`; arguments as in `is_boundary`."""
    allowed = EMPTY
    for kind in word_kinds():
        if is_boundary(edge, before, kind, reading):
            allowed |= kind
    return allowed


def _overlap(part: CharSet | None, whole: CharSet) -> bool:
    return part is not None and part.first in whole


def walk(tree: Node) -> Iterator[Node]:
    """Yield every node of a tree."""
    pending: list[Node] = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Sequence | Alternation):
            pending.extend(node.items)
        elif isinstance(node, Counted | Look):
            pending.append(node.item)


def left_classes(tree: Node) -> tuple[CharSet, ...]:
    """Partition all characters as finely as the tree's left-looking assertions need."""
    wanted: list[CharSet] = []
    for node in walk(tree):
        if isinstance(node, Look) and not node.ahead:
            found = (one_character(node.item, reading) for reading in Reading)
            wanted.extend(s for s in found if s is not None)
        elif node is Edge.LINE_START:
            wanted += [LINE_ENDS.ecma, LINE_ENDS.python]
        elif node in (Edge.WORD, Edge.NOT_WORD):
            wanted += word_kinds()
    return partition(wanted)
