"""Token budget of a turn: the shortest completions, and masks of tokens that leave room for one.

A call that has begun, a demanded call, and text with a format must be complete when the budget
ends. Text without a format may be cut. So may a call to a tool whose shortest completion is
unknown; such a call is allowed if its shortest possible arguments would fit.

Owns: the length of the shortest completion from each position, and the masks without tokens that
exceed it. Must not know: engines, how a turn is advanced, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from enforcer.budget.costs import Shortest
from enforcer.budget.ends import Ends
from enforcer.engines.mask_rows import clear, members
from enforcer.errors import BudgetTooSmall
from enforcer.turn.dialect import FREE_TEXT, Segment
from enforcer.turn.lexer import FITTING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer import kernel
    from enforcer.budget.pieces import Pieces
    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Opening
    from enforcer.turn.position import Position


class Plan(NamedTuple):
    """Lengths of a tool's arguments in token ids.

    Attributes:
        least: the length of the shortest arguments, or a lower bound if it is unknown.
        is_timed: whether the shortest length is known; if not, a call may be cut off.

    """

    least: float
    is_timed: bool


class Deadline:
    """The token budget of one turn; `left` is the number of ids that may still be generated.

    Args:
        envelope: what the request allows.
        pieces: of the vocabulary.
        total: number of ids that the turn may have, its end included.
        plans: returns the lengths of a tool's arguments, by name.
        text: length of the shortest text of the format; infinite if there is none.

    """

    def __init__(
        self,
        envelope: Envelope,
        pieces: Pieces,
        total: int,
        plans: Callable[[str], Plan],
        text: float = inf,
    ) -> None:
        self.total = total
        self._envelope = envelope
        self._table = envelope.table
        self._pieces = pieces
        self._plans = cache(plans)
        self._text = text
        self._needs: dict[int, dict[str, float]] = {}
        self._ample: dict[int, float] = {}

    def check(self, at: Position) -> None:
        """Raise if the required completion exceeds the budget, or a tool has no known one.

        Raises:
            BudgetTooSmall: the required completion exceeds the budget.
            SchemaError: the shortest arguments of a tool that may be called are unknown.

        """
        for name in self._envelope.names:
            self._plans(name)
        need = self._needed(at)
        if need > self.total:
            raise BudgetTooSmall(
                "$.max_tokens",
                f"the shortest turn that is valid takes {need:.0f} tokens, and {self.total} "
                "are left: allow more, or ask for fewer or shorter calls",
            )

    def ends(self, text: ArgumentMatcher, tool: str = "") -> Ends | None:
        """Return the completions of a text that begins; None if it may be cut off."""
        if tool and not self._plans(tool).is_timed:
            return None
        own: kernel.TextMatcher = getattr(text, "engine", cast("Any", text))  # of an explained one
        return Ends(Shortest.of(own.tables, self._pieces), own)

    def fits(self, at: Position, token_id: int, left: int) -> bool:
        """Return whether the required completion fits after an id, if the id is legal."""
        if _may_be_cut(at):
            return True
        after = self._extended(at, left) - 1
        markers, vocabulary = at.markers.markers, self._table.vocabulary
        if token_id in markers:
            return self._marker(at.state, markers[token_id], at.calls, at.header) <= after
        if not (0 <= token_id < vocabulary.size and vocabulary.text_kinds[token_id]):
            return True
        if at.ends is not None:
            return at.ends.fits(token_id, after - self._behind_text(at))
        if at.header is not None:
            node = at.header.advance(token_id)
            return node is None or self._header(node) <= after
        return not _has_text(at) or self._fits_text(at, after)

    def restrict(self, at: Position, left: int, target: npt.NDArray[np.int32]) -> None:
        """Clear in a mask row the ids after which the required completion would not fit."""
        if at.ends is not None:
            at.ends.restrict(target, left - 1 - self._behind_text(at))
            target |= at.markers.mask
        if _may_be_cut(at) or self._is_ample(left, at.calls):
            return
        left = self._extended(at, left)
        asked = set(at.markers.markers)
        if at.header is not None:
            asked.update(members(target).tolist())
        clear(target, [token_id for token_id in asked if not self.fits(at, token_id, left)])
        is_free = at.header is None and at.grammar is None and _has_text(at)
        if is_free and not self._fits_text(at, left - 1):
            target &= ~self._table.vocabulary.text_row

    def _extended(self, at: Position, left: int) -> int:
        """Leave the shortest end, and nothing else, to a turn that has no time for any.

        Nothing but a call that may be cut off comes to such a place: it was completed too late.
        """
        late = self._may_be_late and at.calls and at.grammar is None
        if not late or self._is_ample(left, at.calls):
            return left
        need = self._needed(at)
        return max(left, int(need)) if need < inf else left

    def _needed(self, at: Position) -> float:
        """Return the length of the required completion from a place."""
        if _may_be_cut(at):
            return 0
        if at.grammar is not None:
            text = inf if at.ends is None else at.ends.cost
            need = text + self._behind_text(at)
            markers = at.markers.markers.values()
            ways = (self._marker(at.state, to, at.calls, None) for to in markers)
            return min(need, 1 + min(ways, default=need))
        if at.header is not None:
            return self._header(at.header)
        return self._state(at.state, at.calls)

    def _behind_text(self, at: Position) -> float:
        """Count the ids after the text that the turn stands in, once it is complete."""
        if self._table.segment(at.state) is Segment.ARGUMENTS:
            return self._behind(at.state)
        return self._ends(self._after_text(at), at.calls)

    def _fits_text(self, at: Position, after: int) -> bool:
        return self._state(self._after_text(at), at.calls) <= after

    def _after_text(self, at: Position) -> str:
        return self._table.dialect.states[at.state].text_to

    @cached_property
    def _may_be_late(self) -> bool:
        """Whether there is a tool whose calls may be cut off, or leave less than the end takes."""
        return any(not self._plans(name).is_timed for name in self._envelope.names)

    # What places need.

    def _state(self, state: str, calls: int) -> float:
        """Count the ids from a state on, before any of its text, to a promised end."""
        found = self._needs.get(calls)
        if found is None:
            found = self._needs[calls] = self._relaxed(self._envelope.opening(calls, 0), calls)
        return found[state]

    @cached_property
    def _closing(self) -> dict[str, float]:
        """Lengths from each state to the end of the turn, once there is a call, without another."""
        return self._relaxed(replace(FITTING, text=True), None)

    def _marker(self, state: str, to: str, calls: int, header: HeaderNode | None) -> float:
        """Count the ids that are needed after a marker that leads from one state to another."""
        if header is not None and header.name is not None:
            return self._plans(header.name).least + self._behind(to)
        if self._table.segment(state) is Segment.ARGUMENTS:
            return self._closing[to]
        return self._state(to, calls)

    def _behind(self, state: str) -> float:
        """Count the ids from the end of arguments to that of the turn."""
        return 1 + min(self._closing[to] for to in self._table.leaves[state].values())

    def _ends(self, state: str, calls: int) -> float:
        """Count the ids from a text that fits its format to the end of the turn."""
        ways = self._markers(state, FITTING).values()
        return 1 + min((self._state(to, calls) for to in ways), default=inf)

    def _header(self, node: HeaderNode) -> float:
        """Count the ids from within a header to the end of the turn.

        Where there is a tool whose calls end in time, it is the shortest of those: a demanded call
        would else be put off until there is room only for one that is cut off.
        """
        behind = self._behind(self._arguments_state)
        names, every = node.trie.names, range(node.low, node.high)
        in_time: Sequence[int] = ()
        if self._may_be_late:
            in_time = [at for at in every if self._plans(names[at]).is_timed]
        return min(
            (
                self._pieces.count(node.trie.texts[at][node.depth :]) + self._plans(names[at]).least
                for at in in_time or every
            ),
            default=inf,
        ) + (1 + behind)

    @cached_property
    def _arguments_state(self) -> str:
        states = self._table.dialect.states
        return next(name for name in states if states[name].segment is Segment.ARGUMENTS)

    def _relaxed(self, opening: Opening, calls: int | None) -> dict[str, float]:
        """Find the shortest way from each state, by going on until nothing gets shorter."""
        table = self._table
        formatted = self._envelope.text_format is not None
        needs: dict[str, float] = dict.fromkeys(table.dialect.states, inf)
        needs[table.dialect.final] = 0
        for state, found in table.dialect.states.items():
            if found.segment in FREE_TEXT and opening.finish and not formatted:
                needs[state] = 0  # text may be cut
        changed = True
        while changed:
            changed = False
            for state, found in table.dialect.states.items():
                if found.segment is Segment.HEADER:
                    if calls is None or not opening.call:
                        continue
                    need = self._header(self._envelope.headers(calls).root)
                elif found.segment is Segment.ARGUMENTS:
                    continue
                else:
                    need = self._by_markers(state, needs, opening)
                    if formatted and found.segment is Segment.CONTENT and opening.finish:
                        need = min(need, self._by_text(found.text_to, needs))
                if need < needs[state]:
                    needs[state] = need
                    changed = True
        return needs

    def _by_markers(self, state: str, needs: Mapping[str, float], opening: Opening) -> float:
        return 1 + min((needs[to] for to in self._markers(state, opening).values()), default=inf)

    def _markers(self, state: str, opening: Opening) -> Mapping[int, str]:
        return self._table.row_at(self._table.lexer.enter(state), opening).markers

    def _by_text(self, to: str, needs: Mapping[str, float]) -> float:
        return self._text + self._by_markers(to, needs, FITTING)

    def _is_ample(self, left: int, calls: int) -> bool:
        """Return whether anything fits that a marker, or text outside calls, may lead to."""
        ample = self._ample.get(calls)
        if ample is None:
            needs = [self._state(s, calls) for s in self._table.dialect.states]
            needs += self._closing.values()
            if calls < self._envelope.most:
                behind = self._behind(self._arguments_state)
                needs += [
                    len(self._table.dialect.header_text(name, self._envelope.first + calls)) * 4
                    + self._plans(name).least
                    + behind
                    for name in self._envelope.names
                ]
            ample = self._ample[calls] = max(need for need in needs if need < inf) + 1
        return left - 1 >= ample


def _has_text(at: Position) -> bool:
    """Return whether text, or white space at least, may come at a place outside of calls."""
    return at.row.text or at.row.opening.blank


def _may_be_cut(at: Position) -> bool:
    """Return whether a place is in arguments whose shortest completion is unknown."""
    return bool(at.tool) and at.grammar is not None and at.ends is None
