r"""What a pattern means: the language of the strings in which it matches somewhere.

Owns: turning a tree with anchors, word boundaries and lookarounds into a
language without any. Each node is compiled against what follows it: a
continuation from the left context (the class of the character before) to the
language of the rest of the string. A lookahead then is an intersection with
that rest, an anchor a test of the context. Must not know: pattern syntax, JSON.

Two readings exist of `\d`, `\w`, `\s`, `.`, `$`, `\b`: ECMA-262's, in which
JSON Schema is written, and that of Python's `re`, by which much of the world
checks it. `Reading.NARROW` holds only strings that match under both,
`Reading.WIDE` all that match under either; each turns into the other below a
negative lookaround.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from enforcer.regex.build import (
    ANY,
    EPSILON,
    NOTHING,
    chars,
    concat,
    either,
    inverse,
    literal,
    repeat,
)
from enforcer.regex.charset import ALL, EMPTY, LINE_ENDS, CharSet, Readings, word
from enforcer.regex.derivative import intersection as both
from enforcer.regex.slices import ending, starting
from enforcer.regex.syntax import Chars, Literal, Regex
from enforcer.regex.tree import Choice, Counted, Edge, Look, Node, One, RegexError, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

_UNROLL_AT_MOST = 64
_SIZE_AT_MOST = 200_000


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


def language(tree: Node, reading: Reading, pattern: str) -> Regex:
    """Build the language of all strings in which the tree matches somewhere.

    Raises:
        RegexError: an assertion stands where it cannot be resolved.

    """
    if (plain := _plain(tree, reading)) is not None:
        return concat(ANY, plain, ANY)
    compiler = _Compiler(pattern, _classes(tree))
    end = _Rest(lambda _: ANY)
    match = _Rest(lambda context: compiler.compile(tree, context, end, reading))
    return compiler.consume(ANY, _START, match)


def _plain(node: Node, reading: Reading) -> Regex | None:
    """Translate a tree without assertions; None if it holds one."""
    if isinstance(node, One):
        return chars(reading.of(node.readings))
    if isinstance(node, Counted):
        part = _plain(node.item, reading)
        return None if part is None else repeat(part, node.minimum, node.maximum)
    if isinstance(node, Sequence | Choice):
        parts = []
        for item in node.items:
            part = _plain(item, reading)
            if part is None:
                return None
            parts.append(part)
        return concat(*parts) if isinstance(node, Sequence) else either(*parts)
    return None


_START = -1  # the context before the first character; others are indices of classes


class _Rest:
    """A continuation: the language of the rest, by context; each computed once."""

    def __init__(self, compute: Callable[[int], Regex]) -> None:
        self._compute = compute
        self._known: dict[int, Regex] = {}

    def __call__(self, context: int) -> Regex:
        if context not in self._known:
            self._known[context] = self._compute(context)
        return self._known[context]


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles one pattern.

    Attributes:
        pattern: its text, for errors.
        classes: the partition of all characters by which contexts are told apart.

    """

    pattern: str
    classes: tuple[CharSet, ...]

    def compile(self, node: Node, context: int, rest: _Rest, reading: Reading) -> Regex:
        """Build the language of what may follow in `context`: a match, then the rest."""
        if (plain := _plain(node, reading)) is not None:
            return self.consume(plain, context, rest)
        if isinstance(node, Sequence):
            return self._sequence(node.items, rest, reading)(context)
        if isinstance(node, Choice):
            return self._checked(
                either(*(self.compile(item, context, rest, reading) for item in node.items))
            )
        if isinstance(node, Counted):
            return self._counted(node, context, rest, reading)
        if isinstance(node, Look):
            return self._look(node, context, rest, reading)
        if isinstance(node, Edge):
            return self._edge(node, context, rest, reading)
        raise TypeError(f"not a node: {node!r}")

    def _sequence(self, items: tuple[Node, ...], rest: _Rest, reading: Reading) -> _Rest:
        """Put the items before the rest, neighbours without assertions in one step."""
        plain: list[Regex] = []
        for item in reversed(items):
            if (found := _plain(item, reading)) is not None:
                plain.insert(0, found)
                continue
            if plain:
                rest = self._after(concat(*plain), rest)
                plain = []
            rest = self._before(item, rest, reading)
        return self._after(concat(*plain), rest) if plain else rest

    def _after(self, plain: Regex, rest: _Rest) -> _Rest:
        return _Rest(lambda context: self.consume(plain, context, rest))

    def _before(self, item: Node, rest: _Rest, reading: Reading) -> _Rest:
        return _Rest(lambda context: self.compile(item, context, rest, reading))

    def _checked(self, regex: Regex) -> Regex:
        if regex.size > _SIZE_AT_MOST:
            raise self._error("resolving this pattern's assertions makes it too large")
        return regex

    def _error(self, reason: str, position: int = 0) -> RegexError:
        return RegexError(self.pattern, position, reason)

    def consume(self, plain: Regex, context: int, rest: _Rest) -> Regex:
        """Put a language before the rest, split by the context that it leads to."""
        tails: dict[Regex, CharSet] = {}
        for number, members in enumerate(self.classes):
            if ending(plain, members) != NOTHING:
                tail = rest(number)
                tails[tail] = tails.get(tail, EMPTY) | members
        stay = rest(context) if plain.nullable else None
        if len(tails) == 1 and stay in (None, *tails):
            return concat(plain, *tails)
        split = [concat(ending(plain, members), tail) for tail, members in tails.items()]
        return self._checked(either(*split, *(() if stay is None else (stay,))))

    def _counted(self, node: Counted, context: int, rest: _Rest, reading: Reading) -> Regex:
        if node.maximum is None or node.maximum > _UNROLL_AT_MOST:
            raise self._error(
                "an assertion inside a repetition without a small bound is not supported"
            )
        for count in range(node.maximum, 0, -1):
            rest = self._again(node.item, rest, reading, optional=count > node.minimum)
        return rest(context)

    def _again(self, item: Node, rest: _Rest, reading: Reading, *, optional: bool) -> _Rest:
        once = self._before(item, rest, reading)
        return _Rest(lambda c: either(rest(c), once(c))) if optional else once

    def _look(self, node: Look, context: int, rest: _Rest, reading: Reading) -> Regex:
        inner = reading.opposite if node.negative else reading
        if node.ahead:
            seen = self.compile(node.item, context, _Rest(lambda _: ANY), inner)
            return self._checked(both(inverse(seen) if node.negative else seen, rest(context)))
        before = _last_character(node.item, inner)
        if before is None:
            raise self._error(
                "a lookbehind of more than one character is not supported here", node.position
            )
        holds = context != _START and bool(self.classes[context] & before)
        return rest(context) if holds != node.negative else NOTHING

    def _edge(self, edge: Edge, context: int, rest: _Rest, reading: Reading) -> Regex:
        after = rest(context)
        if edge is Edge.START:
            return after if context == _START else NOTHING
        if edge is Edge.LINE_START:
            begins = context == _START or bool(self.classes[context] & reading.of(LINE_ENDS))
            return after if begins else NOTHING
        at_end = EPSILON if after.nullable else NOTHING
        if edge is Edge.FINISH:
            return at_end
        if edge is Edge.END:
            return (
                at_end if reading is Reading.NARROW else both(after, either(EPSILON, literal("\n")))
            )
        if edge is Edge.LINE_END:
            return either(at_end, starting(after, reading.of(LINE_ENDS)))
        return self._boundary(edge, context, after, reading)

    def _boundary(self, edge: Edge, context: int, after: Regex, reading: Reading) -> Regex:
        r"""Resolve `\b` and `\B` by what each reading counts as a word."""
        kinds = _word_kinds()
        before = outside = len(kinds) - 1
        if context != _START:
            before = next(i for i, kind in enumerate(kinds) if self.classes[context] & kind)
        wanted = edge is Edge.WORD
        # Kind 0 is a word character to both, 1 to Python alone, 2 to neither (as are the ends).
        verdicts = [
            [
                ((before == 0) != (kind == 0)) == wanted,
                ((before == outside) != (kind == outside)) == wanted,
            ]
            for kind in range(len(kinds))
        ]
        decide = all if reading is Reading.NARROW else any
        allowed = EMPTY
        for kind, verdict in zip(kinds, verdicts, strict=True):
            if decide(verdict):
                allowed |= kind
        ends = verdicts[outside]
        if context == _START:
            ends = [ends[0], False]  # Python before 3.14 finds no `\B` in an empty string
        at_end = EPSILON if after.nullable and decide(ends) else NOTHING
        return either(at_end, starting(after, allowed))


