"""A turn's beginning, tried out before anything is generated.

Two things take an argument engine or a compiled schema to know, and so more than a server's
event loop can spare: whether a text that the prompt has begun fits its schema, and whether what
is demanded fits into the ids that the turn may have.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol, TypeAlias

from enforcer.api import Enforcer
from enforcer.checking.verdict import Verdict
from enforcer.errors import IllegalPrefix, RequestError
from enforcer.request import spec_text

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.checking.work import Check
    from enforcer.engines import ArgumentEngine


@dataclass(frozen=True, slots=True)
class Beginning:
    """Asks whether a turn can be started.

    Attributes:
        spec: what the request allows, as text, with what the server has settled for it.
        skipped: how many ids of the prompt come before those that are given.
        prompt_ids: the last ids of the prompt, from the beginning of the turn at the latest.
        budget: how many ids the turn may have; None if nobody knows.

    """

    spec: str
    skipped: int
    prompt_ids: tuple[int, ...]
    budget: int | None

    def key(self) -> Hashable:
        """Return what distinguishes it from others; small, however large the spec is."""
        digest = sha256(array("q", self.prompt_ids).tobytes()).digest()
        return (_digest(self.spec), digest, self.skipped, self.budget)

    @property
    def size(self) -> int:
        """Characters of the spec."""
        return len(self.spec)


@lru_cache(maxsize=4)
def _digest(spec: str) -> bytes:
    # Each prompt of a list comes with the same text, of megabytes maybe.
    return sha256(spec.encode("utf-8", "surrogatepass")).digest()


class Starter:
    """Tries beginnings out for an engine, and keeps what it has compiled for the next.

    Attributes:
        enforcer: for a dialect.

    """

    def __init__(self, engine: ArgumentEngine) -> None:
        self.enforcer = cache(lambda dialect: Enforcer(engine.vocabulary, dialect, engine))

    def try_out(self, asked: Beginning) -> Verdict:
        """Start a turn, and tell what came of it."""
        spec = spec_text.read(asked.spec)
        if spec.settled is None:
            raise ValueError("a spec that no server has settled")
        try:
            self.enforcer(spec.settled.dialect).start(spec, asked.prompt_ids, asked.budget)
        except IllegalPrefix as error:
            return Verdict(error=error.at(lambda path: _moved(path, asked.skipped)))
        except RequestError as error:
            return Verdict(error=error)
        return Verdict()


def _moved(path: str, skipped: int) -> str:
    before, at = path.removesuffix("]").rsplit("[", 1)
    return f"{before}[{int(at) + skipped}]"


class Task(Protocol):
    """Work that a module above this package has done in a worker."""

    def key(self) -> Hashable:
        """Return what distinguishes it from others."""

    @property
    def size(self) -> int:
        """Bytes that it holds, roughly."""

    def perform(self, starter: Starter) -> Verdict:
        """Do it, in a worker."""


Asked: TypeAlias = "Check | Beginning | Task"
