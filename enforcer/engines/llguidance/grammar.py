"""A compiled grammar of llguidance, and the matchers of its texts, for any number of threads.

Owns: how texts survive the loss of the lexer that they share, what they may cost, and turning error
states into exceptions. Must not know: how a grammar is written, schemas, limits.

After a rollback llguidance may return the mask that it had kept for the ids taken back, if the new
text has come to the same state of the lexer: so that mask is computed anew here.
"""

from __future__ import annotations

import threading
import time
from array import array
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.llguidance.lexer import PASSED, Lexer, failed, first_line, guarded
from enforcer.errors import EngineFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import llguidance
    import numpy.typing as npt

    from enforcer.engines.llguidance.lexer import Table

_REPLAYED = 512  # ids that are read again after the loss of a lexer: some 5 ms
_ATTEMPTS = 4  # lexers in one step, if one after the other is lost by other texts
_REBUILT = 40_000  # characters of a grammar that is compiled again in the middle of a text
# What a grammar holds, and one with which texts have been tried, in bytes, and bytes for each of
# its characters. Measured, and a tenth for what an allocator keeps; see decision 0010.
_WEIGHT = (660_000, 18)
_WEIGHT_EXPLORED = (1_100_000, 50)
_SPENT = "too many expressions"  # what is said where the fuel of a step is spent
_USUAL_MASK = 200_000  # ns of processor time; longer ones are those that find new states
_WEIGHT_OF_MS = 40_000
_MOST_GROWTH = 20_000_000  # at the limit on states
# What a text may cost its neighbours: masks of that many ns of processor time, and so much
# beyond, of which each id gives some back. Few masks of honest schemas come to it, and by little,
# but a long text may have many; nothing is saved up for a burst. A machine that stood still in
# the middle of a mask is billed to it: one alone ends no text.
_SLOW_MASK = 5_000_000
PATIENCE = 60_000_000
_REGAINED = 250_000
_MOST_BILLED = 20_000_000


class LLGuidanceGrammar:
    """A compiled grammar.

    A lexer that comes to a limit is lost for all its texts: each goes on with another, so that
    only the text that no lexer can bear ends there.

    Attributes:
        is_explored: whether texts come to many states, which it keeps.

    """

    def __init__(self, read: Callable[[], llguidance.LLMatcher], size: int, table: Table) -> None:
        """Compile.

        Args:
            read: compiles the grammar, the first time and after the loss of a lexer.
            size: characters of the grammar.
            table: the vocabulary.

        Raises:
            EngineFailure: the engine cannot compile it, or not even begin a text.

        """
        self._read = read
        self._size = size
        self.table = table
        self.is_explored = False
        self._lock = threading.Lock()
        self._lexer = self.new_lexer()

    @property
    def weight(self) -> int:
        """Bytes that this may hold now; grows as texts show the lexer new states."""
        least, of_character = _WEIGHT_EXPLORED if self.is_explored else _WEIGHT
        return least + of_character * self._size + min(self._lexer.weight, _MOST_GROWTH)

    @property
    def is_ready(self) -> bool:
        """Whether a text can begin without compiling anything."""
        return self._lexer.lost is None

    def renew(self) -> None:
        """Compile it again if its lexer is lost; raises as the first time."""
        self.lexer()

    @property
    def can_be_rebuilt(self) -> bool:
        """Whether compiling it again takes no longer than a step may."""
        return self._size <= _REBUILT

    def matcher(self) -> LLGuidanceMatcher:
        """Start a new text; raises where a lost lexer takes too long to replace."""
        lost = self._lexer.lost
        if lost is not None and not self.can_be_rebuilt:
            raise EngineFailure(_gave_up(lost))
        return LLGuidanceMatcher(self)

    @property
    def fits_nothing(self) -> bool:
        """Whether no text can even begin, and none at all does not fit either."""
        first = self.lexer().first
        return (first is None or not first.any()) and not self.matcher().is_accepting()

    def start(self) -> llguidance.LLMatcher:
        """Return the matcher that new texts begin as copies of."""
        return self.lexer().start

    def lexer(self) -> Lexer:
        """Return the lexer that new texts share."""
        if not self.is_ready:
            with self._lock:  # one thread compiles, the others wait for it
                if not self.is_ready:
                    self._lexer = self.new_lexer()
        return self._lexer

    def new_lexer(self) -> Lexer:
        """Compile the grammar once more."""
        start = guarded(self._read)
        if start.is_error():
            raise EngineFailure(first_line(start.get_error()))
        lexer = Lexer(start, self.table)
        wrong = guarded(lexer.find_first)
        if wrong is not None and "NoExtension" not in wrong:
            raise EngineFailure(first_line(wrong))
        return lexer

    def share(self, lexer: Lexer) -> None:
        """Take a lexer that has shown to be sound, unless there is one."""
        with self._lock:
            if not self.is_ready:
                self._lexer = lexer


