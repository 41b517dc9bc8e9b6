"""How many ids a turn may still take, and what fits.

Owns: from each place of a turn, the ids of the shortest end that it promises (a call that
has begun, a call that is demanded, text that has a format), and leaving out of a mask what
would be too long. Text without a format promises nothing: it may be cut. So does a call to a
tool of whose arguments nobody can tell the shortest end; it is begun where the least arguments
would fit that there could be. Must not know: engines, how a turn is advanced, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from enforcer.budget.reading import Reading
from enforcer.budget.shortest import PENDING, Shortest, Untimed
from enforcer.engines.mask_rows import is_member, members, put
from enforcer.errors import BudgetTooSmall
from enforcer.turn.dialect import FREE_TEXT, Segment
from enforcer.turn.lexer import FITTING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from enforcer.budget.pieces import Pieces
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Opening


class Deadline:
    """What one turn needs, against what it may have.

    Args:
        envelope: what the request allows.
        pieces: of the vocabulary.
        total: how many ids the turn may have, its end among them.
        plans: gives the shortest instances of the arguments of a tool, by name; `Untimed` for one
            whose calls may be cut off.
        text: likewise of the format of text; None where it has none.

    """

    def __init__(
        self,
        envelope: Envelope,
        pieces: Pieces,
        total: int,
        plans: Callable[[str], Shortest | Untimed],
        text: Shortest | None = None,
    ) -> None:
        self.total = total
        self._envelope = envelope
        self._table = envelope.table
        self._pieces = pieces
        self._plans = cache(plans)
        self._text = text
        self._needs: dict[int, dict[str, float]] = {}
        self._ample: dict[int, float] = {}

    def check(self, need: float) -> None:
        """Refuse a turn that needs more than it may have.

        Raises:
            BudgetTooSmall: it does.

        """
        if need > self.total:
            raise BudgetTooSmall(
                "$.max_tokens",
                f"the shortest turn that is valid takes {need:.0f} tokens, and {self.total} "
                "are left: allow more, or ask for fewer or shorter calls",
            )

    def ask(self) -> None:
        """Have the shortest arguments of every tool told, whatever the turn has begun.

        What cannot be told of any is refused now: a call to it may follow, or be weighed.

        Raises:
            SchemaError: what `plans` raises.

        """
        for name in self._envelope.names:
            self._plans(name)

    def arguments(self, name: str) -> Reading | None:
        """Begin the arguments of a tool; None where they may be cut off."""
        plan = self._plans(name)
        return None if isinstance(plan, Untimed) else Reading.begin(plan)

    @cached_property
    def may_be_late(self) -> bool:
        """Whether there is a tool whose calls may be cut off, or leave less than the end takes."""
        return any(isinstance(self._plans(name), Untimed) for name in self._envelope.names)

    def text(self) -> Reading | None:
        """Begin text that has a format."""
        return None if self._text is None else Reading.begin(self._text)

    # What places need.

    def state(self, state: str, calls: int) -> float:
        """Count the ids from a state on, before any of its text, to a promised end."""
        found = self._needs.get(calls)
        if found is None:
            found = self._needs[calls] = self._relaxed(self._envelope.opening(calls, 0), calls)
        return found[state]

    @cached_property
    def _closing(self) -> dict[str, float]:
        """What states need once there is a call: its end, without another."""
        return self._relaxed(replace(FITTING, text=True), None)

    def marker(self, state: str, to: str, calls: int, header: HeaderNode | None) -> float:
        """Count the ids that are needed after a marker that leads from one state to another."""
        if header is not None and header.name is not None:
            return self._plans(header.name).cost_of_root + self.behind(to)
        if self._table.segment(state) is Segment.ARGUMENTS:
            return self._closing[to]
        return self.state(to, calls)

    def behind(self, state: str) -> float:
        """Count the ids from the end of arguments to that of the turn."""
        return 1 + min(self._closing[to] for to in self._table.leaves[state].values())

    def ends(self, state: str, calls: int) -> float:
        """Count the ids from a text that fits its format to the end of the turn."""
        ways = self._markers(state, FITTING).values()
        return 1 + min((self.state(to, calls) for to in ways), default=inf)

    def header(self, node: HeaderNode) -> float:
        """Count the ids from within a header to the end of the turn.

        Where there is a tool whose calls end in time, it is the shortest of those: a demanded call
        would else be put off until there is room only for one that is cut off.
        """
        behind = self.behind(self._arguments_state)
        names, every = node.trie.names, range(node.low, node.high)
        in_time: Sequence[int] = ()
        if self.may_be_late:
            in_time = [at for at in every if isinstance(self._plans(names[at]), Shortest)]
        return min(
            (
                self._pieces.count(node.trie.texts[at][node.depth :])
                + self._plans(names[at]).cost_of_root
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
                    need = self.header(self._envelope.headers(calls).root)
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
        if self._text is None:
            return inf
        return self._text.cost_of_root + self._by_markers(to, needs, FITTING)

    # What fits.

    def is_ample(self, left: int, calls: int) -> bool:
        """Tell whether anything fits that a marker, or text outside calls, may lead to."""
        ample = self._ample.get(calls)
        if ample is None:
            needs = [self.state(s, calls) for s in self._table.dialect.states]
            needs += self._closing.values()
            if calls < self._envelope.most:
                behind = self.behind(self._arguments_state)
                needs += [
                    len(self._table.dialect.header_text(name, self._envelope.first + calls)) * 4
                    + self._plans(name).cost_of_root
                    + behind
                    for name in self._envelope.names
                ]
            ample = self._ample[calls] = max(need for need in needs if need < inf) + 1
        return left - 1 >= ample

    def fits_text(self, reading: Reading, token_id: int, room: float) -> bool:
        """Tell whether a text can end in `room` ids after one more id of it."""
        slack = room - reading.cost
        if slack >= reading.leeway() + self._growth(reading, self._pieces.weight(token_id)):
            return True
        pieces = self._pieces
        tried = pieces.tried if reading.in_string else pieces.tried_outside
        if token_id not in tried and token_id != self._first(reading):
            return False
        return reading.read(self._table.vocabulary.token_bytes(token_id)).cost <= room

    def restrict_text(self, target: npt.NDArray[np.int32], reading: Reading, room: float) -> None:
        """Leave out the ids after which a text cannot end in `room` ids.

        Args:
            target: mask row, int32, of the ids that are legal in the text.
            reading: the text so far.
            room: how many ids may follow the next.

        """
        pieces = self._pieces
        spare = room - reading.cost - reading.leeway()
        if spare >= self._growth(reading, pieces.heaviest):
            return
        sure = np.zeros_like(target)
        if spare >= 0:
            heavy = (spare - PENDING) // reading.growth if spare >= PENDING else 0
            sure = target & pieces.up_to(int(heavy))
        row = pieces.tried_row if reading.in_string else pieces.tried_outside_row
        tried = set(members(target & row & ~sure).tolist())
        first = self._first(reading)
        if first is not None and is_member(target, first):
            tried.add(first)
        found = self._fitting(reading, tried, room)
        np.copyto(target, sure)
        put(target, found)

    def _growth(self, reading: Reading, weight: int) -> int:
        return PENDING + weight * reading.growth if weight else 0

    def _first(self, reading: Reading) -> int | None:
        piece = reading.next()
        return None if piece is None else self._pieces.first(piece)

    def _fitting(self, reading: Reading, ids: Iterable[int], room: float) -> list[int]:
        """Try ids one by one; what several begin with is read once."""
        known = {b"": reading}

        def read(data: bytes) -> Reading:
            after = known.get(data)
            if after is None:
                after = known[data] = read(data[:-1]).read(data[-1:])
            return after

        token_bytes = self._table.vocabulary.token_bytes
        return [i for i in ids if read(token_bytes(i)).cost <= room]
