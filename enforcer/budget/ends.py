"""Shortest completions of a text that is being written.

The kernel reports the open objects and arrays with their live shapes; from the innermost one
outwards, the shortest rest of each is added. Owns: that sum, and the ids of a bitmask row that
leave enough room for a completion. Must not know: turns.
"""

from __future__ import annotations

from functools import cache, reduce
from itertools import islice, product
from math import inf
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.budget.costs import PENDING
from enforcer.budget.pieces import ones
from enforcer.budget.tails import begun, rest_of, tails
from enforcer.budget.words import TRIES
from enforcer.engines.mask_rows import is_member, members, put
from enforcer.regex.charset import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from enforcer import kernel
    from enforcer.budget.costs import Shortest
    from enforcer.budget.tails import PartialCharacter

# Phases of the kernel.
(_BEGIN, _OPEN, _OPEN_SPACED, _NAME, _NAMED, _AFTER, _COMMA, _STRING, _BARE) = range(9)
_ARRAY_OPEN, _ARRAY_SPACED, _DONE = range(9, 12)
_CARRIAGE_RETURN = 2  # before a token: a line feed has to follow
_FEW = 16  # names that are weighed one by one
_ANOTHER_NAME = 4  # ids that end a name, of which no other may be declared


class End(NamedTuple):
    """A completion of a text or of one value in it.

    Attributes:
        cost: the length of the shortest completion in ids.
        piece: the piece that it begins with; empty where there is nothing to write.
        most: what the shortest end may take behind an id that begins nothing.

    """

    cost: float
    piece: bytes
    most: float


_Ends = dict[int, End]  # by value of a node


