"""Lengths of the shortest completions of a turn, in token ids.

What the rest of a text takes, the kernel finds (`enforcer.kernel.ends`); what the rest of a turn
takes are its markers, the shortest header, and the shortest arguments behind it. Must not know:
budgets, masks, how a turn is advanced.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from enforcer.turn.dialect import FREE_TEXT, Segment
from enforcer.turn.lexer import FITTING, Place
from enforcer.turn.pattern import ID
from enforcer.turn.reader import native_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Opening
    from enforcer.turn.pattern import Language
    from enforcer.turn.position import Position

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


class Completions:
    """The lengths of a turn's shortest completions.

    Args:
        envelope: what the request allows.
        arguments: returns the shortest arguments of a tool, by name.
        text: length of the shortest text of the format; infinite if there is none.

    Attributes:
        ample: by completed calls, the room in which anything fits that an id outside of texts may
            lead to.
        behind_text: by state and completed calls, the ids after a text, once it is complete.

    """

    def __init__(
        self, envelope: Envelope, arguments: Callable[[str], Shortest], text: float = inf
    ) -> None:
        self.envelope = envelope
        self._table = envelope.table
        self._weights = envelope.table.token_weights
        self.arguments = cache(arguments)
        self._text = text
        self._needs: dict[int, dict[str, float]] = {}
        self.ample = cache(self._find_ample)
        self.behind_text = cache(self._find_behind_text)
        self._behind_first = cache(self._find_behind_first)

    def is_free(self, at: Position) -> bool:
        """Return whether a turn stands in free text."""
        is_text = self._table.segment(at.state) in FREE_TEXT and at.header is None
        return is_text and not at.place.committed

    def _find_behind_text(self, state: str, calls: int) -> float:
        """Count the ids after a text that a turn stands in, once it is complete."""
        if self._table.segment(state) is Segment.ARGUMENTS:
            return self._behind_arguments(state)
        to = self._table.dialect.states[state].text_to
        ways = self._ways(Place(to), FITTING)
        return min((size + self.state(then, calls) for size, then in ways), default=inf)

    def behind_marker(self, at: Position, token_id: int) -> float:
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
        return min((size + self.state(to, calls) for size, to in ways), default=inf)

    def needed(self, at: Position) -> float:
        """Return the length of the required completion from a place."""
        if at.grammar is not None:
            cost: int = native_text(at.grammar).end_cost()
            if cost < 0:
                return 0
            need = cost + self.behind_text(at.state, at.calls)
            ways = (1 + self.behind_marker(at, token_id) for token_id in at.markers.markers)
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
        goes_on = self.is_free(at) and at.row.text
        need = self.state(at.state, at.calls) if goes_on or not at.place.begun else inf
        if at.place.begun and need:
            rests = self._ways(at.place, at.row.opening)
            need = min([need, *(n + self.state(to, at.calls) for n, to in rests)])
        return need

    def _shortest(self, name: str) -> int:
        """Count the ids of the shortest arguments of a tool."""
        return self.arguments(name).cost

    def state(self, state: str, calls: int) -> float:
        """Count the ids from the beginning of a state on, to a promised end."""
        found = self._needs.get(calls)
        if found is None:
            found = self._needs[calls] = self._relaxed(self.envelope.opening(calls, 0), calls)
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

    def _relaxed(self, opening: Opening, calls: int | None) -> dict[str, float]:
        """Find the shortest way from each state, by going on until nothing gets shorter."""
        table = self._table
        formatted = self.envelope.text_format is not None
        needs: dict[str, float] = dict.fromkeys(table.dialect.states, inf)
        needs[table.dialect.final] = 0
        ways: dict[str, list[tuple[float, str]]] = {}
        for state, found in table.dialect.states.items():
            if found.segment in FREE_TEXT and opening.finish and not formatted:
                needs[state] = 0  # text may be cut
            elif found.segment is Segment.HEADER and calls is not None and opening.call:
                needs[state] = self._header(self.envelope.headers(calls).root, state)
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
        needs = [self.state(name, calls) for name in states] + [*self._closing.values()]
        if calls < self.envelope.most:
            arguments = [s for s in states if states[s].segment is Segment.ARGUMENTS]
            behind = max(map(self._behind_arguments, arguments))
            index = self.envelope.first + calls
            # A token that leads into arguments may begin something there.
            leading = 0 if self._table.is_simple else 1 + self._weights.leading
            headers = (
                len(self._table.dialect.header_text(name, index)) * 4
                + self._shortest(name)
                + leading * self.arguments(name).growth
                for name in self.envelope.names
            )
            needs.append(max(headers) + behind + 2 * self._table.longest_marker)
        # An optional marker that a token begins, as a call's id, has to be ended.
        return max(need for need in needs if need < inf) + 1 + self._table.longest_marker
