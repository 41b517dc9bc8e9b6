"""Shortest words of the automata and tries of a grammar's tables, from any state on.

All tries of listed texts are followed as if they were one automaton, number `TRIES`, whose states
are their nodes. Owns: the words of a language from a state on, the shortest first, readable
characters before others; how far states are from an end. Must not know: what the texts are for,
token ids.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.budget.pieces import ones
from enforcer.regex.automata.minimizing import ends
from enforcer.regex.charset import CharSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

TRIES = -2

_SPANS = "az", "09", "AZ", " !", "#[", "]~"  # all that JSON spells with one byte
_PLAIN = [code for span in _SPANS for code in range(ord(span[0]), ord(span[1]) + 1)]
_ASCII = [*_PLAIN, *(code for code in range(128) if code not in _PLAIN)]
_RANK = {chr(code): rank for rank, code in enumerate(_ASCII)}
_LAST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)
_FEW = 8  # characters of a range that are tried, beyond ASCII
_FAR = 1 << 28  # of a state that leads to no end
_LARGEST = 10_000_000  # states times lengths that are told apart
_KEPT = 2_000  # states of a grammar of which is kept where they lead
_WORDS, _WORD = 400_000, 200  # bytes of kept words of a grammar, and beside each

_Moves = list[tuple[str, int]]  # characters, and the states that they lead to


def records(arrays: Mapping[str, Any], name: str) -> list[Any]:
    """Return the numbers of a table, or its records with fields by name."""
    table = np.asarray(arrays[name])
    if table.dtype.names is None:
        return list(table.tolist())
    make = namedtuple("Record", table.dtype.names)  # type: ignore[misc]  # noqa: PYI024
    return [make(*row) for row in table.tolist()]


class Words:
    """The automata and tries of one grammar.

    Args:
        arrays: of `kernel.Tables`, by name.

    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = {name: np.asarray(array) for name, array in arrays.items()}
        self._automata, self._bounds = records(arrays, "automata"), records(arrays, "bounds")
        self._ends = [*(each.states for each in self._automata[1:]), len(arrays["accepts"])]
        self._first, self._values = records(arrays, "trie_edges"), records(arrays, "trie_value")
        self._codes, self._to = records(arrays, "edge_character"), records(arrays, "edge_to")
        self._reached: dict[tuple[int, int], list[npt.NDArray[np.bool_]]] = {}
        self._words: dict[tuple[int, int, int, int], str | None] = {}
        self._kept = 0  # bytes of these
        self._moves = lru_cache(_KEPT)(self._find_moves)
        self._steps, self._rests = cache(self._find_steps), cache(self._find_rests)
        self._alphabet = cache(self._find_alphabet)

    def words(self, number: int, state: int, language: int, count: int = 0) -> Iterator[str]:
        """Yield what completes a word of a language, the shortest first.

        Args:
            number: of the automaton.
            state: where it is.
            language: its index.
            count: characters that have been written.

        """
        for length in self._lengths_from(number, state, language, count):
            yield from self._of_length(number, language, state, length)

    def _lengths_from(self, number: int, state: int, language: int, count: int) -> Iterator[int]:
        """Yield the lengths of what completes a word."""
        least, most = self.lengths(number, language)
        rests = self._rests(number, language)
        length, missed = max(int(rests[state]), least - count), 0
        while length <= most - count and missed <= len(rests):
            missed += 1
            if self._reaches(number, language, state, length):
                missed = 0
                yield length
            length += 1

    def word(self, number: int, state: int, language: int, count: int = 0) -> str | None:
        """Return the first of `words`; None if there is none."""
        at, known = (number, state, language, count), self._words
        if at in known:
            return known[at]
        found = self._find_word(*at)
        self._kept += _WORD + len(found or "")
        if self._kept > _WORDS:  # a word may have as many characters as a schema asks for
            self._words = {}
            self._kept = _WORD + len(found or "")
        self._words[at] = found
        return found

    def _find_word(self, number: int, state: int, language: int, count: int) -> str | None:
        """Find the first of `words`, runs of one character at once."""
        left = next(self._lengths_from(number, state, language, count), None)
        if left is None:
            return None
        text: list[str] = []
        while left:
            ways = self._moves(number, state)
            char, after = next(w for w in ways if self._reaches(number, language, w[1], left - 1))
            told = len(self._reached.get((number, language), ()))
            run = left - told if after == state and 0 < told < left else 1
            text.append(char * run)
            state, left = after, left - run
        return "".join(text)

    def firsts(self, number: int, state: int, chars: CharSet) -> Iterator[tuple[CharSet, int]]:
        """Yield the characters of a set that lead on, those of a range at once, and where to."""
        if number == TRIES:
            ways = (way for way in self._edges(state) if way[0] in chars)
            yield from ((CharSet.span(char), to) for char, to in ways)
            return
        for span in self._spans(number):
            common = CharSet.of([span]) & chars
            after = self.behind(number, state, common.first) if common else -1
            if after >= 0:
                yield common, after

    def states(self, number: int, root: int, language: int) -> list[int]:
        """List the states behind a first one from which a word of a language is reached."""
        rests = self._rests(number, language)
        found = [root] if number == TRIES else [*range(len(rests))]
        for each in found if number == TRIES else ():
            found += (to for _, to in self._edges(each))
        return [each for each in found if rests[each] < _FAR]

    def farthest(self, number: int, root: int, language: int) -> int:
        """Bound how many characters are missing behind any beginning that is long enough."""
        rests = self._rests(number, language)
        return max((int(rests[each]) for each in self.states(number, root, language)), default=0)

    def lengths(self, number: int, language: int) -> tuple[int, int]:
        """Return the least and greatest length of the words of a language."""
        if number == TRIES or language >= self._automata[number].bounds:
            return 0, _FAR - 1
        bound = self._bounds[self._automata[number].bound0 + language]
        return bound.minimum, bound.maximum if bound.maximum >= 0 else _FAR - 1

    def lasting(self, number: int, state: int) -> int:
        """Return the languages, as bits, that a text is in behind a state whatever follows."""
        if any(to not in {-1, state} for to in self._steps(number)[state].tolist()):
            return 0
        accepted = self._accepted(number, state)
        return sum(1 << k for k in ones(accepted) if self.lengths(number, k) == (0, _FAR - 1))

    def languages_of(self, number: int, text: str) -> int:
        """Return the languages of an automaton, as bits, that a text is in."""
        state = 0
        for char in text:
            state = self.behind(number, state, char) if state >= 0 else state
        accepted = self._accepted(number, state) if state >= 0 else 0
        lengths = ((k, self.lengths(number, k)) for k in ones(accepted))
        return sum(1 << k for k, (least, most) in lengths if least <= len(text) <= most)

    def behind(self, number: int, state: int, char: str) -> int:
        """Return the state behind a character; -1 if it leads nowhere."""
        kind = self._class_of(number, ord(char))
        return -1 if kind < 0 else int(self._steps(number)[state, kind])

    def _accepted(self, number: int, state: int) -> int:
        return int(self._arrays["accepts"][self._automata[number].states + state])

    def _spans(self, number: int) -> list[tuple[int, int]]:
        """List the ranges of characters that no state tells apart."""
        a = self._automata[number]
        lows = self._arrays["range_low"][a.range0 : a.range0 + a.ranges].tolist()
        return [*zip(lows, [*(low - 1 for low in lows[1:]), _LAST], strict=True)]

    def _find_steps(self, number: int) -> npt.NDArray[np.int32]:
        a = self._automata[number]
        end = a.transitions + (self._ends[number] - a.states) * a.classes
        steps: npt.NDArray[np.int32] = self._arrays["transitions"][a.transitions : end]
        return steps.reshape(-1, a.classes)

    def _find_rests(self, number: int, language: int) -> list[int]:
        """Return for each state the characters to the nearest end, whatever the lengths."""
        if number != TRIES:
            return ends(self._accepting(number, language).tolist(), self._steps(number))[1]
        found = [_FAR] * len(self._values)
        for node in range(len(found) - 1, -1, -1):  # edges lead to higher numbers
            below = (found[to] for to in self._to[self._first[node] : self._first[node + 1]])
            is_end = self._values[node] >> language & 1
            found[node] = 0 if is_end else min(min(below, default=_FAR) + 1, _FAR)
        return found

    def _accepting(self, number: int, language: int) -> npt.NDArray[np.bool_]:
        masks = self._arrays["accepts"][self._automata[number].states : self._ends[number]]
        accepting: npt.NDArray[np.bool_] = masks >> language & 1 == 1
        return accepting

    def _find_moves(self, number: int, state: int) -> _Moves:
        if number == TRIES:
            return sorted(self._edges(state), key=lambda way: (_RANK.get(way[0], _FAR), way[0]))
        row = self._steps(number)[state].tolist()
        return [(char, row[kind]) for char, kind in self._alphabet(number) if row[kind] >= 0]

    def _find_alphabet(self, number: int) -> list[tuple[str, int]]:
        """List characters, readable ones first, and their classes."""
        beyond = (
            code
            for low, high in self._spans(number)
            for code in range(max(low, 128), min(high + 1, max(low, 128) + _FEW))
            if code not in _SURROGATES
        )
        found = [(chr(code), self._class_of(number, code)) for code in (*_ASCII, *beyond)]
        return [(char, kind) for char, kind in found if kind >= 0]

    def _class_of(self, number: int, code: int) -> int:
        a = self._automata[number]
        lows = self._arrays["range_low"][a.range0 : a.range0 + a.ranges]
        return int(self._arrays["range_class"][a.range0 + lows.searchsorted(code, "right") - 1])

    def _of_length(self, number: int, language: int, state: int, length: int) -> Iterator[str]:
        """Yield the words of a length, readable characters first."""
        text: list[str] = []
        ways = [iter([("", state)])]
        while ways:
            char, to = next(ways[-1], ("", -1))
            if to < 0:
                ways.pop()
                del text[-1:]
                continue
            left = length - len(ways) + 1
            if not self._reaches(number, language, to, left):
                continue
            if not left:
                yield "".join((*text, char))
                continue
            text.append(char)
            ways.append(iter(self._moves(number, to)))

    def _reaches(self, number: int, language: int, state: int, length: int) -> bool:
        """Return whether some word of exactly that length is left in a state."""
        rest = self._rests(number, language)[state]
        if rest >= length or number == TRIES:
            return bool(rest == length)
        reached = self._reached.setdefault((number, language), [])
        if not reached:
            reached.append(self._accepting(number, language))
        steps = self._steps(number)
        while len(reached) <= length:
            after: npt.NDArray[np.bool_] = np.append(reached[-1], [False])[steps].max(axis=1)
            if np.array_equal(after, reached[-1]):  # so it is of each greater length
                break
            if len(reached) * len(steps) > _LARGEST:
                return False
            reached.append(after)
        return bool(reached[min(length, len(reached) - 1)][state])

    def _edges(self, node: int) -> _Moves:
        """List the characters that lead on in a trie, and where they lead."""
        first, end = self._first[node : node + 2]
        return [*zip(map(chr, self._codes[first:end]), self._to[first:end], strict=True)]

    # Tries of names

    def span(self, node: int) -> tuple[int, int]:
        """Return the numbers of the names below a trie's node: the first, and behind the last."""
        return int(self._arrays["trie_low"][node]), int(self._arrays["trie_high"][node])

    def names(self, root: int, count: int) -> list[str]:
        """List the names of a trie by their numbers."""
        found, trail = [""] * count, [(root, -1, "")]
        for at, (node, _, _) in enumerate(trail):
            number = self._values[node]
            if number >= 0:
                chars, before = list[str](), at
                while before >= 0:
                    _, before, char = trail[before]
                    chars.append(char)
                found[number] = "".join(chars[::-1])
            trail += ((to, at, char) for char, to in self._edges(node))
        return found
