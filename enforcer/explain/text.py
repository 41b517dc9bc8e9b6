"""A text that is followed by an engine, its token ids remembered, for words about it.

Must not know: turns, how words are found.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.explain.arguments import options
from enforcer.explain.cursor import locate, written
from enforcer.explain.questions import JsonQuestions
from enforcer.explain.words import Option
from enforcer.layouts import ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.engines import ArgumentMatcher
    from enforcer.explain.outline import Outline
    from enforcer.explain.questions import LaidOut
    from enforcer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text has to fit.

    Attributes:
        what: what it is, as `the arguments of "get_weather"`.
        tool: whose arguments; None for a response format.
        outline: makes its schema ready for words; None where it has none, as a regular
            expression has.
        laid_out: how it is laid out, where not as JSON.

    """

    what: str
    tool: str | None
    outline: Callable[[], Outline] | None
    laid_out: LaidOut | None = None


class FollowedText:
    """An `ArgumentMatcher` around another one, which remembers the token ids."""

    def __init__(self, engine: ArgumentMatcher, vocabulary: Vocabulary, subject: Subject) -> None:
        self._engine = engine
        self._vocabulary = vocabulary
        self.subject = subject
        self.fill = engine.fill
        self.is_accepting = engine.is_accepting
        self._ids: list[int] = []

    def accept(self, token_id: int) -> bool:
        """Advance by one id."""
        if not self._engine.accept(token_id):
            return False
        self._ids.append(token_id)
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` ids."""
        self._engine.rollback(count)
        del self._ids[len(self._ids) - count :]

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
        try:
            yield count
        finally:
            if count:
                self._engine.rollback(count)

    def expected(self, beyond: bytes = b"") -> tuple[str | None, str, tuple[Option, ...]]:
        """Say what may come next.

        Args:
            beyond: bytes to go on with first, which the engine lets follow.

        Returns:
            Where in the text that is, what has been begun there, and what may come.

        """
        if self.subject.outline is None:
            return None, "", (Option(f"more of {self.subject.what}"),)
        outline = self.subject.outline()
        with self._gone_on(beyond) as taken:
            symbols = (*self._symbols(), *beyond[:taken])
            if self.subject.laid_out is not None:
                return self._laid_out(self.subject.laid_out, outline, symbols)
            cursor = locate(bytes(symbols))
            found = options(outline, cursor, JsonQuestions(self._can))
            if not found and self._can(b"\n"):  # as behind a carriage return
                behind = JsonQuestions(lambda data: self._can((*b"\n", *data)))
                found = options(outline, cursor, behind)
        return written(cursor.path), cursor.begun.decode("utf-8", "replace"), found

    def _laid_out(
        self, laid_out: LaidOut, outline: Outline, symbols: Sequence[int]
    ) -> tuple[str | None, str, tuple[Option, ...]]:
        ask = laid_out.questions(symbols, self._can)
        path: tuple[str | int, ...] = ask.path
        begun = ask.begun
        found: list[Option] = []
        for cursor in ask.cursors():
            inner = len(cursor.inside) > 1
            found += options(outline, cursor, JsonQuestions(self._can) if inner else ask)
            if inner:
                path, begun = cursor.path, cursor.begun.decode("utf-8", "replace")
        found += ask.own()
        if not found and path:
            # It cannot end, or that would be known, and no text is let through that cannot.
            found = [Option(f"more of {ask.subject}")]
        return written(path), begun, tuple({option.what: option for option in found}.values())

    def _symbols(self) -> Iterator[int]:
        for token_id in self._ids:
            if token_id in self._vocabulary.control_ids:
                yield ID + token_id
            else:
                yield from self._vocabulary.token_bytes(token_id)