class Ends:
    """The completions of one text, which is advanced by others.

    Args:
        plan: of the text's grammar.
        text: the machine's.

    """

    def __init__(self, plan: Shortest, text: kernel.TextMatcher) -> None:
        self._plan = plan
        self._pieces = plan.pieces
        self._text = text

    @property
    def cost(self) -> float:
        """Count the ids that the shortest end takes; infinite if none is known."""
        return self.now()[0].cost

    def now(self) -> tuple[End, bool]:
        """Return the shortest end, and whether the text stands within a string."""
        (phase, node, values, *state), typed, frames = self._text.open_values()
        pending = state[2]
        opened = [_Open(self._plan, self._text, at, frame) for at, frame in enumerate(frames)]
        is_text = phase in {_STRING, _BARE}
        if phase == _DONE:
            found = {0: End(0, b"", 0)}
        elif is_text:
            found = self._in_text(phase == _STRING, node, values, state)
        elif phase == _NAME:
            found = opened.pop(0).name(typed, state)
        elif phase in {_BEGIN, _NAMED}:
            found = self._begun(node, values, is_named=phase == _NAMED)
        else:
            found = opened.pop(0).rest(comma=phase == _AFTER, more=phase == _COMMA)
        for each in opened:
            found = each.behind(found)
        best = _least(found.values())
        if pending == _CARRIAGE_RETURN and not is_text and phase != _NAME:
            best = End(best.cost + 1, b"\n", best.most)
        return best, phase in {_STRING, _NAME}

    def fits(self, token_id: int, room: float) -> bool:
        """Return whether `restrict` keeps one token id."""
        row = self._pieces.vocabulary.row([token_id])
        self.restrict(row, room)
        return is_member(row, token_id)

    def restrict(self, target: npt.NDArray[np.int32], room: float) -> None:
        """Restrict a mask row to token ids after which a completion within a budget is known.

        Near the end it is conservative: token ids that were not tried are cleared too.

        Args:
            target: mask row, int32, of the token ids that are legal in the text; in place.
            room: how many token ids may follow the next.

        """
        pieces, growth = self._pieces, self._plan.growth
        end, in_string = self.now()
        spare = room - end.most - 1  # where a carriage return may be written, a line feed follows
        if spare >= PENDING + pieces.heaviest * growth:
            return
        sure = np.zeros_like(target)
        if spare >= 0:
            sure = target & pieces.up_to(int(max(spare - PENDING, 0) // growth))
        row = pieces.tried_row if in_string else pieces.tried_outside_row
        tried = set(members(target & row & ~sure).tolist())
        if end.piece and is_member(target, pieces.first(end.piece)):
            tried.add(pieces.first(end.piece))
        found = [token_id for token_id in tried if self._behind(token_id) <= room]
        np.copyto(target, sure)
        put(target, found)

    def _behind(self, token_id: int) -> float:
        """Count the ids of the shortest end behind one more id."""
        if not self._text.accept(token_id):
            return inf
        try:
            return self.cost
        finally:
            self._text.rollback(1)

    def _begun(self, node: int, values: int, *, is_named: bool) -> _Ends:
        """Return the ends of a value that is to begin, behind a name its colon first."""
        found: _Ends = {}
        for value in ones(values):
            cost, piece = self._plan.best[node][value]
            if is_named:
                found[value] = End(cost + 1, b":", cost + 1)
            else:
                found[value] = End(cost, piece, cost + self._plan.growth)
        return found

    def _in_text(self, is_string: bool, node: int, values: int, state: list[int]) -> _Ends:  # noqa: FBT001 - its kind
        """Return the ends of a string, number or word."""
        plan, found = self._plan, dict[int, End]()
        (*at, pending, count, languages) = state
        of, _, starts, _ = [*plan.texts(plan.nodes[node])][is_string]
        now = {TRIES: at[1]} if is_string else {}
        for language, (number, root) in product(ones(languages), starts):
            where = number, now.get(number, at[0]), language, count * is_string
            # What only enumerated strings are left of has no needless escapes.
            partial = begun(pending, plan.unescaped if at[0] < 0 else EMPTY) if is_string else None
            tails_of = () if where[1] < 0 else tails(plan.words, where, partial, quoted=is_string)
            rests = [(self._pieces.count(rest), rest) for rest, _ in tails_of]
            if rests:
                cost, rest = min(rests)
                # Of a character that has been begun, any that it may become ends first.
                ends_first = PENDING if is_string and pending else 0
                far = ends_first + plan.far(number, root, language, quoted=is_string)
                is_short = count * is_string < plan.words.lengths(number, language)[0]
                most = cost + far if is_short else max(cost, far)
                for value in ones(plan.mask(of + language) & values):
                    _add(found, value, End(cost, rest, most))
        return found


class _Open:
    """An open object or array."""

    def __init__(
        self, plan: Shortest, text: kernel.TextMatcher, level: int, frame: tuple[int, ...]
    ) -> None:
        self._plan, self._frame = plan, frame
        self._is_array, self._node = frame[0] == 1, frame[1]
        self._extras = cache(lambda: frozenset(text.undeclared_names(level)))

    def behind(self, inner: _Ends) -> _Ends:
        """Return the ends from within a property or element, by those of its values."""
        if not self._is_array:
            return self._behind(inner, self._frame, self._extras)
        plan, found = self._plan.arrays[self._node], dict[int, End]()
        for shape, length, tally in plan.live(self._frame):
            for value, end in inner.items():
                after = plan.behind(shape, length, tally, value)
                if after is not None:
                    way = plan.rest(shape, length + 1, after, comma=True)
                    _add(found, plan.value_of[shape], _followed(end, *way))
        return found

    def _behind(
        self, inner: _Ends, frame: tuple[int, ...], extras: Callable[[], frozenset[str]]
    ) -> _Ends:
        plan, found = self._plan.objects[self._node], dict[int, End]()
        _, _, index, classes, live, seen, _, _, before = frame
        for value, mask in enumerate(plan.values(index, classes)[1]):
            if value not in inner:
                continue
            hits = plan.hits(index, classes, value, before)
            for shape in ones(live & mask):
                way = plan.rest(shape, seen, extras, hits, comma=True)
                _add(found, plan.value_of[shape], _followed(inner[value], *way))
        return found

    def rest(self, *, comma: bool, more: bool) -> _Ends:
        """Return the ends from between two properties or elements."""
        found: _Ends = {}
        if self._is_array:
            arrays = self._plan.arrays[self._node]
            for shape, length, tally in arrays.live(self._frame):
                cost, piece = arrays.rest(shape, length, tally, comma=comma)
                growth = 0 if comma else self._plan.growth
                _add(found, arrays.value_of[shape], End(cost, piece, cost + growth))
            return found
        plan, (_, _, _, _, live, seen, _, _, hits) = self._plan.objects[self._node], self._frame
        for shape in ones(live):
            cost, piece = plan.rest(shape, seen, self._extras, hits, comma=comma, more=more)
            _add(found, plan.value_of[shape], End(cost, piece, cost))
        return found

    def name(self, typed: str, state: list[int]) -> _Ends:
        """Return the ends from within the name of a property."""
        found: _Ends = {}
        for rest, ends in self._names(typed, state):
            piece = rest + b":"
            cost = self._plan.pieces.count(piece)
            for value, end in ends.items():
                _add(found, value, End(cost + end.cost, piece, 0))
        return {
            value: end._replace(most=self._most(value, end.cost, typed, state))
            for value, end in found.items()
        }

    def _names(self, typed: str, state: list[int]) -> Iterator[tuple[bytes, _Ends]]:
        """Yield what completes the name, and the ends behind it."""
        plan, words = self._plan.objects[self._node], self._plan.words
        at, trie, pending, count, languages = state
        partial = begun(pending, self._plan.unescaped)
        low, high = words.span(trie) if trie >= 0 else (0, 0)
        for index in self._candidates(trie, partial):
            rest = rest_of(partial, plan.names[index][count:])
            if rest is not None:
                yield rest, self._named(index)
        if at < 0:
            return
        known = {*plan.names[low:high], *self._extras()}
        taken = {name[len(typed) :] for name in known if name.startswith(typed)}
        for language in ones(languages):
            where = plan.automaton, at, language, count
            for rest, tail in tails(words, where, partial, taken=taken):
                classes = words.languages_of(plan.automaton, typed + tail)
                yield rest, self._named(-1, classes, typed + tail)

    def _named(self, index: int, classes: int = 0, name: str = "") -> _Ends:
        """Return the ends behind a name, which has a number or is of some classes."""
        is_array, number, _, _, live, seen, possible, full, hits = self._frame
        plan = self._plan.objects[self._node]
        node, masks = plan.values(index, classes)
        costs = (self._plan.best[node][value][0] for value, _ in enumerate(masks))
        inner = {value: End(cost, b"", cost) for value, cost in enumerate(costs)}
        live &= ~full | (plan.required_by[index] if index >= 0 else 0)
        seen |= 1 << index if index >= 0 else 0
        frame = (is_array, number, index, classes, live, seen, possible, full, hits)
        if index >= 0:
            return self._behind(inner, frame, self._extras)
        return self._behind(inner, frame, lambda: self._extras() | {name})

    def _candidates(self, trie: int, partial: PartialCharacter | None) -> Iterable[int]:
        """Return declared names that may come, the shortest to complete among them or nearly so.

        Of many names only a few are given: what the object needs, and what costs least as a
        whole. However a name goes on, of those that still begin so the same come first: what
        one of them has promised stays within reach.
        """
        _, _, _, _, live, _, possible, *_ = self._frame
        plan, words = self._plan.objects[self._node], self._plan.words
        nodes = [trie] if trie >= 0 else []
        if partial is not None and nodes:
            nodes = [to for _, to in words.firsts(TRIES, trie, partial.chars)]
        possible &= sum((1 << high) - (1 << low) for low, high in map(words.span, nodes))
        needed = reduce(or_, (plan.required[shape] for shape in ones(live)), 0) & possible
        others = (index for index in plan.by_cost if possible >> index & 1)
        return dict.fromkeys((*islice(ones(needed), _FEW), *islice(others, _FEW)))

    def _most(self, value: int, cost: float, typed: str, state: list[int]) -> float:
        """Bound what an end takes behind more of a name.

        Where any name will do, another is as near to its end as this one. It may be none that the
        object needs: all of these follow then.
        """
        plan, (at, _, pending, _, languages) = self._plan.objects[self._node], state
        if pending:
            return cost + self._plan.growth
        if at >= 0 and (classes := self._plan.words.lasting(plan.automaton, at) & languages):
            another = self._named(-1, classes, typed).get(value)
            if another is not None:
                return max(_ANOTHER_NAME + another.most, cost)
        missing = self.rest(comma=True, more=False).get(value)
        most = cost if missing is None else max(missing.most, cost)
        return most + self._plan.growth


def _least(ends: Iterable[End]) -> End:
    found: _Ends = {}
    for end in ends:
        _add(found, 0, end)
    return found.get(0, End(inf, b"", inf))


def _add(found: _Ends, value: int, end: End) -> None:
    """Add an alternative; of one that cannot be completed nothing is asked."""
    if end.cost == inf:
        return
    known = found.get(value)
    if known is not None:
        end = End(*min(known[:2], end[:2]), max(known.most, end.most))
    found[value] = end


def _followed(end: End, cost: float, piece: bytes) -> End:
    return End(end.cost + cost, end.piece or piece, end.most + cost)
