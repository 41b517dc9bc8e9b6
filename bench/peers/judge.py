"""One schema and its calls through one engine.

Times are of the processor, all threads of the process together: what else the machine does must
not count, and ends up in the slowest masks first.

Owns: the verdicts, and what is timed. Must not know: processes, where cases come from, any
engine's package.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from bench.peers.engines import RefusedError

if TYPE_CHECKING:
    from bench.peers.cases import Case
    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary

_REASON = 200  # characters of a reason that are kept


class Verdict(Enum):
    """What became of a schema; of several, the one that stands further down."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG_REJECT = "wrongly rejected"
    WRONG_ACCEPT = "wrongly accepted"
    TIME_OUT = "timed out"
    CRASH = "crashed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an engine made of a case.

    Attributes:
        case: its name.
        verdict: of its instances as they are written.
        in_any_order: whether it is right of the shuffled ones too.
        detail: why it is not right.
        first_mask: seconds from the schema to the first mask; 0 if there was none.
        masks: seconds of each further mask along the valid instances, accepting the id before it
            included, since some engines do the work there.

    """

    case: str
    verdict: Verdict
    in_any_order: bool = False
    detail: str = ""
    first_mask: float = 0.0
    masks: list[float] = field(default_factory=list)


def judge(engine: Engine, vocabulary: Vocabulary, case: Case) -> Outcome:
    """Compile a case's schema, and walk all its instances token by token.

    Raises:
        Exception: whatever else than a refusal an engine raises; that is a crash.

    """
    row = np.zeros(vocabulary.words, dtype=np.int32)
    begun = time.process_time()
    try:
        grammar = engine.compile(case.schema)
    except RefusedError as error:
        return Outcome(case.id, Verdict.REFUSED, detail=str(error)[:_REASON])
    grammar.matcher().fill(row)
    first_mask = time.process_time() - begun
    walk = _Walk(grammar, vocabulary, row)
    verdict, detail = Verdict.RIGHT, ""
    for text in case.valid:
        if not walk.masked(text):
            verdict, detail = Verdict.WRONG_REJECT, text
    for text in case.invalid:
        if walk.accepts(text):
            verdict, detail = Verdict.WRONG_ACCEPT, text
    return Outcome(
        case.id,
        verdict,
        all(walk.accepts(text) == fits for text, fits in case.shuffled),
        detail[:_REASON],
        first_mask,
        walk.seconds,
    )


@dataclass(slots=True)
class _Walk:
    """Texts through one grammar."""

    grammar: Grammar
    vocabulary: Vocabulary
    row: np.ndarray
    seconds: list[float] = field(default_factory=list)

    def masked(self, text: str) -> bool:
        """Tell whether each mask has the next id, and the text may end; times the masks."""
        matcher = self.grammar.matcher()
        matcher.fill(self.row)
        for token_id in self.vocabulary.encode(text):
            if not self._has(token_id):
                return False
            begun = time.process_time()
            if not matcher.accept(token_id):
                return False
            matcher.fill(self.row)
            self.seconds.append(time.process_time() - begun)
        return matcher.is_accepting()

    def _has(self, token_id: int) -> bool:
        return bool(self.row[token_id >> 5] >> (token_id & 31) & 1)

    def accepts(self, text: str) -> bool:
        """Tell whether a text is accepted id by id and may end."""
        matcher: Matcher = self.grammar.matcher()
        return all(map(matcher.accept, self.vocabulary.encode(text))) and matcher.is_accepting()
