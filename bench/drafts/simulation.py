"""Forward passes of recorded calls with the grammar as drafter, without a model.

The model is taken to write the recorded call in the tokenizer's own tokens. A pass verifies the
tokens that are proposed, and adds one. A token that was proposed costs none.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.drafts.calls import STRETCHES, stretch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.matcher import Matcher
    from enforcer.vocabulary import Vocabulary


@dataclass
class Counts:
    """What some turns have taken.

    Attributes:
        tokens: by stretch.
        passes: by the stretch of the token that the pass has added.
        rejected: proposed tokens that were not written.
        times: ns of all proposals, one by one.

    """

    tokens: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    times: list[int] = field(default_factory=list)

    def a_token(self, *stretches: str) -> float:
        """Return the passes for each token of some stretches, of all by default."""
        chosen = stretches or STRETCHES
        tokens = sum(self.tokens[each] for each in chosen)
        return sum(self.passes[each] for each in chosen) / max(tokens, 1)

    @property
    def outside(self) -> float:
        """Passes for each token outside of values."""
        return self.a_token(*(each for each in STRETCHES if each != "values"))

    @property
    def rejected_a_pass(self) -> float:
        """Rejected tokens for each pass."""
        return self.rejected / max(sum(self.passes.values()), 1)

    @property
    def microseconds(self) -> float:
        """What a proposal takes in the mean."""
        return sum(self.times) / 1e3 / max(len(self.times), 1)


def follow(
    matcher: Matcher,
    ids: Sequence[int],
    vocabulary: Vocabulary,
    counts: Counts,
    *,
    limit: int,
    likely: bool,
) -> None:
    """Write a turn with proposals, from its first token to its last.

    Raises:
        ValueError: the turn is illegal.

    """
    at, ended = 0, False
    while at < len(ids):
        begun = time.perf_counter_ns()
        proposed = matcher.propose(limit, likely=likely)
        counts.times.append(time.perf_counter_ns() - begun)
        kept = 0
        while at + kept < len(ids) and kept < len(proposed) and proposed[kept] == ids[at + kept]:
            kept += 1
        counts.rejected += len(proposed) - kept
        for number, token_id in enumerate(ids[at : at + kept + 1]):
            kind = stretch(matcher, vocabulary.token_bytes(token_id), ended=ended)
            counts.tokens[kind] += 1
            counts.passes[kind] += number == kept
            was_in_call = bool(matcher.tool)
            if not matcher.accept(token_id):
                raise ValueError(f"{vocabulary.token_bytes(token_id)!r} is illegal at {at}")
            ended = (ended or was_in_call) and not matcher.tool
        at += kept + 1
