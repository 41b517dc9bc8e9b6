"""Matcher of a turn whose borders tokens may cross, by the kernel; see `enforcer.kernel.turn`.

Owns: texts one after the other, rollback, cached rows outside of texts. Must not know: hosts.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from enforcer import kernel
from enforcer.errors import ConfigurationError, EnforcerError, IllegalPrefix
from enforcer.turn import bits
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due
from enforcer.turn.ids import number, whole_at_ends
from enforcer.turn.rollback_stack import RollbackStack
from enforcer.turn.transitions import named
from enforcer.turn.wording import misplaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from enforcer.engines import Startable
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderTrie

_ids = count(1)


class Headers:
    """The headers of some tools, with the rows outside of texts; shared by requests.

    Attributes:
        native: the names of the kernel.
        tools: the tool of each.
        rows: by the state of a turn, a row, and the grammars that it depends on.

    """

    def __init__(self, trie: HeaderTrie) -> None:
        texts = trie.texts
        ends = np.concatenate(([0], np.cumsum([len(text) for text in texts]))).astype(np.int32)
        self.native = kernel.Names(np.frombuffer(b"".join(texts) or b"\0", np.uint8), ends)
        self.tools = trie.names
        self.rows: dict[Any, tuple[bits.Sparse, tuple[tuple[str, ref[Any]], ...]]] = {}
        self._ids: dict[Any, int] = {}

    def turn_id(self, key: Any) -> int:
        return self._ids.setdefault(key, next(_ids))


class MachineTurn:
    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], Startable],
        prompt_ids: Sequence[int] | None = None,
        *,
        host: kernel.TextMatcher,
        expect: Callable[[str], None] | None = None,
        rollback: int | None = None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._around = envelope.table.around
        self._arguments = arguments
        self._expect = expect
        self._kinds = self._table.vocabulary.text_kinds
        self._size = len(self._kinds)
        trie = envelope.headers(0)
        if not hasattr(trie, "native"):
            trie.native = Headers(trie)
        self._headers: Headers = trie.native
        then = next(
            (s.then for s in self._table.dialect.states.values() if s.segment is Segment.ARGUMENTS),
            None,
        )
        self._then = then
        open_, spent = envelope.opening(1, 0), envelope.opening(max(envelope.most, 1), 0)
        enter = self._around.enter
        self._after = [enter(then, open_), enter(then, spent)] if then else []
        self._native = kernel.Turn(
            self._around.native,
            self._headers.native,
            np.array(self._after, np.int32),
            envelope.most,
            self._start_scratch,
            host,
        )
        self._text: kernel.TextMatcher | None = None
        self._tool = ""
        self._said = 0
        self._failure: EnforcerError | None = None
        self._history: RollbackStack[Any] = RollbackStack(rollback)
        self._accepted = 0
        self._is_started = False
        state, begun = self._table.dialect.start, ()
        if prompt_ids is not None:
            prompt_ids = whole_at_ends(prompt_ids, "prompt_ids")
            state, begun = self._table.opened(prompt_ids)
        self._native.set_state(enter(state, envelope.opening(0, 0)), 0, 0, 0, 0)
        for at, token_id in enumerate(begun):
            if not self.accept(token_id):
                raise IllegalPrefix("$.prompt_token_ids", f"{at}")
        self._history = RollbackStack(rollback)
        self._accepted = 0
        self._is_started = True

    def _start_scratch(self, header: int) -> kernel.TextMatcher | None:
        try:
            return self._arguments(self._headers.tools[header]).matcher()
        except BaseException as error:  # noqa: BLE001
            named(error, "starting a text")
            return None

    @property
    def state(self) -> str:
        place = self._native.state()[0]
        return self._around.places[place].state

    @property
    def is_finished(self) -> bool:
        return self.state == self._table.dialect.final

    def accept(self, token_id: int) -> bool:
        text = self._text
        is_text = 0 <= token_id < self._size and self._kinds[token_id]
        if text is not None and is_text and text.accept(token_id):
            if not text.is_done:
                self._accepted += 1
                return True
            return self._leave(text, token_id)
        if text is not None and is_text:
            return False
        return self._outside(token_id, is_text)

    def _push(self, entry: Any) -> None:
        self._history.push(self._accepted, entry)
        self._accepted += 1

    def _now(self, used: int = 0) -> Any:
        return self._native.state(), self._text, self._tool, self._said, used

    def _leave(self, text: kernel.TextMatcher, token_id: int) -> bool:
        """Go on behind a text that has ended within a token."""
        before = self._now(1)
        place, low, high, depth, calls = before[0]
        calls += 1
        after = self._after[calls >= self._envelope.most]
        self._native.set_state(after, low, high, depth, calls)
        self._text, self._tool = None, ""
        size = len(self._table.vocabulary.token_bytes(token_id))
        if not self._read(token_id, size - text.left, size):
            raise RuntimeError("a token that was legal is not")
        self._push(before)
        return True

    def _read(self, token_id: int, start: int, size: int) -> bool:
        """Read the rest of a token, outside of texts at first."""
        while start < size:
            start = self._native.read(token_id, start)
            if start < 0:
                return False
            if start < size or self._is_text_due():
                if not self._begin_text():
                    return start == size
                if start == size:
                    return True
                if not self._text.accept_rest(token_id, start):
                    return False
                if not self._text.is_done:
                    return True
                start = size - self._text.left
                place, low, high, depth, calls = self._native.state()
                after = self._after[calls + 1 >= self._envelope.most]
                self._native.set_state(after, low, high, depth, calls + 1)
                self._text, self._tool = None, ""
        return True

    def _is_text_due(self) -> bool:
        place = self._around.places[self._native.state()[0]]
        return self._table.segment(place.state) is Segment.ARGUMENTS and self._text is None

    def _begin_text(self) -> bool:
        place, low, high, depth, calls = self._native.state()
        tool = self._headers.tools[low]
        try:
            text = self._arguments(tool).matcher()
        except BaseException as error:  # noqa: BLE001
            self._failure = named(error, f"starting a text of {tool}")
            return False
        if self._then is not None:
            key = self._after[calls + 1 >= self._envelope.most]
            self._native.link(text, self._headers.turn_id(key))
        self._text, self._tool = text, tool
        return True

    def _outside(self, token_id: int, is_text: bool) -> bool:
        before = self._now()
        if is_text:
            size = len(self._table.vocabulary.token_bytes(token_id))
            if not self._read(token_id, 0, size):
                self._restore(before)
                return False
            if self._native.has_said and self._is_started and not before[0][4]:
                self._count()
        elif not self._special(token_id):
            self._restore(before)
            return False
        self._push(before)
        return True

    def _count(self) -> None:
        if self._envelope.due is not Due.CALL:
            return
        place, low, high, depth, calls = self._native.state()
        self._said += 1
        at = self._around.places[place]
        opening = self._envelope.opening(calls, self._said)
        self._native.set_state(
            self._around.number(at._replace(opening=opening)), low, high, depth, calls
        )

    def _special(self, token_id: int) -> bool:
        text = self._text
        place, low, high, depth, calls = self._native.state()
        if text is not None:
            if text.accept(token_id):
                if text.is_done:
                    return self._leave_special()
                return True
            if not text.is_accepting():
                return False
            opening = self._envelope.opening(calls + 1, self._said)
            place = self._around.number(self._around.places[place]._replace(opening=opening))
            calls += 1
        elif self._is_names(place) and not self._is_whole(low, high, depth):
            return False
        to = self._around.special(place).get(token_id)
        if to is None:
            if text is None and self._is_names(place) and self._falls(place):
                self._native.set_state(self._falls(place), low, high, depth, calls)
                return self._begin_text() and self._special(token_id)
            return False
        self._text, self._tool = None, ""
        at = self._around.places[to]
        high = len(self._headers.tools) if self._is_names(to) else high
        low, depth = (0, 0) if self._is_names(to) else (low, depth)
        self._native.set_state(to, low, high, depth, calls)
        if self._table.segment(at.state) is Segment.ARGUMENTS:
            self._begin_text()
        return True

    def _leave_special(self) -> bool:
        place, low, high, depth, calls = self._native.state()
        after = self._after[calls + 1 >= self._envelope.most]
        self._native.set_state(after, low, high, depth, calls + 1)
        self._text, self._tool = None, ""
        return True

    def _is_names(self, place: int) -> bool:
        at = self._around.places[place]
        is_header = self._table.segment(at.state) is Segment.HEADER
        return is_header and at.markers is None and at.rest is None

    def _is_whole(self, low: int, high: int, depth: int) -> bool:
        trie = self._envelope.headers(0)
        return low < high and len(trie.texts[low]) == depth

    def _falls(self, place: int) -> int:
        return int(self._around._falls[place]) if self._around._falls[place] >= 0 else 0

    def _restore(self, before: Any) -> None:
        state, self._text, self._tool, self._said, used = before
        self._native.set_state(*state)
        if used:
            self._text.rollback(used)
        self._failure = None

    def rollback(self, count: int) -> None:
        to = self._accepted - count
        for before, _ in self._history.pop(self._accepted, to):
            self._accepted = 0
            self._restore(before)
        raise NotImplementedError

    def fill(self, bitmask: Any, row: int = 0) -> None:
        target = bitmask[row]
        text = self._text
        if self._failure is not None:
            target[:] = self._table.vocabulary.row(self._table.turn_end_ids)
        elif text is None:
            bits.write(target, self._row())
        else:
            text.fill(target)
            if self._then is None and text.is_accepting():
                place, _, _, _, calls = self._native.state()
                opening = self._envelope.opening(calls + 1, self._said)
                place = self._around.number(self._around.places[place]._replace(opening=opening))
                target |= self._table.vocabulary.row([*self._around.special(place)])

    def _row(self) -> bits.Sparse:
        place, low, high, depth, calls = self._native.state()
        key = place, low, high, depth, min(self._envelope.most - calls, 32), *self._after
        found = self._headers.rows.get(key)
        if found is not None and all(self._arguments(n) is r() for n, r in found[1]):
            return found[0]
        target = np.empty(self._table.vocabulary.words, np.int32)
        self._native.fill(target)
        asked = self._native.asked() if self._native.has_begun else ()
        is_names = self._is_names(place)
        if not is_names or self._is_whole(low, high, depth):
            special = self._around.special(place)
            target |= self._table.vocabulary.row([*special])
            if is_names and self._falls(place):
                text = self._start_scratch(low)
                if text is not None:
                    mine = np.empty_like(target)
                    text.fill(mine)
                    target |= mine & self._table.vocabulary.row(self._table.vocabulary.control_ids)
                    asked = (*asked, low)
        names = dict.fromkeys(self._headers.tools[n] for n in asked)
        refs = tuple((name, ref(self._arguments(name))) for name in names)
        found = self._headers.rows[key] = bits.sparse(target), refs
        return found[0]
