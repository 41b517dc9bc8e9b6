"""Argument engines that can be read at a glance, to test what surrounds an engine.

Owns: one that knows its texts by heart, and one that fails on demand. Must not know:
schemas, or any real engine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from enforcer.engines import ArgumentMatcher
from enforcer.errors import EnforcerError
from enforcer.turn import dialects
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.matcher import Matcher
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary


@dataclass
class Listed:
    """Arguments that are one of some texts."""

    vocabulary: Vocabulary
    texts: Sequence[bytes]
    read: list[bytes] = field(default_factory=list)

    def _goes_on(self, data: bytes) -> bool:
        text = b"".join(self.read) + data
        return any(known.startswith(text) for known in self.texts)

    def fill(self, row: np.ndarray) -> None:
        vocabulary = self.vocabulary
        row[:] = vocabulary.row(
            i for i in range(vocabulary.size) if self._is_text(i) and self._goes_on(self._data(i))
        )

    def _data(self, token_id: int) -> bytes:
        return self.vocabulary.token_bytes(token_id)

    def _is_text(self, token_id: int) -> bool:
        return token_id not in self.vocabulary.control_ids and self._data(token_id) != b""

    def accept(self, token_id: int) -> bool:
        if not self._is_text(token_id) or not self._goes_on(self._data(token_id)):
            return False
        self.read.append(self._data(token_id))
        return True

    def rollback(self, count: int) -> None:
        del self.read[len(self.read) - count :]

    def is_accepting(self) -> bool:
        return b"".join(self.read) in self.texts


@dataclass
class Failing(Listed):
    """The same, until as many ids as `after` have been read; then it raises where told."""

    after: int = 0
    where: frozenset[str] = frozenset({"fill", "accept"})
    error: BaseException = field(
        default_factory=lambda: EnforcerError("the engine has run into a limit")
    )

    def _maybe_fail(self, where: str) -> None:
        if where in self.where and len(self.read) >= self.after:
            raise self.error

    def fill(self, row: np.ndarray) -> None:
        self._maybe_fail("fill")
        super().fill(row)

    def accept(self, token_id: int) -> bool:
        self._maybe_fail("accept")
        return super().accept(token_id)

    def rollback(self, count: int) -> None:
        self._maybe_fail("rollback")
        super().rollback(count)

    def is_accepting(self) -> bool:
        self._maybe_fail("is_accepting")
        return super().is_accepting()


@dataclass(eq=False)
class Starts:
    """What starts texts."""

    matcher: Callable[[], ArgumentMatcher]


class Panic(BaseException):
    """What a library written in Rust raises where it panics: no `Exception`."""


def matcher(
    vocabulary: Vocabulary,
    arguments: Mapping[str, Sequence[bytes] | Callable[[], ArgumentMatcher]],
    *,
    due: Due = Due.WORD,
    most: int = 4,
    first: int = 0,
    preamble: int = 3,
    prompt_ids: Sequence[int] | None = None,
    rollback: int | None = None,
    text_format: Callable[[], ArgumentMatcher] | None = None,
) -> Matcher:
    """Start a turn; `arguments` has a list of texts, or what builds an engine, for each tool."""
    envelope = Envelope(
        Table(dialects.load("kimi_k2"), vocabulary),
        tuple(arguments),
        due=due,
        most=most,
        first=first,
        preamble=preamble,
        text_format=text_format,
    )

    def start(name: str) -> Starts:
        wanted = arguments[name]
        return Starts(wanted if callable(wanted) else lambda: Listed(vocabulary, wanted))

    return Matcher(envelope, start, prompt_ids, rollback=rollback)
