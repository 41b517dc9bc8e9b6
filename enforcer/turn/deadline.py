"""Token budget of a turn: how many ids it needs to end, and rows without what leaves too few.

A call that has begun, a demanded call, and text with a format must be complete when the budget
ends. Text without a format may be cut. What the rest of a text takes, the kernel finds
(`enforcer.kernel.ends`); what the rest of a turn takes are its markers, the shortest header, and
the shortest arguments behind it.

Owns: the length of the shortest completion from each position, and the rows without tokens behind
which it exceeds the budget. Must not know: how a turn is advanced, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enforcer.engines.mask_rows import clear, is_member, members, put
from enforcer.errors import BudgetTooSmall
from enforcer.turn.dialect import FREE_TEXT, Segment
from enforcer.turn.lexer import FITTING, OPEN, Place
from enforcer.turn.pattern import ID
from enforcer.turn.token_weights import MOST_SURE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from enforcer import kernel
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Opening
    from enforcer.turn.pattern import Language
    from enforcer.turn.position import Position
    from enforcer.turn.reader import TokenReader

_MOST_TESTED = 200  # ids outside of texts that are tried one by one for a row
_ESCAPED = 12  # bytes of a character that has to be escaped, as no token has its bytes
_MISSING = 3  # bytes that a character lacks at most of which a token has some
# After a call: the turn may end, or text may follow.
_AFTER_CALL = replace(FITTING, text=True)


class Shortest(NamedTuple):
    """The shortest text of a grammar.

    Attributes:
        cost: its length in token ids.
        growth: by how many of them one byte more may lengthen the end of any text.
        first: the id with which it begins.

    """

    cost: int
    growth: int
    first: int


class Deadline:
    """The token budget of one turn.

    Args:
        envelope: what the request allows.
        total: how many ids the turn may have, its end included.
        arguments: returns the shortest arguments of a tool, by name.
        text: length of the shortest text of the format; infinite if there is none.

    Attributes:
        narrowed: after how many ids a row inside a call was first without some that begin nothing,
            since the call has to end; infinite if none was. Drafts that were taken back count.

    """

    def __init__(
        self,
        envelope: Envelope,
        total: int,
        arguments: Callable[[str], Shortest],
        text: float = inf,
    ) -> None:
        self.total = total
        self.narrowed = inf
        self._envelope = envelope
        self._table = envelope.table
        self._weights = envelope.table.token_weights
        self._escaped = 0 if envelope.table.vocabulary.is_complete else _ESCAPED
        self._arguments = cache(arguments)
        self._text = text
        self._needs: dict[int, dict[str, float]] = {}
        self._ample = cache(self._find_ample)
        # A lower bound on how many ids are to spare in the text at hand, and what is ample there;
        # by how many more of that text, and each byte that begins something, may lengthen its end.
        self._spare, self._enough, self._within, self._each = -inf, inf, 0, 0
        self._cost = 0  # of that end
        self._kind = 0  # of what is being written; see `TextMatcher.end_growth`
        self._first = -1  # the id with which the text's end begins
        self._is_exact = False  # whether these are of the present position
        self._row: npt.NDArray[np.int32] | None = None  # that of the present position, if narrowed
        self._rows: dict[tuple[Place, Opening], npt.NDArray[np.int32]] = {}
        self._behind_text = cache(self._find_behind_text)
        self._behind_first = cache(self._find_behind_first)

    def check(self, at: Position) -> None:
        """Raise if the required completion exceeds the budget, or a tool has none that is known.

        Raises:
            BudgetTooSmall: the required completion exceeds the budget.
            SchemaError: no end of a tool's arguments is found.

        """
        for name in self._envelope.names:
            self._arguments(name)
        need = self._needed(at)
        if need > self.total:
            raise BudgetTooSmall(
                "$.max_tokens",
                f"the shortest turn that is valid takes {need:.0f} tokens, and {self.total} "
                "are left: allow more, or ask for fewer or shorter calls",
            )

    # What a step changes.

    def spend(self, token_id: int, *, in_text: bool) -> None:
        """Note that an id was accepted, and whether the text at hand goes on behind it."""
        self._is_exact, self._row = False, None
        if in_text and 0 <= token_id < len(self._weights.weights):
            self._spare -= 1 + (1 + int(self._weights.weights[token_id])) * self._each
        else:
            self._spare = -inf

    def go_back(self) -> None:
        """Note that ids were taken back."""
        self._spare, self._is_exact, self._row = -inf, False, None

    def fits(
        self, at: Position, token_id: int, left: int, reader: TokenReader, accepted: int
    ) -> bool:
        """Return whether `restrict` keeps an id in the row of a position; see there."""
        if not 0 <= token_id < self._table.vocabulary.size:
            return True
        if at.grammar is not None and token_id in at.markers.markers:
            return self._behind_marker(at, token_id) <= left - 1
        if self._is_ample(at, left):
            return True
        if self._row is None:  # nobody has asked for the mask
            target = np.empty(self._table.vocabulary.words, np.int32)
            reader.fill(at, target)
            self.restrict(at, left, target, reader, accepted)
        return self._row is None or is_member(self._row, token_id)

    def restrict(
        self,
        at: Position,
        left: int,
        target: npt.NDArray[np.int32],
        reader: TokenReader,
        accepted: int,
    ) -> None:
        """Clear in a mask row the ids after which the required completion would not fit.

        Near the end some ids that were not tried are cleared too, since rows have to be quick.

        Args:
            at: where the turn stands.
            left: how many ids may still be generated.
            target: int32, the row; in place.
            reader: reads the turn.
            accepted: how many ids have been.

        """
        if not self._is_ample(at, left):
            if at.grammar is None:
                self._restrict_outside(at, left, target, reader)
            else:
                self._restrict_text(at, left, target, reader, accepted)
            self._row = target.copy()
        if at.grammar is not None:
            late = [i for i in at.markers.markers if self._behind_marker(at, i) > left - 1]
            clear(target, late)

    def _is_ample(self, at: Position, left: int) -> bool:
        """Return whether any id fits, but for the markers behind a text."""
        if at.grammar is None:
            return left - 1 >= self._ample(at.calls)
        return self._is_spare(at, left)

    # Texts.

    def _is_spare(self, at: Position, left: int) -> bool:
        """Return whether so much room is left in a text that any id fits."""
        if not self._is_exact and self._spare < self._enough:
            text = _native(at.grammar)
            self._within, self._each, self._kind = text.end_growth()
            self._within += self._escaped
            # Wherever the text goes, an id that begins nothing may lengthen its end as a byte may.
            self._enough = (1 + self._weights.heaviest) * self._each
            cost = text.end_cost()
            self._first = text.end_start
            # Without an end that is known, the text may be cut.
            behind = self._behind_text(at.state, at.calls)
            self._cost = cost
            self._spare = inf if cost < 0 else left - 1 - behind - cost
            self._is_exact = True
        return self._spare >= self._enough

    def _most_sure(self) -> int:
        """Return the greatest weight of an id that fits for certain; less than 0 for none."""
        most = (self._spare - self._within) // max(self._each, 1)
        return int(min(most, MOST_SURE))

    def _restrict_text(
        self,
        at: Position,
        left: int,
        target: npt.NDArray[np.int32],
        reader: TokenReader,
        accepted: int,
    ) -> None:
        sure, weights = self._most_sure(), self._weights
        kept = target & at.markers.mask
        if sure >= 0:
            kept |= target & weights.up_to(sure)
        if self._kind and self._spare >= self._within:
            kept |= target & weights.inside[self._kind]
        if self._spare >= self._within + _MISSING:
            kept |= target & weights.partial
        room = left - 1 - self._behind_text(at.state, at.calls)
        text, tried = _native(at.grammar), weights.to_try(target & ~kept)
        if len(tried):
            found, leaving = text.ids_in_time(tried, int(max(room, -1)))
            put(kept, found)
            put(kept, [i for i in leaving if self._leaves(at, i, left, reader)])
        if self._first >= 0 and self._spare >= -1:
            put(kept, [self._first])
        if at.tool and accepted < self.narrowed and (target & ~kept & weights.usual).any():
            self.narrowed = accepted
        np.copyto(target, kept)

    def _leaves(self, at: Position, token_id: int, left: int, reader: TokenReader) -> bool:
        """Return whether what is needed fits behind an id within which arguments end."""
        after = reader.read(at, token_id, counts=False)
        if after is None or at.grammar is None:
            return False
        at.grammar.rollback(1)
        return self._needed(after) <= left - 1

    def _find_behind_text(self, state: str, calls: int) -> float:
        """Count the ids after a text that a turn stands in, once it is complete."""
        if self._table.segment(state) is Segment.ARGUMENTS:
            return self._behind_arguments(state)
        to = self._table.dialect.states[state].text_to
        ways = self._ways(Place(to), FITTING)
        return min((size + self._state(then, calls) for size, then in ways), default=inf)

    def _behind_marker(self, at: Position, token_id: int) -> float:
        """Count the ids after a special token that ends the text which the turn stands in.

        It may be the first one of a marker that goes on.
        """
        return self._behind_first(at.place, at.markers.opening, token_id, at.calls)

    def _find_behind_first(
        self, place: Place, opening: Opening, token_id: int, calls: int
    ) -> float:
        step = self._table.lexer.by_markers(place, ID + token_id, opening)
        if step is None:
            return inf
        ways = [(0, step.place.state)]
        if step.place.begun:
            ways = [*self._ways(step.place, opening)]
        if self._table.segment(place.state) is Segment.ARGUMENTS:
            return min((size + self._closing[to] for size, to in ways), default=inf)
        return min((size + self._state(to, calls) for size, to in ways), default=inf)

    # Outside of texts.

    def _restrict_outside(
        self, at: Position, left: int, target: npt.NDArray[np.int32], reader: TokenReader
    ) -> None:
        kept = np.zeros_like(target)
        closed = self._beside_calls(at, reader)
        if closed is not None and self._may_say(at, left):
            kept = target & closed
        tested = target & ~kept if closed is None else target & ~closed
        first = np.zeros_like(target)
        put(first, [i for i in self._firsts(at) if is_member(target, i)])
        first |= tested & self._weights.short
        ids = [*members(first & ~kept), *members(tested & ~first & ~kept)][:_MOST_TESTED]
        put(kept, [i for i in map(int, ids) if self._leads_on(at, i, left, reader)])
        np.copyto(target, kept)

    def _leads_on(self, at: Position, token_id: int, left: int, reader: TokenReader) -> bool:
        """Return whether what is needed behind an id fits; True if the id is illegal."""
        after = reader.read(at, token_id, counts=True)
        return after is None or self._needed(after) <= left - 1

    def _beside_calls(self, at: Position, reader: TokenReader) -> npt.NDArray[np.int32] | None:
        """Return the row of text with which no call begins; None where there is no free text."""
        if not self._is_free(at) or not (at.row.text or at.row.opening.blank):
            return None
        opening = replace(at.row.opening, call=False, barred=True)
        found = self._rows.get((at.place, opening))
        if found is None:
            row = reader.made(at.but(row=self._table.row_at(at.place, opening)))
            found = self._rows[at.place, opening] = row & self._table.vocabulary.text_row
        return found

    def _may_say(self, at: Position, left: int) -> bool:
        """Return whether text fits with which no call begins, but for a marker's beginning."""
        found = self._table.dialect.states[at.state]
        needs = {self._state(to, at.calls) for to in (at.state, found.text_to, found.blank_to)}
        most = max(needs)
        return most == 0 or most + self._longest_marker <= left - 1

    def _firsts(self, at: Position) -> set[int]:
        """Return the ids with which the ways begin that the turn may go on."""
        node, weights = at.header, self._weights
        markers = self._table.lexer.open_markers(at.place, at.row.opening)
        found = {weights.ids_of(each.rest)[0] for each in markers}
        if node is None or at.place.begun:
            return found
        if node.rest is not None and not node.rest.nullable:
            return {weights.ids_of(node.rest)[0]}
        texts = (node.trie.texts[i][node.depth :] for i in range(node.low, node.high))
        found |= {weights.pieces(text)[0] for text in texts if text}
        if node.name is not None:
            tail = node.trie.form.tail
            found.add(self._arguments(node.name).first if tail is None else weights.ids_of(tail)[0])
        return found

    def _is_free(self, at: Position) -> bool:
        """Return whether a turn stands in free text."""
        is_text = self._table.segment(at.state) in FREE_TEXT and at.header is None
        return is_text and not at.place.committed

    def _needed(self, at: Position) -> float:
        """Return the length of the required completion from a place."""
        if at.grammar is not None:
            cost = _native(at.grammar).end_cost()
            if cost < 0:
                return 0
            need = cost + self._behind_text(at.state, at.calls)
            ways = (1 + self._behind_marker(at, token_id) for token_id in at.markers.markers)
            return min(need, min(ways, default=need))
        if at.header is not None and not at.place.begun:
            return self._header(at.header, at.state)
        if at.header is not None and at.header.name is not None:
            arguments = self._shortest(at.header.name)
            return min(
                (
                    size + arguments + self._behind_arguments(to)
                    for size, to in self._ways(at.place, at.row.opening)
                ),
                default=inf,
            )
        goes_on = self._is_free(at) and at.row.text
        need = self._state(at.state, at.calls) if goes_on or not at.place.begun else inf
        if at.place.begun and need:
            rests = self._ways(at.place, at.row.opening)
            need = min([need, *(n + self._state(to, at.calls) for n, to in rests)])
        return need

    def _shortest(self, name: str) -> int:
        """Count the ids of the shortest arguments of a tool."""
        return self._arguments(name).cost

    def _state(self, state: str, calls: int) -> float:
        """Count the ids from the beginning of a state on, to a promised end."""
        found = self._needs.get(calls)
        if found is None:
            found = self._needs[calls] = self._relaxed(self._envelope.opening(calls, 0), calls)
        return found[state]

    @cached_property
    def _closing(self) -> dict[str, float]:
        """Lengths from each state to the end of the turn, once there is a call, without another."""
        return self._relaxed(_AFTER_CALL, None)

    def _behind_arguments(self, state: str) -> float:
        """Count the ids from the end of arguments to that of the turn."""
        then = self._table.dialect.states[state].then
        if then is not None:
            return self._closing[then]
        ways = self._ways(Place(state), _AFTER_CALL)
        return min((size + self._closing[to] for size, to in ways), default=inf)

    def _header(self, node: HeaderNode, state: str) -> float:
        """Count the ids from within a header to the end of the turn."""
        trie, form = node.trie, node.trie.form
        then = self._table.dialect.states[state].then
        ways = [(0, then)] if then is not None else self._ways(Place(state), _AFTER_CALL)
        behind = min((n + self._behind_arguments(to) for n, to in ways), default=inf)
        tail = 0 if form.tail is None else self._count(form.tail)
        if node.is_behind and node.rest is not None:
            return self._count(node.rest) + self._shortest(trie.names[node.low]) + behind
        head = 0 if node.rest is None else self._count(node.rest)
        least = min(
            (
                len(self._weights.pieces(trie.texts[at][node.depth :]))
                + self._shortest(trie.names[at])
                for at in range(node.low, node.high)
            ),
            default=inf,
        )
        return head + least + tail + behind

    def _ways(self, place: Place, opening: Opening) -> Iterator[tuple[int, str]]:
        """Yield the ids of what is missing of each open marker, and where it leads."""
        states, opening = self._table.dialect.states, self._table.opening(place.state, opening)
        for each in self._table.lexer.open_markers(place, opening):
            yield self._count(each.rest), states[place.state].on[each.role].to

    def _count(self, rest: Language) -> int:
        """Count the ids of the shortest text of a language over symbols."""
        return len(self._weights.ids_of(rest))

    @cached_property
    def _longest_marker(self) -> int:
        """By how many ids a marker can be longer than one, once it has begun.

        What is left of it may take more ids than all of it.
        """
        markers = {
            each.rest.shortest()
            for name in self._table.dialect.states
            for each in self._table.lexer.open_markers(Place(name), OPEN)
        }
        counts = (
            self._weights.count(symbols[first:])
            for symbols in markers
            for first in range(len(symbols))
        )
        return max(counts, default=1) - 1

    def _relaxed(self, opening: Opening, calls: int | None) -> dict[str, float]:
        """Find the shortest way from each state, by going on until nothing gets shorter."""
        table = self._table
        formatted = self._envelope.text_format is not None
        needs: dict[str, float] = dict.fromkeys(table.dialect.states, inf)
        needs[table.dialect.final] = 0
        ways: dict[str, list[tuple[float, str]]] = {}
        for state, found in table.dialect.states.items():
            if found.segment in FREE_TEXT and opening.finish and not formatted:
                needs[state] = 0  # text may be cut
            elif found.segment is Segment.HEADER and calls is not None and opening.call:
                needs[state] = self._header(self._envelope.headers(calls).root, state)
            elif found.segment not in {Segment.HEADER, Segment.ARGUMENTS}:
                ways[state] = [*self._ways(Place(state), opening)]
                if found.segment in FREE_TEXT and opening.text and not formatted:
                    ways[state].append((1, found.text_to))
                if formatted and found.segment is Segment.CONTENT and opening.finish:
                    behind = self._ways(Place(found.text_to), FITTING)
                    ways[state] += ((self._text + n, to) for n, to in behind)
        changed = True
        while changed:
            changed = False
            for state, found_ways in ways.items():
                need = min((n + needs[to] for n, to in found_ways), default=inf)
                if need < needs[state]:
                    needs[state] = need
                    changed = True
        return needs

    def _find_ample(self, calls: int) -> float:
        """Return the room in which anything fits that an id outside of texts may lead to."""
        states = self._table.dialect.states
        needs = [self._state(name, calls) for name in states] + [*self._closing.values()]
        if calls < self._envelope.most:
            arguments = [s for s in states if states[s].segment is Segment.ARGUMENTS]
            behind = max(map(self._behind_arguments, arguments))
            index = self._envelope.first + calls
            # A token that leads into arguments may begin something there.
            leading = 0 if self._table.is_simple else 1 + self._weights.leading
            headers = (
                len(self._table.dialect.header_text(name, index)) * 4
                + self._shortest(name)
                + leading * self._arguments(name).growth
                for name in self._envelope.names
            )
            needs.append(max(headers) + behind + 2 * self._longest_marker)
        return max(need for need in needs if need < inf) + 1


def _native(text: Any) -> kernel.TextMatcher:
    """Return the kernel's own matcher of a text, which an explained one has inside."""
    found: kernel.TextMatcher = getattr(text, "engine", text)
    return found
