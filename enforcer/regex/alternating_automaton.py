r"""Alternating automata of patterns whose assertions stand inside loops.

Such patterns are `((?!ab).)*`, `(\w+($|,))+`, `(?<!foo)bar`. A position in a pattern is a stack of
nodes still to be matched. The conditions of a lookaround and of the rest of the pattern must both
hold, so a state is a Boolean function of stacks (Brzozowski, Leiss 1980), in disjunctive normal
form. Must not know: pattern syntax, JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.regex.automata.minimizing import language_of
from enforcer.regex.charset import partition
from enforcer.regex.derivative import derivative
from enforcer.regex.syntax import Explored
from enforcer.regex.tree import (
    EVERY,
    Alternation,
    Counted,
    Disputed,
    Look,
    Node,
    One,
    Reading,
    RegexError,
    Sequence,
    text_before,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.regex.syntax import Regex

    # Alternatives of stacks all of which match the rest of the text; a negative one must not.
    Formula = frozenset[frozenset[int]]
    # And for each lookbehind, the derivative of its language by the text so far.
    Configuration = tuple[Formula, tuple[Regex, ...]]

_STATES = 1_000
_STACKS = 1_000
_STEPS = 100_000
_BEHIND = 1_000
_DEEPEST = 100  # loops that are entered at one position
_PAIRS = 6  # log2 of the pairs of alternatives that count as one step

_DONE = 0
_ANYTHING = Counted(EVERY, 0, None)
_TRUE: Formula = frozenset({frozenset()})
_FALSE: Formula = frozenset()


def language(tree: Node, reading: Reading, pattern: str) -> Regex:
    """Build the language of all strings in which the tree matches somewhere.

    Raises:
        RegexError: the automaton is too large, or a lookbehind cannot be resolved.

    """
    try:
        return language_of(_Explorer(tree, pattern).explore(tree, reading))
    except _TooManyStatesError:
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

    A stack is a number, of nodes still to be matched, each with the reading that its
    place calls for; `_DONE` is the empty one. A letter is the index of a set of
    characters that the pattern does not tell apart; None stands for the end.
    """

    def __init__(self, tree: Node, pattern: str) -> None:
        self._stacks: list[tuple[Node, Reading, int]] = [(EVERY, Reading.NARROW, _DONE)]
        self._numbers: dict[tuple[int, Reading, int], int] = {}
        self._fewer: dict[tuple[int, int, int | None], Counted] = {}
        self._matching: dict[tuple[int, Reading], frozenset[int]] = {}
        self._behind: dict[tuple[int, Reading], int] = {}
        self._steps = 0
        nodes = [*_walk(tree)]
        every = [node.readings for node in nodes if isinstance(node, One)]
        self._letters = partition(s for each in every for s in (each.ecma, each.python))
        texts: dict[Regex, int] = {}
        for node in nodes:
            if isinstance(node, Look) and not node.ahead:
                for reading in Reading:
                    before = text_before(node.item, reading)
                    if before is None:
                        reason = "an assertion inside a lookbehind is not supported"
                        raise RegexError(pattern, node.position, reason)
                    self._behind[id(node), reading] = texts.setdefault(before, len(texts))
        self._before = tuple(texts)

    def explore(self, tree: Node, reading: Reading) -> Explored:
        """Build all states that are reachable."""
        match = self._push(tree, reading, _DONE)
        begin = self._atom(self._push(_ANYTHING, reading, match)), self._before
        states: dict[Configuration, int] = {begin: 0}
        pending = [begin]
        rows: list[list[int]] = []
        accepts: list[int] = []
        for state in pending:
            accepts.append(int(self._after(state, None) == _TRUE))
            rows.append([])
            for letter in range(len(self._letters)):
                following = self._step(state, letter)
                if following not in states:
                    if len(states) >= _STATES:
                        raise _TooManyStatesError
                    states[following] = len(states)
                    pending.append(following)
                rows[-1].append(states[following])
        return Explored(self._letters, accepts, np.array(rows, np.int32), 0)

    def _pay(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _STEPS:
            raise _TooManyStatesError

    def _push(self, node: Node, reading: Reading, rest: int) -> int:
        """Return the number of the stack with a node on top of `rest`."""
        # Nodes are told apart by identity: they live as long as this object.
        key = (id(node), reading, rest)
        if key not in self._numbers:
            if len(self._stacks) > _STACKS:
                raise _TooManyStatesError
            self._numbers[key] = len(self._stacks)
            self._stacks.append((node, reading, rest))
        return self._numbers[key]

    def _atom(self, stack: int) -> Formula:
        return frozenset({frozenset({stack})}) if stack else _TRUE

    def _either(self, *parts: Formula) -> Formula:
        every = frozenset[frozenset[int]]().union(*parts)
        self._pay(1 + (len(every) ** 2 >> _PAIRS))
        return frozenset(each for each in every if not any(other < each for other in every))

    def _both(self, *parts: Formula) -> Formula:
        found = _TRUE
        for part in parts:
            joined = (a | b for a in found for b in part)
            found = self._either(frozenset(x for x in joined if not any(-n in x for n in x)))
        return found

    def _inverse(self, function: Formula) -> Formula:
        return self._both(*(frozenset(frozenset({-n}) for n in each) for each in function))

    def _after(self, state: Configuration, letter: int | None) -> Formula:
        """Build the condition of a state on the text behind the next letter."""
        function, behind = state
        asked: dict[int, Formula] = {}
        for stack in {n for each in function for n in each}:
            found = self._advance(abs(stack), behind, letter, frozenset())
            asked[stack] = found if stack > 0 else self._inverse(found)
        return self._either(*(self._both(*(asked[n] for n in each)) for each in function))

    def _step(self, state: Configuration, letter: int) -> Configuration:
        after = self._after(state, letter)
        if after in (_FALSE, _TRUE):
            return after, ()  # the rest of the text has no condition
        first = self._letters[letter].first
        behind = tuple(derivative(language, first) for language in state[1])
        if any(language.size > _BEHIND for language in behind):
            raise _TooManyStatesError
        return after, behind

    def _advance(
        self, stack: int, behind: tuple[Regex, ...], letter: int | None, looping: frozenset[int]
    ) -> Formula:
        """Build the condition of a stack on the text behind the next letter."""
        self._pay(1)
        if stack == _DONE:
            return _TRUE
        node, reading, rest = self._stacks[stack]

        def following(*nodes: Node) -> Formula:
            after = rest
            for each in reversed(nodes):
                after = self._push(each, reading, after)
            return self._advance(after, behind, letter, looping)

        if isinstance(node, One):
            return self._atom(rest) if letter in self._matched(node, reading) else _FALSE
        if isinstance(node, Sequence):
            return following(*node.items)
        if isinstance(node, Alternation):
            return self._either(*map(following, node.items))
        if isinstance(node, Disputed):
            return following(reading.assertion(node))
        if isinstance(node, Look):
            seen = self._seen(node, reading, behind, letter)
            return self._both(seen, following()) if seen else _FALSE
        if stack in looping:
            return _FALSE  # one more empty round matches nothing new
        if len(looping) > _DEEPEST:
            raise _TooManyStatesError
        looping |= {stack}
        again = following(node.item, self._less(node)) if node.maximum != 0 else _FALSE
        looping -= {stack}
        return again if node.minimum else self._either(again, following())

    def _matched(self, node: One, reading: Reading) -> frozenset[int]:
        key = (id(node), reading)
        if key not in self._matching:
            members = reading.of(node.readings)
            letters = (i for i, letter in enumerate(self._letters) if letter.first in members)
            self._matching[key] = frozenset(letters)
        return self._matching[key]

    def _less(self, node: Counted) -> Counted:
        """Return the repetition that is left behind one round."""
        minimum = max(node.minimum - 1, 0)
        maximum = None if node.maximum is None else node.maximum - 1
        if (minimum, maximum) == (node.minimum, node.maximum):
            return node
        key = (id(node.item), minimum, maximum)
        return self._fewer.setdefault(key, Counted(node.item, minimum, maximum))

    def _seen(
        self, node: Look, reading: Reading, behind: tuple[Regex, ...], letter: int | None
    ) -> Formula:
        """Build the condition of a lookaround on the text behind the next letter."""
        inner = reading.opposite if node.negative else reading
        if node.ahead:
            asked = self._push(node.item, inner, _DONE)
            seen = self._advance(asked, behind, letter, frozenset())
        else:
            is_behind = behind[self._behind[id(node), inner]].nullable
            seen = _TRUE if is_behind else _FALSE
        return self._inverse(seen) if node.negative else seen


def _walk(tree: Node) -> Iterator[Node]:
    """Yield every node of a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Sequence | Alternation):
            pending.extend(node.items)
        elif isinstance(node, Counted | Look):
            pending.append(node.item)
        elif isinstance(node, Disputed):
            pending += [node.narrow, node.wide]
