"""A turn's beginning, tried out before anything is generated.

Two things take an argument engine or a compiled schema to know, and so more than a server's
event loop can spare: whether a text that the prompt has begun fits its schema, and whether what
is demanded fits into the ids that the turn may have.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from enforcer.api import Enforcer
from enforcer.checking.verdict import Verdict
from enforcer.errors import IllegalPrefix, RequestError
from enforcer.request import spec_text

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.engines import ArgumentEngine
    from enforcer.vocabulary import Vocabulary


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
        """Give what distinguishes it from others; small, however large the spec is."""
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
    """Tries beginnings out, and keeps what it has compiled for the next.

    Attributes:
        vocabulary: the model's.

    """

    def __init__(self, vocabulary: Vocabulary, engine: ArgumentEngine) -> None:
        self.vocabulary = vocabulary
        self._engine = engine
        self._enforcers: dict[str, Enforcer] = {}

    def warm(self, dialect: str, *, in_time: bool) -> None:
        """Build what the first beginning would wait for; see `Enforcer.warm`, which raises."""
        self._enforcer(dialect).warm(in_time=in_time)

    def try_out(self, asked: Beginning) -> Verdict:
        """Start a turn, and tell what came of it."""
        spec = spec_text.read(asked.spec)
        if spec.settled is None:
            raise ValueError("a spec that no server has settled")
        try:
            self._enforcer(spec.settled.dialect).start(spec, asked.prompt_ids, asked.budget)
        except IllegalPrefix as error:
            return Verdict(error=error.at(lambda path: _moved(path, asked.skipped)))
        except RequestError as error:
            return Verdict(error=error)
        return Verdict()

    def _enforcer(self, dialect: str) -> Enforcer:
        known = self._enforcers.get(dialect)
        if known is None:
            known = self._enforcers[dialect] = Enforcer(self.vocabulary, dialect, self._engine)
        return known


def _moved(path: str, skipped: int) -> str:
    before, at = path.removesuffix("]").rsplit("[", 1)
    return f"{before}[{int(at) + skipped}]"