class LLGuidanceMatcher:
    """The state of one argument text; not for several threads at once, its grammar is."""

    def __init__(self, grammar: LLGuidanceGrammar) -> None:
        self._grammar = grammar
        self._table = grammar.table
        self._ids = array("I")
        # How many ids there were when a mask was last computed; the engine has kept that mask.
        self._masked_at = 0
        self._patience = PATIENCE
        self._billed, self._billed_at = 0, 0  # ns, and how many ids there were
        self._is_watched = False  # whether a mask was slow
        self._is_tried = False  # whether it is only there to find out what the engine bears
        self._ends: bool | None = None  # whether the text is complete, if it is known
        self._lexer = grammar.lexer()

    @cached_property
    def _matcher(self) -> llguidance.LLMatcher:
        # Most texts that are started are only asked for their first mask.
        return self._lexer.start.deep_copy()

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; all zero if nothing may.

        Raises:
            EngineFailure: the engine gives up on this text.

        """
        lexer = self._lexer
        if not self._ids and lexer.first is not None and lexer.lost is None:
            np.copyto(row, lexer.first)
            self._ends = lexer.is_complete
            return
        self._do(self._fill, row)

    def _fill(self, row: npt.NDArray[np.int32]) -> bool:
        matcher = self._matcher
        self._ends = bool(matcher.is_accepting())
        if matcher.is_stopped():
            row[:] = 0
            return True
        # The end of the text is the envelope's business, never a bit in here.
        np.bitwise_and(self._compute(), self._table.row, out=row)
        return True

    def _compute(self) -> npt.NDArray[np.int32]:
        """Give the mask as the engine has it, for a moment."""
        lexer, count, scratch = self._lexer, len(self._ids), self._table.scratch
        clock = time.thread_time_ns if self._is_watched else time.perf_counter_ns
        begun = clock()
        self._matcher.unsafe_compute_mask_ptr(*scratch.place)
        spent = clock() - begun
        if self._masked_at != count:
            lexer.masked()  # not the one that was kept
            self._masked_at = count
        if spent > _USUAL_MASK:
            self._bill(spent)
        return scratch.row

    def _bill(self, spent: int) -> None:
        """Note what a mask took, in ns; raises if the text has taken too much."""
        # Processor time takes ten times as long to ask for, so the others are told by the clock.
        self._is_watched = True
        growth = min(spent, _MOST_BILLED) - _USUAL_MASK
        self._lexer.weight += growth * _WEIGHT_OF_MS // 1_000_000
        if spent > _SLOW_MASK:
            count = len(self._ids)
            left = max(0, self._billed - _REGAINED * max(0, count - self._billed_at))
            self._billed, self._billed_at = left + min(spent - _SLOW_MASK, _MOST_BILLED), count
            if self._billed > self._patience:
                raise EngineFailure(_gave_up("mask after mask takes too long"))

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then.

        Raises:
            EngineFailure: the engine gives up on this text; the state is unchanged too.

        """
        table = self._table
        if not 0 <= token_id < table.size or token_id in table.special_ids:
            return False
        taken = self._do(self._take, token_id)
        if taken:
            self._ends = None
            self._ids.append(token_id)
        return taken

    def _take(self, token_id: int) -> bool:
        self._lexer.count()
        # A token that is refused while being consumed would leave an error behind.
        return bool(self._matcher.try_consume_tokens([token_id]))

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids.

        Raises:
            EngineFailure: the engine gives up on this text.

        """
        if not count:
            return
        del self._ids[-count:]
        self._ends = None
        pending = [count]

        def back() -> bool:
            if pending:
                self._matcher.rollback(pending.pop())
            if self._masked_at > len(self._ids) and not self._matcher.is_stopped():
                # Replaces the mask that was kept, before it is taken for that of other ids.
                self._compute()
            return True

        self._do(back, replayed=pending.clear)

    def begin_again(self, ids: Sequence[int], patience: int) -> int:
        """Become a new text that begins with ids; return how many of them it had already.

        Such a text is only tried, and all of them with one lexer.

        Args:
            ids: what the new text begins with, and this one may.
            patience: ns that slow masks of it may take; see `PATIENCE`.

        Raises:
            EngineFailure: the engine gives up on this text.

        """
        common = 0
        while common < min(len(ids), len(self._ids)) and ids[common] == self._ids[common]:
            common += 1
        self.rollback(len(self._ids) - common)
        self._patience, self._is_tried = patience, True
        self._billed, self._billed_at = 0, common
        return common

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        if self._ends is None:
            self._ends = self._do(self._is_complete)
        return self._ends

    def _is_complete(self) -> bool | None:
        return bool(self._matcher.is_accepting()) or None

    def _do(
        self,
        what: Callable[..., bool | None],
        given: object = None,
        replayed: Callable[[], object] | None = None,
    ) -> bool:
        """Do something with the lexer, and again with another if this one is or gets lost.

        Args:
            what: returns False if the engine refuses, which it also does without a reason.
            given: its argument; none if None. Every mask and id comes by here, so nothing is
                built for it.
            replayed: called before `what` is done again.

        """
        try:
            return self._tried(what, given, replayed)
        except PASSED:
            raise
        except BaseException as error:
            raise failed(error) from error

    def _tried(
        self,
        what: Callable[..., bool | None],
        given: object,
        replayed: Callable[[], object] | None,
    ) -> bool:
        is_own = False  # whether the lexer is nobody else's, so that no other text can lose it
        for _ in range(_ATTEMPTS):
            lexer = self._lexer
            with lexer.lock:
                was_well = lexer.lost is None and not self._matcher.is_error()
                done = (what() if given is None else what(given)) if was_well else None
                is_failed = not was_well or self._matcher.is_error()
                if not is_failed and (done is not False or not lexer.is_lost()):
                    break
                why = self._matcher.get_error() or lexer.lost or ""
                # A mask has all the fuel of a step, and needs no less with another lexer.
                is_spent = what == self._fill and _SPENT in why
                to_blame = was_well and (not lexer.is_lost() or is_own or is_spent)
            if to_blame:
                raise EngineFailure(_gave_up(why))
            is_own = was_well
            self._replay(why, is_own=is_own)
            if replayed is not None:
                replayed()
        else:
            raise EngineFailure(_gave_up(why))
        if is_own:
            self._grammar.share(lexer)
        return bool(done)

    def _replay(self, why: str, *, is_own: bool) -> None:
        """Read the text so far once more, with another lexer; raises if that takes too long."""
        grammar = self._grammar
        builds = is_own or not grammar.is_ready
        takes_long = len(self._ids) > _REPLAYED or (builds and not grammar.can_be_rebuilt)
        if takes_long or self._is_tried:
            raise EngineFailure(_gave_up(why))
        lexer = grammar.new_lexer() if is_own else grammar.lexer()
        with lexer.lock:
            matcher = lexer.start.deep_copy()
            for token_id in self._ids:
                lexer.count()
                if matcher.try_consume_tokens([token_id]) != 1:
                    raise EngineFailure(_gave_up(why))
        self._lexer, self._matcher, self._masked_at = lexer, matcher, 0


def _gave_up(why: str) -> str:
    return f"llguidance gave up within the arguments: {first_line(why)}"
