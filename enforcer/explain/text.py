"""A text that is followed by an engine, its bytes remembered.

Owns: what stands between a matcher and an engine where words about a text are wanted, and
asking the engine about bytes that do not come. Must not know: turns, how words are found.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from enforcer.budget.least import Unbounded
from enforcer.budget.reading import Reading
from enforcer.budget.shortest import NoShortestEnd
from enforcer.explain.arguments import options
from enforcer.explain.cursor import locate, written
from enforcer.explain.laid_out import laid_out_options
from enforcer.explain.words import Option
from enforcer.layouts import ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.engines import ArgumentMatcher
    from enforcer.explain.outline import Outline
    from enforcer.explain.views import LaidOut
    from enforcer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text has to fit.

    Attributes:
        what: what it is, as `the arguments of "get_weather"`.
        tool: whose arguments; None for a response format.
        outline: makes its schema ready for words; None where it has none, as a regular
            expression has. May raise `NoShortestEnd` or `Unbounded`.
        laid_out: how it is laid out, where not as JSON.

    """

    what: str
    tool: str | None
    outline: Callable[[], Outline] | None
    laid_out: LaidOut | None = None


class FollowedText:
    """Goes between: an `ArgumentMatcher` that remembers what it was given.

    `fill` and `is_accepting` are the engine's own, so that masks cost what they cost; so is
    `accept` where the engine's text remembers its token ids itself.
    """

    __slots__ = ("_beyond", "_engine", "_last", "_outline", "_own_ids", "_readings", "_token_ids",
                 "_vocabulary", "accept", "fill", "is_accepting", "keep", "subject")  # fmt: skip

    def __init__(self, engine: ArgumentMatcher, vocabulary: Vocabulary, subject: Subject) -> None:
        self._engine = engine
        self._vocabulary = vocabulary
        self.subject = subject
        self.fill = engine.fill
        self.is_accepting = engine.is_accepting
        self.keep = getattr(engine, "keep", None)
        self._own_ids: list[int] = []
        self._beyond = 0  # ids that the engine has behind the text, for a moment
        self._token_ids: Callable[[], list[int]] | None = getattr(engine, "token_ids", None)
        self.accept = self._accept if self._token_ids is None else engine.accept
        self._outline: Outline | str | None = None
        self._last: tuple[bytes, Reading] | None = None
        self._readings: list[Reading] = []  # after so many ids

    @property
    def _ids(self) -> list[int]:
        if self._token_ids is None:
            return self._own_ids
        ids = self._token_ids()
        return ids[: len(ids) - self._beyond]

    def _accept(self, token_id: int) -> bool:
        """Advance by one id."""
        if not self._engine.accept(token_id):
            return False
        self._own_ids.append(token_id)
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` ids."""
        self._engine.rollback(count)
        if self._token_ids is None:
            del self._own_ids[len(self._own_ids) - count :]
        if self._readings:
            del self._readings[len(self._ids) + 1 :]

    @property
    def data(self) -> bytes:
        """The text so far."""
        return self._vocabulary.decode(self._ids)

    def ahead(self, symbols: Iterable[int]) -> int:
        """Count how many bytes, and control tokens, the engine lets follow, one by one."""
        with self._gone_on(symbols) as count:
            return count

    def _can(self, symbols: Sequence[int]) -> bool:
        """Tell whether all of them may follow."""
        return self.ahead(symbols) == len(symbols)

    @contextmanager
    def _gone_on(self, symbols: Iterable[int]) -> Iterator[int]:
        """Have the engine behind symbols, as many as it lets follow, and take them back."""
        count = 0
        for symbol in symbols:
            token_id = self._vocabulary.find(bytes([symbol])) if symbol < ID else symbol - ID
            if token_id is None or not self._engine.accept(token_id):
                break
            count += 1
        self._beyond += count
        try:
            yield count
        finally:
            self._beyond -= count
            if count:
                self._engine.rollback(count)

    def expected(self, beyond: bytes = b"") -> tuple[str | None, str, tuple[Option, ...]]:
        """Say what may come next.

        Args:
            beyond: bytes to go on with first, which the engine lets follow.

        Returns:
            Where in the text that is, what has been begun there, and what may come.

        """
        outline = self._found()
        if isinstance(outline, str):
            return None, "", (Option(outline),)
        with self._gone_on(beyond) as taken:
            laid_out = self.subject.laid_out
            if laid_out is not None:
                symbols = (*self._symbols(), *beyond[:taken])
                read = partial(self._read_json, outline)
                return laid_out_options(laid_out, outline, symbols, read, self._can)
            text = self.data + beyond[:taken]
            cursor = locate(text)
            reading = self._reading(outline).read(beyond[:taken])
            found = options(outline, reading, text, self._can)
            if not found and self._can(b"\n"):  # as behind a carriage return
                found = options(outline, reading, text, lambda data: self._can(b"\n" + data))
        return written(cursor.path), cursor.begun.decode("utf-8", "replace"), found

    def _symbols(self) -> list[int]:
        controls, found = self._vocabulary.control_ids, list[int]()
        for token_id in self._ids:
            if token_id in controls:
                found.append(ID + token_id)
            else:
                found.extend(self._vocabulary.token_bytes(token_id))
        return found

    def _read_json(self, outline: Outline, text: bytes) -> Reading:
        """Read a JSON text that most often goes on with the last one."""
        before, reading = self._last or (b"", Reading.begin(outline.plan))
        if not text.startswith(before):
            before, reading = b"", Reading.begin(outline.plan)
        self._last = text, reading.read(text[len(before) :])
        return self._last[1]

    def _found(self) -> Outline | str:
        """Give the outline, or what can be said without."""
        if self._outline is None:
            what = self.subject.what
            if self.subject.outline is None:
                self._outline = f"more of {what}"
            else:
                try:
                    self._outline = self.subject.outline()
                except (NoShortestEnd, Unbounded) as error:
                    why = str(error).partition(": ")[0]  # without what would end texts in time
                    self._outline = f"more of {what}, of which no more can be said: {why}"
        return self._outline

    def _reading(self, outline: Outline) -> Reading:
        """Follow the text as far as it goes; what is known is kept."""
        if not self._readings:
            self._readings.append(Reading.begin(outline.plan))
        for token_id in self._ids[len(self._readings) - 1 :]:
            self._readings.append(self._readings[-1].read(self._vocabulary.token_bytes(token_id)))
        return self._readings[-1]
