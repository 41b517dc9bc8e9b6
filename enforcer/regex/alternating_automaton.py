r"""Patterns whose assertions stand inside loops, by way of an alternating automaton.

Owns: the languages of patterns like `((?!ab).)*`, `(\w+($|,))+`, `(?<!foo)bar`. A position in a
pattern is a stack of nodes still to be matched. What a lookaround asks and what the rest of the
pattern asks must both hold, so a state is a Boolean function of stacks (an alternating automaton:
Brzozowski, Leiss 1980), in canonical form (`bdd`) so that equal states are found equal. The
states of the deterministic automaton are languages with names. Must not know: pattern syntax, JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from enforcer.regex.automata.exploring import Explored
from enforcer.regex.automata.table import language_of
from enforcer.regex.bdd import FALSE, TRUE, Diagrams, TooManyNodesError
from enforcer.regex.charset import LINE_ENDS, partition
from enforcer.regex.constructors import ANY, EPSILON, concat, either
from enforcer.regex.derivative import derivative
from enforcer.regex.edges import START, Reading, is_boundary, left_classes, plain_language, walk
from enforcer.regex.tree import (
    EVERY,
    Alternation,
    Counted,
    Edge,
    Look,
    Node,
    One,
    RegexError,
    Sequence,
)

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

_STATES = 300
_NODES = 20_000
_STACKS = 150  # also bounds how deep the functions of diagrams recurse
_STEPS = 100_000
_BEHIND = 1_000

_DONE = 0
_ANYTHING = Counted(EVERY, 0, None)


@dataclass(frozen=True, slots=True)
class _Context:
    """What is known of the text before a position.

    Attributes:
        before: the class of the last character, or `START`.
        behind: for each lookbehind, what may follow the text so far in its language.

    """

    before: int
    behind: tuple[Regex, ...]


def language(tree: Node, reading: Reading, pattern: str) -> Regex:
    """Build the language of all strings in which the tree matches somewhere.

    Raises:
        RegexError: the automaton is too large, or a lookbehind cannot be resolved.

    """
    try:
        return language_of(_Explorer(tree, reading, pattern).explore())
    except (TooManyNodesError, _TooManyStatesError):
        raise RegexError(
            pattern,
            0,
            "the assertions inside this pattern's loops need too many states; "
            "write it without a lookaround or anchor inside a repetition",
        ) from None


class _TooManyStatesError(Exception):
    """The automaton is over its limit."""


class _Explorer:
    """Builds the automaton of one pattern.

    A stack is a number: what is still to be matched, each node with the reading that
    its place calls for; `_DONE` is the empty one. A letter is the index of a set of
    characters that the pattern does not tell apart; None stands for the end.
    """

    def __init__(self, tree: Node, reading: Reading, pattern: str) -> None:
        self._tree = tree
        self._pattern = pattern
        self._classes = left_classes(tree)
        self._lookbehinds: dict[tuple[int, Reading], int] = {}
        self._diagrams = Diagrams(_NODES)
        self._stacks: list[tuple[Node, Reading, int]] = [(Edge.FINISH, reading, _DONE)]
        self._numbers: dict[tuple[int, Reading, int], int] = {}
        self._fewer: dict[tuple[int, int, int | None], Counted] = {}
        self._matching: dict[tuple[int, Reading], frozenset[int]] = {}
        self._steps = 0
        nodes = [node for node in walk(tree) if isinstance(node, One)]
        sets = [s for node in nodes for s in (node.readings.ecma, node.readings.python)]
        self._letters = partition([*sets, *self._classes, LINE_ENDS.ecma, LINE_ENDS.python])
        match = self._push(tree, reading, _DONE)
        self._start = self._push(_ANYTHING, reading, match)

    def explore(self) -> Explored:
        """Build all states that can be reached."""
        begin = (self._atom(self._start), _Context(START, self._texts_before()))
        states = {begin: 0}
        pending = [begin]
        rows: list[list[int]] = []
        accepts: list[int] = []
        for function, context in pending:
            accepts.append(int(self._after(function, context, None) == TRUE))
            row: list[int] = []
            for letter in range(len(self._letters)):
                state = self._step(function, context, letter)
                if state not in states:
                    if len(states) >= _STATES:
                        raise _TooManyStatesError
                    states[state] = len(states)
                    pending.append(state)
                row.append(states[state])
            rows.append(row)
        return Explored(self._letters, accepts, np.array(rows, np.int32), 0)

    def _texts_before(self) -> tuple[Regex, ...]:
        """Build the texts that satisfy each lookbehind, numbered, in both readings."""
        found: list[Regex] = []
        for node in walk(self._tree):
            if isinstance(node, Look) and not node.ahead:
                for reading in Reading:
                    language = _text_before(node.item, reading)
                    if language is None:
                        raise RegexError(
                            self._pattern,
                            node.position,
                            "an assertion inside a lookbehind is not supported",
                        )
                    self._lookbehinds[id(node), reading] = len(found)
                    found.append(language)
        return tuple(found)

    def _push(self, node: Node, reading: Reading, rest: int) -> int:
        # Nodes are told apart by identity: all of them live as long as this object.
        key = (id(node), reading, rest)
        if key not in self._numbers:
            if len(self._stacks) > _STACKS:
                raise _TooManyStatesError
            self._numbers[key] = len(self._stacks)
            self._stacks.append((node, reading, rest))
        return self._numbers[key]

    def _atom(self, stack: int) -> int:
        return TRUE if stack == _DONE else self._diagrams.variable(stack)

    def _after(self, function: int, context: _Context, letter: int | None) -> int:
        """Build what a state asks of the text behind the next letter."""
        known: dict[int, int] = {}

        def asked(stack: int) -> int:
            if stack not in known:
                known[stack] = self._advance(stack, context, letter, frozenset())
            return known[stack]

        return self._diagrams.substitute(function, asked)

    def _step(self, function: int, context: _Context, letter: int) -> tuple[int, _Context]:
        after = self._after(function, context, letter)
        if after in (FALSE, TRUE):
            return after, _Context(START, ())  # nothing more is asked of the text
        first = self._letters[letter].first
        number = next(i for i, members in enumerate(self._classes) if first in members)
        behind = tuple(derivative(language, first) for language in context.behind)
        if any(language.size > _BEHIND for language in behind):
            raise _TooManyStatesError
        return after, _Context(number, behind)

    def _advance(
        self, stack: int, context: _Context, letter: int | None, looping: frozenset[int]
    ) -> int:
        """Build what a stack asks of the text behind the next letter."""
        self._steps += 1
        if self._steps > _STEPS:
            raise _TooManyStatesError
        if stack == _DONE:
            return TRUE
        node, reading, rest = self._stacks[stack]
        if isinstance(node, One):
            return self._atom(rest) if letter in self._matched(node, reading) else FALSE
        if isinstance(node, Counted):
            return self._counted(stack, context, letter, looping)
        if isinstance(node, Sequence):
            for item in reversed(node.items):
                rest = self._push(item, reading, rest)
            return self._advance(rest, context, letter, looping)
        if isinstance(node, Alternation):
            found = FALSE
            for item in node.items:
                branch = self._advance(self._push(item, reading, rest), context, letter, looping)
                found = self._diagrams.either(found, branch)
            return found
        if isinstance(node, Look):
            asked = self._look(node, reading, context, letter)
        else:
            asked = self._edge(node, reading, context, letter)
        if asked == FALSE:
            return FALSE
        return self._diagrams.both(asked, self._advance(rest, context, letter, looping))

    def _matched(self, node: One, reading: Reading) -> frozenset[int]:
        key = (id(node), reading)
        if key not in self._matching:
            members = reading.of(node.readings)
            letters = (i for i, letter in enumerate(self._letters) if letter.first in members)
            self._matching[key] = frozenset(letters)
        return self._matching[key]

    def _counted(
        self, stack: int, context: _Context, letter: int | None, looping: frozenset[int]
    ) -> int:
        node, reading, rest = self._stacks[stack]
        if not isinstance(node, Counted):
            raise TypeError(f"not a repetition: {node!r}")
        if stack in looping:
            return FALSE  # one more empty round matches nothing new
        again = FALSE
        if node.maximum != 0:
            round_ = self._push(node.item, reading, self._push(self._less(node), reading, rest))
            again = self._advance(round_, context, letter, looping | {stack})
        if node.minimum:
            return again
        return self._diagrams.either(again, self._advance(rest, context, letter, looping))

    def _less(self, node: Counted) -> Counted:
        """Take one round off."""
        minimum = max(node.minimum - 1, 0)
        maximum = None if node.maximum is None else node.maximum - 1
        if (minimum, maximum) == (node.minimum, node.maximum):
            return node
        key = (id(node.item), minimum, maximum)
        return self._fewer.setdefault(key, Counted(node.item, minimum, maximum))

    def _look(self, node: Look, reading: Reading, context: _Context, letter: int | None) -> int:
        inner = reading.opposite if node.negative else reading
        if node.ahead:
            asked = self._push(node.item, inner, _DONE)
            seen = self._advance(asked, context, letter, frozenset())
        else:
            behind = context.behind[self._lookbehinds[id(node), inner]]
            seen = TRUE if behind.nullable else FALSE
        return self._diagrams.inverse(seen) if node.negative else seen

    def _edge(self, edge: Edge, reading: Reading, context: _Context, letter: int | None) -> int:
        before = None if context.before == START else self._classes[context.before]
        after = None if letter is None else self._letters[letter]
        if edge is Edge.START:
            return TRUE if before is None else FALSE
        if edge is Edge.LINE_START:
            return TRUE if before is None or before.first in reading.of(LINE_ENDS) else FALSE
        if edge is Edge.LINE_END:
            return TRUE if after is None or after.first in reading.of(LINE_ENDS) else FALSE
        if edge in (Edge.WORD, Edge.NOT_WORD):
            return TRUE if is_boundary(edge, before, after, reading) else FALSE
        if after is None:
            return TRUE
        if edge is Edge.END and reading is Reading.WIDE and after.first == "\n":
            return self._atom(self._push(Edge.FINISH, reading, _DONE))
        return FALSE


def _text_before(item: Node, reading: Reading) -> Regex | None:
    """Build the language of the texts that end in a match of a lookbehind's item."""
    if (plain := plain_language(item, reading)) is not None:
        return concat(ANY, plain)
    if item is Edge.START:
        return EPSILON
    if isinstance(item, Alternation):
        found = [_text_before(part, reading) for part in item.items]
        return None if None in found else either(*(part for part in found if part is not None))
    if isinstance(item, Sequence) and item.items[0] is Edge.START:
        return plain_language(Sequence(item.items[1:]), reading)
    return None
