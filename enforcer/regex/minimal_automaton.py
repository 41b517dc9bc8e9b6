"""Languages as minimal automata that are built beforehand: each step is a look into a table.

A derivative is worked out when a text leads to it, which may take long. Where a text must not wait,
the whole automaton is built first, minimal and without dead ends, and travels as JSON to whoever
follows the text.

Owns: building it, and its states as languages. Must not know: what the languages are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.regex.constructors import NOTHING
from enforcer.regex.derivative import closure, successors
from enforcer.regex.elimination import told_apart
from enforcer.regex.syntax import Regex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.regex.charset import CharSet

    Moves = Sequence[Sequence[tuple[CharSet, int]]]

_SIZE_PER_STATE = 1_000


class TooManyStates(Exception):  # noqa: N818 - told to who asked, never leaves the compiler
    """An automaton is over its limit."""


class State(Regex):
    """What may follow a text, as a state: equal to itself alone.

    Attributes:
        alphabet: all characters that any text may still have.
        memo: what others have found out of it, by whatever they please.

    """

    __slots__ = ("_after", "_automaton", "_moves", "alphabet", "memo")

    alphabet: frozenset[str]
    memo: dict[Any, Any]
    _after: dict[str, State] | None
    _automaton: _Automaton
    _moves: Sequence[Any]

    def __init__(self, automaton: _Automaton, row: Sequence[Any]) -> None:
        nullable, shortest, alphabet, moves = row
        values = {"nullable": nullable, "shortest": shortest, "longest": None, "boolean": False}
        derived = {"depth": 0, "size": 1, "_hash": id(self), "alphabet": frozenset(alphabet)}
        own = {"memo": {}, "_after": None, "_automaton": automaton, "_moves": moves}
        for name, value in (values | derived | own).items():
            object.__setattr__(self, name, value)

    def _key(self) -> object:
        return id(self)

    @property
    def after(self) -> Mapping[str, State]:
        """The states behind each next character; none of them is empty."""
        if self._after is None:
            state = self._automaton.state
            after = {char: state(to) for chars, to in self._moves for char in chars}
            object.__setattr__(self, "_after", after)
            return after
        return self._after

    def behind(self, char: str) -> Regex:
        """Give what may follow one more character; `NOTHING` if it does not fit."""
        return self.after.get(char, NOTHING)


class _Automaton:
    """The states of an automaton, made when a text first comes there."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows
        self._states: dict[int, State] = {}

    def state(self, number: int) -> State:
        found = self._states.get(number)
        if found is None:  # one for all threads: states are told apart by identity
            found = self._states.setdefault(number, State(self, self._rows[number]))
        return found


def minimal(regex: Regex, limit: int) -> list[Any]:
    """Build the minimal automaton of a language whose characters are few.

    Args:
        regex: the language.
        limit: of states before they are found equal, and of the sizes of their expressions,
            counted in thousands.

    Returns:
        JSON's values for `read`; an empty list if the language is empty.

    Raises:
        TooManyStates: there are more.

    """
    states, moves = explored(regex, limit)
    shortest = shortest_ends([state.nullable for state in states], moves)
    if shortest[0] is None:
        return []
    live = [[(m, to) for m, to in row if shortest[to] is not None] for row in moves]
    classes = told_apart(
        [state.nullable for state in states],
        lambda at, now: frozenset((char, now[to]) for chars, to in live[at] for char in chars),
    )
    order: dict[int, int] = {}  # the state that stands for each class, the first one's first
    pending = [0]
    for state in pending:
        if classes[state] not in order:
            order[classes[state]] = state
            pending.extend(to for _, to in live[state])
    number = {each: i for i, each in enumerate(order)}
    rows = []
    for state in order.values():
        texts: dict[int, list[str]] = {}
        for members, to in live[state]:
            texts.setdefault(number[classes[to]], []).extend(members)
        found = [["".join(sorted(chars)), to] for to, chars in texts.items()]
        rows.append([states[state].nullable, shortest[state], sorted(found)])
    return [[*row[:2], chars, row[2]] for row, chars in zip(rows, _alphabets(rows), strict=True)]


def explored(regex: Regex, limit: int) -> tuple[list[Regex], list[list[tuple[CharSet, int]]]]:
    """Give the states of a language, the first it itself, and where each goes on; see `minimal`."""
    spent = 0

    def admit(state: Regex, _: int) -> None:
        nonlocal spent
        spent += 1 + state.size // _SIZE_PER_STATE
        if spent > limit:
            raise TooManyStates(limit)

    return closure(regex, successors, admit)


def shortest_ends(nullable: Sequence[bool], moves: Moves) -> list[int | None]:
    """Give the least characters to the end of a text from each state; None for dead ends."""
    before: list[list[int]] = [[] for _ in moves]
    for state, row in enumerate(moves):
        for _, to in row:
            before[to].append(state)
    found: list[int | None] = [0 if each else None for each in nullable]
    queue = [state for state, each in enumerate(nullable) if each]
    for state in queue:
        for each in before[state]:
            if found[each] is None:
                found[each] = (found[state] or 0) + 1
                queue.append(each)
    return found


def _alphabets(rows: Sequence[Any]) -> list[str]:
    """List the characters that may come behind each state at all."""
    found = [frozenset[str]().union(*(chars for chars, _ in moves)) for *_, moves in rows]
    grown = True
    while grown:
        grown = False
        for i in range(len(rows) - 1, -1, -1):
            whole = found[i].union(*(found[to] for _, to in rows[i][-1]))
            grown = grown or len(whole) > len(found[i])
            found[i] = whole
    return ["".join(sorted(each)) for each in found]


def read(rows: Sequence[Any]) -> Regex:
    """Read what `minimal` has given: the first state, or `NOTHING`."""
    return _Automaton(rows).state(0) if rows else NOTHING
