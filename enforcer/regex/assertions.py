r"""What a pattern means: the language of the strings in which it matches somewhere.

Owns: turning a tree with anchors, word boundaries and lookarounds into a
language without any. Each node is compiled against what follows it, a table
from the left context (what `edges` tells of the character before) to the
language of the rest of the string: a lookahead then is an intersection with
that rest, an anchor a test of the context. What this cannot unroll, assertions
inside loops and lookbehinds of several characters, goes to `alternating_automaton`.
Must not know: pattern syntax, JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import alternating_automaton
from enforcer.regex.charset import EMPTY, LINE_ENDS, CharSet
from enforcer.regex.constructors import ANY, EPSILON, NOTHING, concat, either, inverse, literal
from enforcer.regex.derivative import intersection
from enforcer.regex.edges import (
    START,
    Reading,
    after_boundary,
    is_boundary,
    left_classes,
    one_character,
    plain_language,
)
from enforcer.regex.slices import ending, starting
from enforcer.regex.tree import Alternation, Counted, Edge, Look, Node, RegexError, Sequence

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

_UNROLL_AT_MOST = 64
_STEPS = 1_000
_SIZE_AT_MOST = 200_000

_Rest = dict[int, "Regex"]  # left context to the language of the rest of the string


def language(tree: Node, reading: Reading, pattern: str) -> Regex:
    """Build the language of all strings in which the tree matches somewhere.

    Raises:
        RegexError: an assertion cannot be resolved, or only at too high a cost.

    """
    if (plain := plain_language(tree, reading)) is not None:
        return concat(ANY, plain, ANY)
    try:
        compiler = _Compiler(left_classes(tree))
        rest = compiler.compile(tree, compiler.always(ANY), reading)
        return compiler.consume(ANY, rest)[START]
    except _NotUnrolled:
        return alternating_automaton.language(tree, reading, pattern)
    except _TooLargeError:
        raise RegexError(
            pattern, 0, "resolving the assertions of this pattern makes it too large"
        ) from None


class _NotUnrolled(Exception):  # noqa: N818 - a message to `language`, no error
    """An assertion stands where only an automaton tells what it sees."""


class _TooLargeError(Exception):
    """The result, or the work that it takes, is over its limit."""


class _Compiler:
    """Compiles one pattern.

    Args:
        classes: the partition of all characters by which contexts are told apart.

    """

    def __init__(self, classes: tuple[CharSet, ...]) -> None:
        self._classes = classes
        self._contexts = (START, *range(len(classes)))
        self._steps = 0

    def always(self, regex: Regex) -> _Rest:
        """Build the table of a rest that does not look to the left."""
        return dict.fromkeys(self._contexts, regex)

    def compile(self, node: Node, rest: _Rest, reading: Reading) -> _Rest:
        """Build the table of: a match of the node, then the rest."""
        self._steps += 1
        if self._steps > _STEPS:
            raise _TooLargeError
        if (plain := plain_language(node, reading)) is not None:
            return self.consume(plain, rest)
        if isinstance(node, Sequence):
            return self._sequence(node, rest, reading)
        if isinstance(node, Alternation):
            return self._union([self.compile(item, rest, reading) for item in node.items])
        if isinstance(node, Counted):
            return self._counted(node, rest, reading)
        if isinstance(node, Look):
            return self._look(node, rest, reading)
        if isinstance(node, Edge):
            return {c: self._edge(node, c, after, reading) for c, after in rest.items()}
        raise TypeError(f"not a node: {node!r}")

    def consume(self, plain: Regex, rest: _Rest) -> _Rest:
        """Put a language before the rest, split by the context that it leads to."""
        tails: dict[Regex, CharSet] = {}
        for number, members in enumerate(self._classes):
            tails[rest[number]] = tails.get(rest[number], EMPTY) | members
        if len(set(rest.values())) == 1:
            return self.always(concat(plain, rest[START]))
        if len(tails) == 1 and not plain.nullable:
            return self.always(concat(plain, *tails))
        moved = either(*(concat(ending(plain, m), tail) for tail, m in tails.items()))
        if not plain.nullable:
            return self.always(moved)
        return {
            c: concat(plain, stay) if set(tails) == {stay} else self._checked(either(moved, stay))
            for c, stay in rest.items()
        }

    def _sequence(self, node: Sequence, rest: _Rest, reading: Reading) -> _Rest:
        """Go from right to left, neighbours without assertions in one step."""
        plain: Regex = EPSILON
        for item in reversed(node.items):
            if (found := plain_language(item, reading)) is not None:
                plain = concat(found, plain)
                continue
            rest = self.compile(item, self.consume(plain, rest), reading)
            plain = EPSILON
        return self.consume(plain, rest)

    def _union(self, tables: list[_Rest]) -> _Rest:
        return {c: self._checked(either(*(table[c] for table in tables))) for c in self._contexts}

    def _checked(self, regex: Regex) -> Regex:
        if regex.size > _SIZE_AT_MOST:
            raise _TooLargeError
        return regex

    def _counted(self, node: Counted, rest: _Rest, reading: Reading) -> _Rest:
        if node.maximum is None or node.maximum > _UNROLL_AT_MOST:
            raise _NotUnrolled
        for count in range(node.maximum, 0, -1):
            once = self.compile(node.item, rest, reading)
            rest = self._union([rest, once]) if count > node.minimum else once
        return rest

    def _look(self, node: Look, rest: _Rest, reading: Reading) -> _Rest:
        inner = reading.opposite if node.negative else reading
        if node.ahead:
            seen = self.compile(node.item, self.always(ANY), inner)
            if node.negative:
                seen = {c: inverse(found) for c, found in seen.items()}
            return {c: self._checked(intersection(seen[c], rest[c])) for c in self._contexts}
        before = one_character(node.item, inner)
        if before is None:
            raise _NotUnrolled
        return {
            c: after
            if node.negative != (c != START and bool(self._classes[c] & before))
            else NOTHING
            for c, after in rest.items()
        }

    def _edge(self, edge: Edge, context: int, after: Regex, reading: Reading) -> Regex:
        if edge is Edge.START:
            return after if context == START else NOTHING
        if edge is Edge.LINE_START:
            begins = context == START or bool(self._classes[context] & reading.of(LINE_ENDS))
            return after if begins else NOTHING
        at_end = EPSILON if after.nullable else NOTHING
        if edge is Edge.FINISH or (edge is Edge.END and reading is Reading.NARROW):
            return at_end
        if edge is Edge.END:
            return intersection(after, either(EPSILON, literal("\n")))
        if edge is Edge.LINE_END:
            return either(at_end, starting(after, reading.of(LINE_ENDS)))
        before = None if context == START else self._classes[context]
        allowed = after_boundary(edge, before, reading)
        ends = is_boundary(edge, before, None, reading)
        return either(at_end if ends else NOTHING, starting(after, allowed))
