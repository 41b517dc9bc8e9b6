"""Atoms of characters, and the interface of lazy automata over them.

In each of these automata state 0 is dead, and state 1 accepts every text. Their work is counted,
never timed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from enforcer.regex.charset import CharSet, partition
from enforcer.regex.syntax import Chars

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.regex.syntax import Regex

    Row = tuple[int, ...]

MOST_ATOMS = 512
MOST_WORK = 4_000_000  # transitions and operands: about a second
ADVICE = "; a pattern with `^` before it, smaller counts or fewer alternatives take fewer"
DEAD = 0
EVERY = 1
UNBOUNDED = 1 << 40


class TooLargeError(Exception):
    """An automaton is over a limit; the message names the limit."""


class Alphabet:
    """Atoms of characters, the automata over them, and their work.

    Attributes:
        atoms: disjoint sets of characters that together hold every character.
        text: the row of the state that accepts every text.
        automata: by their languages.
        within: the atoms of each numbered set.
        work: transitions and operands.

    """

    def __init__(self, sets: Iterable[CharSet]) -> None:
        self.atoms = partition(sets)
        if len(self.atoms) > MOST_ATOMS:
            raise TooLargeError(f"more than {MOST_ATOMS} classes of characters")
        # No marker is a character of text, so neither `ANY` nor a complement has one.
        self.text = tuple([DEAD if atom.is_marker else EVERY for atom in self.atoms])
        self.automata: dict[Regex, LazyAutomaton] = {}
        self.work = 0
        self.within: list[Sequence[int]] = []
        self._sets: dict[Chars, int] = {}
        self._chars: dict[str, Chars] = {}

    def pay(self, work: int) -> None:
        """Count work.

        Raises:
            TooLargeError: over the limit.

        """
        self.work += work
        if self.work > MOST_WORK:
            raise TooLargeError(f"an automaton whose states are too large to work out{ADVICE}")

    def set(self, members: Chars) -> int:
        """Return the number of a set that is a union of atoms, by which `within` has them."""
        found = self._sets.get(members)
        if found is None:
            found = self._sets[members] = len(self.within)
            atoms = enumerate(self.atoms)
            self.within.append([at for at, atom in atoms if atom.first in members.chars])
        return found

    def chars(self, char: str) -> Chars:
        """Return the expression of one character."""
        found = self._chars.get(char)
        if found is None:
            found = self._chars[char] = Chars(CharSet(((ord(char), ord(char)),)))
        return found


class LazyAutomaton(ABC):
    """A deterministic automaton over the atoms of an alphabet, whose states are made on demand.

    Attributes:
        start: the first state.
        accepts: for each state whether it accepts.
        shortest: for each state a lower bound of the characters up to an accepting one.
        longest: an upper bound.

    """

    start: int

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self.accepts = [False, True]
        self.shortest = [UNBOUNDED, 0]
        self.longest = [-1, UNBOUNDED]
        self._rows: list[Row | None] = [(DEAD,) * len(alphabet.atoms), alphabet.text]

    def row(self, state: int) -> Row:
        """Return the next state for each atom."""
        found = self._rows[state]
        if found is None:
            found = self._rows[state] = self._row(state)
        return found

    def shortened(self, state: int, most: int) -> int:  # noqa: ARG002
        """Return a state with the same texts of up to `most` characters, and maybe longer ones."""
        return state

    @abstractmethod
    def _row(self, state: int) -> Row: ...

    def _add(self, shortest: int, longest: int, *, accepts: bool) -> int:
        self.accepts.append(accepts)
        self.shortest.append(shortest)
        self.longest.append(longest)
        self._rows.append(None)
        return len(self._rows) - 1
