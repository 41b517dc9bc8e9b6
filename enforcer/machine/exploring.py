"""Deterministic automata of regular languages, by derivatives of whole classes of characters.

A state is a tuple of languages, one for each that is followed; its transitions are Brzozowski's
derivatives (1964), taken for sets of characters at once (Antimirov's linear forms, 1996). Sets are
bit masks over the atoms of the Boolean algebra that the languages' character sets generate, so
that to intersect two of them is one operation. The work is counted, never timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from enforcer.regex.charset import CharSet, partition
from enforcer.regex.constructors import (
    ANY,
    EPSILON,
    NOTHING,
    both,
    concat,
    either,
    inverse,
    repeat,
)
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Named,
    Regex,
    Repeat,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Cells = tuple[tuple[int, Regex], ...]

MOST_STATES = 20_000
MOST_CELLS = 1 << 22  # states times classes of characters
MOST_WORK = 300_000  # transitions, rows, and operands of unions and intersections
_WORK_OF_ROW = 6  # of one that is derived anew
MOST_ATOMS = 512
_DEEPEST = 100
_ADVICE = "; a pattern with `^` before it, smaller counts or fewer alternatives take fewer"
_DECIMALS = "0123456789."  # equations are of remainders of decimals


class TooLargeError(Exception):
    """An automaton is over a limit; the message names the limit."""


@dataclass(frozen=True, slots=True)
class Explored:
    """States that texts lead to, the first one first.

    Attributes:
        atoms: disjoint sets of characters that together hold every character.
        accepts: for each state the languages that a text may end in, as bits.
        rows: for each state disjoint masks of atoms, and the state that each leads to.
        work: transitions and operands that it took.

    """

    atoms: tuple[CharSet, ...]
    accepts: list[int]
    rows: list[list[tuple[int, int]]]
    work: int


def explore(languages: tuple[Regex, ...]) -> Explored:
    """Build the automaton that follows several languages at once.

    Raises:
        TooLargeError: it has too many states, or its derivatives are too large.

    """
    return _Explorer(languages).explore()


class _Row(NamedTuple):
    """The transitions of one language.

    Attributes:
        cells: disjoint sets of next characters, each with the language that follows; no dead ones.
        work: operands of what follows.
        parts: the languages whose rows it was made of.

    """

    cells: Cells
    work: int
    parts: tuple[Regex, ...]


class _Alphabet:
    """Atoms of characters, and what is known of languages over them."""

    def __init__(self, sets: Iterable[CharSet]) -> None:
        self.atoms = partition(sets)
        if len(self.atoms) > MOST_ATOMS:
            raise TooLargeError(f"more than {MOST_ATOMS} classes of characters")
        self.every = (1 << len(self.atoms)) - 1
        # No marker is a character of text, so neither `ANY` nor a complement has one.
        self.text = sum(1 << i for i, atom in enumerate(self.atoms) if not atom.is_marker)
        self.rows = {
            NOTHING: _Row((), 0, ()),
            EPSILON: _Row((), 0, ()),
            ANY: _Row(((self.text, ANY),), 0, ()),
        }
        self.unions: dict[tuple[Regex, ...], Regex] = {}
        self.intersections: dict[tuple[Regex, ...], Regex] = {}
        self._concats: dict[tuple[Regex, Regex], Regex] = {}
        self._masks: dict[CharSet, int] = {}
        self._of_char: dict[str, int] = {}

    def char(self, char: str) -> int:
        """Return the mask of the atom that a character is in."""
        found = self._of_char.get(char)
        if found is None:
            at = next(i for i, atom in enumerate(self.atoms) if char in atom)
            found = self._of_char[char] = 1 << at
        return found

    def then(self, first: Regex, rest: Regex) -> Regex:
        """Return the language of a member of one language, then one of another."""
        found = self._concats.get((first, rest))
        if found is None:
            found = self._concats[first, rest] = concat(first, rest)
        return found

    def mask(self, members: CharSet) -> int:
        """Return the mask of a set that is a union of atoms."""
        found = self._masks.get(members)
        if found is None:
            found = sum(1 << i for i, atom in enumerate(self.atoms) if atom.first in members)
            self._masks[members] = found
        return found


# Numbers, booleans and null have the same few characters, and ranges of numbers most of their parts
# in common: what is known of these is kept.
_OF_NUMBERS = [CharSet.span(char) for char in sorted(set("0123456789.+-eEnulltruefalse"))]
_WITHIN_NUMBERS = frozenset(char for each in _OF_NUMBERS for char in each)
_MOST_KEPT = 20_000  # rows
_numbers = _Alphabet(_OF_NUMBERS)


def _alphabet(languages: Sequence[Regex]) -> _Alphabet:
    global _numbers  # noqa: PLW0603 - the one that is kept
    sets = _sets(languages)
    if not all(
        len(each) <= len(_WITHIN_NUMBERS) and _WITHIN_NUMBERS.issuperset(each) for each in sets
    ):
        return _Alphabet(sets)
    if len(_numbers.rows) > _MOST_KEPT:
        _numbers = _Alphabet(_OF_NUMBERS)
    return _numbers


class _Explorer:
    def __init__(self, languages: tuple[Regex, ...]) -> None:
        if max(each.depth for each in languages) > _DEEPEST:
            raise TooLargeError(f"patterns nested more than {_DEEPEST} levels deep")
        self._start = languages
        self._alphabet = _alphabet(languages)
        self._counted: set[Regex] = set()
        self._parts: list[Regex] = []  # of the row that is being made
        self._work = 0

    def explore(self) -> Explored:
        most = min(MOST_STATES, MOST_CELLS // len(self._alphabet.atoms))
        numbers = {self._start: 0}
        states = [self._start]
        rows: list[list[tuple[int, int]]] = []
        for state in states:
            found: dict[tuple[Regex, ...], int] = {}
            if len(state) == 1:
                found = {(after,): mask for mask, after in self._row(state[0])}
            else:
                for mask, after in _cells(
                    self._alphabet.every, [self._row(each) for each in state]
                ):
                    found[after] = found.get(after, 0) | mask
            row = []
            for after, mask in found.items():
                number = numbers.get(after)
                if number is None:
                    number = numbers[after] = len(states)
                    if number >= most:
                        raise TooLargeError(f"an automaton of more than {most:,} states{_ADVICE}")
                    states.append(after)
                row.append((mask, number))
            rows.append(row)
        accepts = [sum(1 << k for k, x in enumerate(state) if x.nullable) for state in states]
        return Explored(self._alphabet.atoms, accepts, rows, self._work)

    def _row(self, regex: Regex) -> Cells:
        self._parts.append(regex)
        row = self._alphabet.rows.get(regex)
        if row is None:
            around, self._parts = self._parts, []
            merged: dict[Regex, int] = {}
            work = _WORK_OF_ROW
            for mask, after in self._derived(regex):
                if after is not NOTHING and after != NOTHING:
                    merged[after] = merged.get(after, 0) | mask
                    work += 2
                    if isinstance(after, Union | Intersection):
                        work += len(after.parts)
                    elif isinstance(after, Concat):  # whose parts are only copied
                        work += len(after.parts) // 2
            cells = tuple((mask, after) for after, mask in merged.items())
            row = self._alphabet.rows[regex] = _Row(cells, work, tuple(self._parts))
            self._parts = around
        if regex not in self._counted:
            self._count(regex)
        return row.cells

    def _count(self, regex: Regex) -> None:
        """Count the work of a row and of its parts, also where others have done it before.

        So it does not depend on what is kept whether a language is too large.
        """
        pending = [regex]
        while pending:
            each = pending.pop()
            if each not in self._counted:
                self._counted.add(each)
                row = self._alphabet.rows[each]
                self._work += row.work
                pending += row.parts
        if self._work > MOST_WORK:
            raise TooLargeError(f"an automaton whose states are too large to work out{_ADVICE}")

    def _derived(self, regex: Regex) -> Iterable[tuple[int, Regex]]:
        if isinstance(regex, Literal):
            return [(self._alphabet.char(regex.text[0]), Literal(regex.text[1:]))]
        if isinstance(regex, Chars):
            return [(self._alphabet.mask(regex.chars), EPSILON)]
        if isinstance(regex, Repeat):
            most = None if regex.maximum is None else regex.maximum - 1
            rest = repeat(regex.part, max(regex.minimum - 1, 0), most)
            return self._before(self._row(regex.part), rest)
        if isinstance(regex, Concat):
            return self._behind_first(regex)
        if isinstance(regex, Union):
            return self._of_union(regex)
        if isinstance(regex, Intersection):
            rows = [self._row(part) for part in regex.parts]
            return [(mask, self._both(after)) for mask, after in _met(rows)]
        if isinstance(regex, Complement):
            inner = self._row(regex.part)
            left = self._alphabet.text
            for mask, _ in inner:
                left &= ~mask
            found = [(mask, inverse(after)) for mask, after in inner]
            return [*found, (left, ANY)] if left else found
        if isinstance(regex, Named):
            return [
                (self._alphabet.mask(members), after) for members, after in regex.equation.moves()
            ]
        raise TypeError(f"not a regular expression: {regex!r}")

    def _both(self, parts: tuple[Regex, ...]) -> Regex:
        found = self._alphabet.intersections.get(parts)
        if found is None:
            found = self._alphabet.intersections[parts] = both(*parts)
        return found

    def _before(self, row: Cells, rest: Regex) -> Cells:
        then = self._alphabet.then
        return tuple([(mask, then(after, rest)) for mask, after in row])

    def _behind_first(self, regex: Concat) -> Iterable[tuple[int, Regex]]:
        rows: list[Cells] = []
        for at, part in enumerate(regex.parts):
            rows.append(self._before(self._row(part), concat(*regex.parts[at + 1 :])))
            if not part.nullable:
                break
        return rows[0] if len(rows) == 1 else self._joined(rows)

    def _of_union(self, regex: Union) -> Iterable[tuple[int, Regex]]:
        texts: dict[str, list[Regex]] = {}
        rows: list[Cells] = []
        for part in regex.parts:
            if isinstance(part, Literal):
                if part.text:
                    texts.setdefault(part.text[0], []).append(Literal(part.text[1:]))
            else:
                rows.append(self._row(part))
        if texts:
            rows.append(tuple((self._alphabet.char(c), either(*rest)) for c, rest in texts.items()))
        return self._joined(rows)

    def _joined(self, rows: Sequence[Cells]) -> Iterable[tuple[int, Regex]]:
        live = [row for row in rows if row]
        if len(live) == 1:
            return live[0]
        found = []
        for mask, after in _cells(self._alphabet.every, live):
            some = tuple([x for x in after if x is not NOTHING])
            if len(some) == 1:
                found.append((mask, some[0]))
                continue
            joined = self._alphabet.unions.get(some)
            if joined is None:
                joined = self._alphabet.unions[some] = either(*some)
            found.append((mask, joined))
        return found


def _cells(every: int, rows: Sequence[Cells]) -> list[tuple[int, tuple[Regex, ...]]]:
    """Split all atoms so that each row is constant on each part; dead in every row: left out."""
    cells: list[tuple[int, tuple[Regex, ...]]] = [(every, ())]
    for row in rows:
        split = []
        for mask, before in cells:
            left = mask
            for other, after in row:
                if common := mask & other:
                    split.append((common, (*before, after)))
                    left &= ~other
            if left:
                split.append((left, (*before, NOTHING)))
        cells = split
    return [(mask, after) for mask, after in cells if any(x is not NOTHING for x in after)]


def _met(rows: Sequence[Cells]) -> list[tuple[int, tuple[Regex, ...]]]:
    """Split the atoms that no row is dead on."""
    cells: list[tuple[int, tuple[Regex, ...]]] = [(mask, (after,)) for mask, after in rows[0]]
    for row in rows[1:]:
        cells = [
            (common, (*before, after))
            for mask, before in cells
            for other, after in row
            if (common := mask & other)
        ]
    return cells


def _sets(languages: Iterable[Regex]) -> list[CharSet]:
    """Collect the sets of characters that occur in languages."""
    sets: dict[CharSet, None] = {}
    texts: set[str] = set()
    seen: set[int] = set()
    pending = list(languages)
    while pending:
        part = pending.pop()
        if isinstance(part, Literal):
            texts.update(part.text)
        elif isinstance(part, Chars):
            sets[part.chars] = None
        elif isinstance(part, Named):
            texts.update(_DECIMALS)
        elif id(part) not in seen:
            seen.add(id(part))
            if isinstance(part, Repeat | Complement):
                pending.append(part.part)
            elif isinstance(part, Concat | Union | Intersection):
                pending.extend(part.parts)
    return [*sets, *(CharSet(((ord(char), ord(char)),)) for char in sorted(texts))]
