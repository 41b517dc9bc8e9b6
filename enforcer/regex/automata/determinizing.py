"""Lazy deterministic automata of regular languages: states are made on demand.

A regular expression becomes a nondeterministic automaton of partial derivatives (Antimirov 1996),
and its subsets are the states (Rabin and Scott 1959). A *run*, some number of characters of one
set, is a single state: of two runs before the same rest only the longer one is kept, so that a
count behind `.*` does not double with each character. An intersection is a product, a complement
swaps accepting states and others. In each automaton state 0 is dead, and state 1 accepts every
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.regex.automata.alphabet import DEAD, EVERY, UNBOUNDED, LazyAutomaton
from enforcer.regex.charset import ALL
from enforcer.regex.constructors import EPSILON, repeat
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Regex,
    Repeat,
    State,
    Union,
    transitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.regex.automata.alphabet import Alphabet, Row

    # A set of the alphabet's with the least and most characters of a run, or an automaton with its
    # state; and the number of the rest.
    Head = tuple[int | LazyAutomaton | State, int, int, int]

_END = 0  # the empty rest
_ENDS = 1  # the set of heads that is the end alone
_WORD = 6  # log2 of the bits that count as one operand where a set is made
_WORDS = 12  # log2 of the bits that do where two sets are united
_WORK_OF_STATE = 8
_WORK_OF_REST = 6
_MANY_BITS = 16


def lazy(regex: Regex, alphabet: Alphabet) -> LazyAutomaton:
    """Return the automaton of a language, one for each alphabet."""
    found = alphabet.automata.get(regex)
    if found is None:
        if isinstance(regex, Intersection):
            found = _Product([lazy(part, alphabet) for part in regex.parts], alphabet)
        elif isinstance(regex, Complement):
            found = _Inverse(lazy(regex.part, alphabet), alphabet)
        else:
            found = _Subsets(regex, alphabet)
        alphabet.automata[regex] = found
    return found


class _Inverse(LazyAutomaton):
    def __init__(self, part: LazyAutomaton, alphabet: Alphabet) -> None:
        super().__init__(alphabet)
        self._part = part
        self._states = [EVERY, DEAD]
        self._numbers = {EVERY: DEAD, DEAD: EVERY}
        self.start = self._number(part.start)

    def _number(self, state: int) -> int:
        found = self._numbers.get(state)
        if found is None:
            accepts = not self._part.accepts[state]
            found = self._numbers[state] = self._add(int(not accepts), UNBOUNDED, accepts=accepts)
            self._states.append(state)
        return found

    def _row(self, state: int) -> Row:
        text = self._alphabet.text
        self._alphabet.pay(len(text))
        behind = map(self._number, self._part.row(self._states[state]))
        # No marker is a character of text, so no complement has one.
        return tuple(
            [each if of_text else DEAD for each, of_text in zip(behind, text, strict=True)]
        )


class _Product(LazyAutomaton):
    def __init__(self, parts: Sequence[LazyAutomaton], alphabet: Alphabet) -> None:
        super().__init__(alphabet)
        self._parts = parts
        self._states: list[Row] = [(), ()]
        self._numbers: dict[Row, int] = {}
        self.start = self._number(tuple([part.start for part in parts]))

    def _number(self, states: Row) -> int:
        """Return the number of a tuple of states; make the state if it is new."""
        found = self._numbers.get(states)
        if found is None:
            found = self._numbers[states] = self._made(states)
        return found

    def _made(self, states: Row) -> int:
        if DEAD in states:
            return DEAD
        if max(states) == EVERY:
            return EVERY
        self._alphabet.pay(_WORK_OF_STATE * len(states))
        pairs = [*zip(self._parts, states, strict=True)]
        shortest = max([part.shortest[state] for part, state in pairs])
        longest = min([part.longest[state] for part, state in pairs])
        if shortest > longest:
            return DEAD
        # Runs that count beyond the end are equal: each count would have states of its own.
        within = tuple(
            [
                part.shortened(state, longest) if part.longest[state] > longest else state
                for part, state in pairs
            ]
        )
        if within != states:
            return self._number(within)
        self._states.append(states)
        accepts = all(part.accepts[state] for part, state in pairs)
        return self._add(shortest, longest, accepts=accepts)

    def _row(self, state: int) -> Row:
        rows = [part.row(each) for part, each in zip(self._parts, self._states[state], strict=True)]
        self._alphabet.pay(len(rows) * len(rows[0]))
        known = self._numbers
        behind = zip(*rows, strict=True)
        return tuple([known[each] if each in known else self._number(each) for each in behind])


class _Subsets(LazyAutomaton):
    """An automaton whose states are sets of heads, as bits; head 0 is the end."""

    def __init__(self, regex: Regex, alphabet: Alphabet) -> None:
        super().__init__(alphabet)
        self._rests: list[tuple[Regex, int, int, int]] = [(EPSILON, _END, 0, 0)]
        self._rest_numbers: dict[tuple[Regex, int], int] = {}
        self._starts = {_END: _ENDS}
        self._heads: list[Head] = [(0, 0, 0, _END)]
        self._runs: list[tuple[int, int] | None] = [None]  # each run's characters and rest
        self._least, self._most = [0], [0]  # characters that follow each head
        self._head_numbers: dict[Head, int] = {}
        self._cells: list[Sequence[tuple[Sequence[int], int]] | None] = [()]
        self._every = self._head(alphabet.set(Chars(ALL)), 0, UNBOUNDED, _END)
        self._states: list[Sequence[int]] = [(), ()]
        self._numbers = {0: DEAD}
        self.start = self._number(self._start(self._then(regex, _END)))

    def _then(self, regex: Regex, rest: int) -> int:
        """Return the number of a language before a rest."""
        if regex == EPSILON:
            return rest
        found = self._rest_numbers.get((regex, rest))
        if found is None:
            found = self._rest_numbers[regex, rest] = len(self._rests)
            self._alphabet.pay(_WORK_OF_REST)
            _, _, shortest, longest = self._rests[rest]
            own = UNBOUNDED if regex.longest is None else regex.longest
            self._rests.append((regex, rest, shortest + regex.shortest, longest + own))
        return found

    def _head(self, item: int | LazyAutomaton | State, least: int, most: int, rest: int) -> int:
        """Return a head's bit."""
        key = item, least, most, rest
        found = self._head_numbers.get(key)
        if found is None:
            found = self._head_numbers[key] = len(self._heads)
            self._heads.append(key)
            self._cells.append(None)
            self._runs.append((item, rest) if isinstance(item, int) else None)
            if isinstance(item, LazyAutomaton):
                if least == EVERY and rest == _END:
                    self._every |= 1 << found
                bounds = item.shortest[least], item.longest[least]
            elif isinstance(item, State):
                bounds = item.shortest, UNBOUNDED
            else:
                bounds = max(least, 1), most
            _, _, shortest, longest = self._rests[rest]
            self._least.append(shortest + bounds[0])
            self._most.append(longest + bounds[1])
        return 1 << found

    def _start(self, rest: int) -> int:
        """Return the heads of a rest."""
        found = self._starts.get(rest)
        if found is None:
            found = 0
            pending, seen = [rest], {rest}
            for each in pending:
                if each == _END:
                    found |= _ENDS
                    continue
                regex, behind, _, _ = self._rests[each]
                heads, more = self._opened(regex, behind)
                found |= heads
                pending += [rest for rest in more if rest not in seen]
                seen.update(more)
            self._alphabet.pay(_WORK_OF_REST * len(pending))
            self._starts[rest] = found
        return found

    def _opened(self, regex: Regex, rest: int) -> tuple[int, Sequence[int]]:
        """Return the heads of a language before a rest, and rests whose heads it has as well."""
        if isinstance(regex, Literal):
            for char in reversed(regex.text[1:]):
                rest = self._then(self._alphabet.chars(char), rest)
            return self._head(
                self._alphabet.set(self._alphabet.chars(regex.text[0])), 1, 1, rest
            ), ()
        if isinstance(regex, Chars):
            return self._head(self._alphabet.set(regex), 1, 1, rest), ()
        if isinstance(regex, Concat):
            for part in reversed(regex.parts):
                rest = self._then(part, rest)
            return 0, (rest,)
        if isinstance(regex, Union):
            return 0, [self._then(part, rest) for part in regex.parts]
        if isinstance(regex, Repeat):
            return self._repeated(regex, rest)
        if isinstance(regex, State):
            return self._head(regex, 0, 0, rest), (rest,) if regex.nullable else ()
        own = lazy(regex, self._alphabet)
        ends = (rest,) if own.accepts[own.start] else ()
        return self._head(own, own.start, 0, rest) if own.start != DEAD else 0, ends

    def _repeated(self, regex: Repeat, rest: int) -> tuple[int, Sequence[int]]:
        part = regex.part
        ends = () if regex.minimum else (rest,)
        if isinstance(part, Literal) and len(part.text) == 1:
            part = self._alphabet.chars(part.text)
        if isinstance(part, Chars):
            most = UNBOUNDED if regex.maximum is None else regex.maximum
            return self._head(self._alphabet.set(part), regex.minimum, most, rest), ends
        left = None if regex.maximum is None else regex.maximum - 1
        more = repeat(part, max(regex.minimum - 1, 0), left)
        return 0, (self._then(part, self._then(more, rest)), *ends)

    def _behind(self, head: Head) -> Iterable[tuple[Sequence[int], int]]:
        """Yield disjoint atoms, and the heads behind them."""
        item, least, most, rest = head
        if isinstance(item, LazyAutomaton):
            atoms: dict[int, list[int]] = {}
            for atom, to in enumerate(item.row(least)):
                if to != DEAD:
                    atoms.setdefault(to, []).append(atom)
            for to, within in atoms.items():
                ends = self._start(rest) if item.accepts[to] else 0
                yield within, self._head(item, to, 0, rest) | ends
        elif isinstance(item, State):
            for members, after in transitions(item):
                yield (
                    self._alphabet.within[self._alphabet.set(Chars(members))],
                    self._start(self._then(after, rest)),
                )
        else:
            found = self._start(rest) if least <= 1 else 0
            if most > 1:
                left = most if most == UNBOUNDED else most - 1
                found |= self._head(item, max(least - 1, 0), left, rest)
            yield self._alphabet.within[item], found

    def _row(self, state: int) -> Row:
        row = [0] * len(self._alphabet.atoms)
        work = len(row)
        each = 1 + (len(self._heads) >> _WORDS)
        for head in self._states[state]:
            cells = self._cells[head]
            if cells is None:
                cells = self._cells[head] = [*self._behind(self._heads[head])]
            for atoms, heads in cells:
                work += (len(atoms) + 1) * each
                for atom in atoms:
                    row[atom] |= heads
        self._alphabet.pay(work)
        known = self._numbers
        return tuple([known[each] if each in known else self._number(each) for each in row])

    def _number(self, heads: int) -> int:
        """Return the number of a set of heads; make the state if it is new."""
        found = self._numbers.get(heads)
        if found is None:
            found = self._numbers[heads] = self._made(heads)
        return found

    def _made(self, heads: int) -> int:
        if heads & self._every:
            return EVERY
        numbers = _bits(heads)
        self._alphabet.pay(_WORK_OF_STATE + 3 * len(numbers) + (len(self._heads) >> _WORD))
        runs: dict[tuple[int, int], list[int]] = {}
        for number in numbers:
            key = self._runs[number]
            if key is not None:
                runs.setdefault(key, []).append(number)
        if len(runs) < len(numbers):
            merged = heads
            for key, alike in runs.items():
                if len(alike) > 1:
                    merged = self._united(merged, key, alike)
            if merged != heads:
                return self._number(merged)
        self._states.append(numbers)
        return self._add(
            min([self._least[each] for each in numbers]),
            max([self._most[each] for each in numbers]),
            accepts=bool(heads & _ENDS),
        )

    def _united(self, heads: int, key: tuple[int, int], alike: Sequence[int]) -> int:
        """Unite runs of the same characters before the same rest whose counts touch."""
        spans = []
        for number in alike:
            heads ^= 1 << number
            spans.append(self._heads[number][1:3])
        spans.sort()
        least, most = spans[0]
        for low, high in spans[1:]:
            if low > most + 1:
                heads |= self._head(key[0], least, most, key[1])
                least, most = low, high
            most = max(most, high)
        return heads | self._head(key[0], least, most, key[1])

    def shortened(self, state: int, most: int) -> int:
        """Return the state whose run counts no further, if a state is that of one run."""
        heads = [head for head in self._states[state] if head]
        if len(heads) != 1:
            return state
        item, least, _, rest = self._heads[heads[0]]
        if rest != _END or not isinstance(item, int):
            return state
        found = self._head(item, least, most, _END) if most else 0
        return self._number(found | self.accepts[state])


def _bits(mask: int) -> list[int]:
    """Return the numbers of the bits of a mask."""
    if mask.bit_count() > _MANY_BITS:
        bits = np.frombuffer(mask.to_bytes((mask.bit_length() >> 3) + 1, "little"), np.uint8)
        numbers: list[int] = np.unpackbits(bits, bitorder="little").nonzero()[0].tolist()
        return numbers
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
