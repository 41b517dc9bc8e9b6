r"""The compiler of a pattern's tree to the language of the strings in which it matches somewhere.

The tree has lookarounds, as which anchors and word boundaries are written too; the language has
none. Each node is compiled against the languages of the rest of the string: a lookahead then is an
intersection with these. A lookbehind depends only on whether a position is the first. Assertions
inside loops and lookbehinds of characters go to `alternating_automaton`, which counts by states and
so is no substitute where a pattern has large counts. Must not know: pattern syntax, JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import alternating_automaton
from enforcer.regex.constructors import (
    ANY,
    EPSILON,
    NOTHING,
    both,
    concat,
    either,
    inverse,
    length,
)
from enforcer.regex.derivative import intersection
from enforcer.regex.tree import (
    Alternation,
    Counted,
    Disputed,
    Look,
    Node,
    Reading,
    RegexError,
    Sequence,
    plain_language,
    text_before,
)

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

    Rest = tuple[Regex, Regex]  # of the string: from its start, and from behind a character

_UNROLL_AT_MOST = 64
_STEPS = 1_000
_SIZE_AT_MOST = 200_000
_NOT_EMPTY = length(1, None)


def language(tree: Node, reading: Reading, pattern: str) -> Regex:
    """Build the language of all strings in which the tree matches somewhere.

    Raises:
        RegexError: an assertion cannot be resolved, or only at too high a cost.

    """
    if (plain := plain_language(tree, reading)) is not None:
        return concat(ANY, plain, ANY)
    try:
        return _before(ANY, _Compiler().compile(tree, (ANY, ANY), reading))[0]
    except _NotUnrolled:
        return alternating_automaton.language(tree, reading, pattern)
    except _TooLargeError:
        raise RegexError(
            pattern, 0, "resolving the assertions of this pattern makes it too large"
        ) from None


class _NotUnrolled(Exception):  # noqa: N818 - a message to `language`, no error
    """An assertion stands where only an automaton can resolve it."""


class _TooLargeError(Exception):
    """The result or its work is over a limit."""


class _Compiler:
    """Compiles one pattern."""

    _steps = 0

    def compile(self, node: Node, rest: Rest, reading: Reading) -> Rest:
        """Build the languages of a match of the node before the rest.

        Returns:
            One from the string's start, and one from behind a character.

        Raises:
            _TooLargeError: a size or the work is over a limit.
            _NotUnrolled: only an automaton can resolve an assertion.

        """
        if (plain := plain_language(node, reading)) is not None:
            return _before(plain, rest)
        self._steps += 1
        if self._steps > _STEPS or max(each.size for each in rest) > _SIZE_AT_MOST:
            raise _TooLargeError
        if isinstance(node, Sequence):
            return self._sequence(node, rest, reading)
        if isinstance(node, Alternation):
            return _union(*(self.compile(item, rest, reading) for item in node.items))
        if isinstance(node, Counted):
            return self._counted(node, rest, reading)
        if isinstance(node, Disputed):
            return self.compile(reading.assertion(node), rest, reading)
        if isinstance(node, Look):
            start, inside = self._seen(node, reading)
            if node.negative:
                start, inside = inverse(start), inverse(inside)
            return intersection(start, rest[0]), intersection(inside, rest[1])
        raise TypeError(f"not a node: {node!r}")

    def _sequence(self, node: Sequence, rest: Rest, reading: Reading) -> Rest:
        """Compile from right to left, neighbours without assertions in one step."""
        plain: Regex = EPSILON
        for item in reversed(node.items):
            if (found := plain_language(item, reading)) is not None:
                plain = concat(found, plain)
                continue
            rest = self.compile(item, _before(plain, rest), reading)
            plain = EPSILON
        return _before(plain, rest)

    def _counted(self, node: Counted, rest: Rest, reading: Reading) -> Rest:
        if node.maximum is None or node.maximum > _UNROLL_AT_MOST:
            raise _NotUnrolled
        for count in range(node.maximum, 0, -1):
            once = self.compile(node.item, rest, reading)
            rest = _union(rest, once) if count > node.minimum else once
        return rest

    def _seen(self, node: Look, reading: Reading) -> Rest:
        """Build the rests at which a lookaround's item matches, ahead or behind."""
        inner = reading.opposite if node.negative else reading
        if node.ahead:
            return self.compile(node.item, (ANY, ANY), inner)
        before = text_before(node.item, inner)
        inside = None if before is None else both(before, _NOT_EMPTY)
        if before is None or inside not in (NOTHING, _NOT_EMPTY):
            raise _NotUnrolled
        return ANY if before.nullable else NOTHING, NOTHING if inside == NOTHING else ANY


def _before(plain: Regex, rest: Rest) -> Rest:
    """Prepend a language to the rest."""
    start, inside = rest
    moved = concat(plain, inside)
    if start == inside or not plain.nullable:
        return moved, moved
    return either(start, concat(both(plain, _NOT_EMPTY), inside)), moved


def _union(*rests: Rest) -> Rest:
    starts, insides = zip(*rests, strict=True)
    return either(*starts), either(*insides)