def _word_kinds() -> tuple[CharSet, CharSet, CharSet]:
    """Split all characters: word characters to both readings, to Python's alone, to neither."""
    readings = word()
    return readings.ecma, readings.python - readings.ecma, ~readings.python


def _last_character(item: Node, reading: Reading) -> CharSet | None:
    """Find the set S for which a lookbehind asks "is the last character in S"."""
    plain = _plain(item, reading)
    if isinstance(plain, Literal) and len(plain.text) == 1:
        return CharSet.span(plain.text)
    return plain.chars if isinstance(plain, Chars) else None


def _classes(tree: Node) -> tuple[CharSet, ...]:
    """Partition all characters as finely as the tree's left-looking assertions need."""
    wanted: list[CharSet] = []
    pending: list[Node] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Sequence | Choice):
            pending.extend(node.items)
        elif isinstance(node, Counted):
            pending.append(node.item)
        elif isinstance(node, Look):
            pending.append(node.item)
            if not node.ahead:
                found = (_last_character(node.item, reading) for reading in Reading)
                wanted.extend(s for s in found if s is not None)
        elif node is Edge.LINE_START:
            wanted += [LINE_ENDS.ecma, LINE_ENDS.python]
        elif node in (Edge.WORD, Edge.NOT_WORD):
            wanted += _word_kinds()
    classes = [ALL]
    for cut in wanted:
        classes = [part for c in classes for part in (c & cut, c - cut) if part]
    return tuple(classes)
