"""A trace of a turn: each token, the legal ones in its place, and the model's own choices.

Also, which tokens the grammar would have proposed as draft tokens.

Also reads a text in which markers are spelled. Must not know: files, how a trace is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from enforcer.tools.explain.expecting import ExplainedPosition
from enforcer.tools.explain.turn import why
from enforcer.turn.dialect import FREE_TEXT

if TYPE_CHECKING:
    from enforcer.tools.explain.words import Expected, Explanation
    from enforcer.turn.matcher import Matcher
    from enforcer.vocabulary import Vocabulary

_DRAFTS = 8  # tokens that are proposed at once


@dataclass(frozen=True, slots=True)
class Given:
    """One id of a turn, as it was given to be explained.

    Attributes:
        token_id: the id.
        top: other ids and how the model scored them (log probabilities or logits), its own
            among them, best first; empty where nobody knows.

    """

    token_id: int
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One id of a turn.

    Attributes:
        at: its position, from 0.
        own: the id, whether it is legal, and what was expected in its place.
        top: the ids that the model scored there and their scores, best first.
        is_marker: whether it is a special token.
        vocabulary: how many ids there are.
        is_free: whether it stands in free text, for which the grammar proposes nothing.
        is_draft: whether it would have been proposed behind the last token that was not.

    """

    at: int
    own: Explanation
    top: tuple[tuple[Explanation, float], ...]
    is_marker: bool
    vocabulary: int
    is_free: bool
    is_draft: bool

    @property
    def taken_away(self) -> tuple[tuple[Explanation, float], ...]:
        """The ids that the model scored above the best legal one, and the mask forbids."""
        return tuple(takewhile(lambda scored: not scored[0].legal, self.top))


@dataclass(frozen=True, slots=True)
class Trace:
    """A turn that was followed as far as it is legal.

    Attributes:
        steps: one for each id; the last one may be illegal.
        left: token ids after the first illegal one, which are not followed.
        after: what is legal after the last token id; None after an illegal one.
        title: what is shown of the request.
        ended: whether the last id has ended the turn.

    """

    steps: tuple[TraceStep, ...]
    left: tuple[int, ...]
    after: Expected | None
    title: str
    ended: bool

    @property
    def changed(self) -> tuple[TraceStep, ...]:
        """The steps at which the model's own first choice was not legal, or the id was not."""
        return tuple(step for step in self.steps if step.taken_away or not step.own.legal)


def follow(matcher: Matcher, given: Sequence[Given], title: str = "") -> Trace:
    """Follow a turn; ends at the first id that is not legal."""
    vocabulary, segment = matcher.envelope.table.vocabulary, matcher.envelope.table.segment
    steps: list[TraceStep] = []
    drafts = matcher.propose(_DRAFTS)
    after: Expected | None = None
    for at, each in enumerate(given):
        place = ExplainedPosition(matcher)
        top = tuple((why(place, token_id), score) for token_id, score in each.top)
        own = why(place, each.token_id)
        is_marker = own.token_id in vocabulary.control_ids
        is_free = segment(matcher.state) in FREE_TEXT and matcher.position.grammar is None
        is_draft = drafts[:1] == [own.token_id]
        steps.append(TraceStep(at, own, top, is_marker, vocabulary.size, is_free, is_draft))
        if not own.legal or not matcher.accept(own.token_id):
            break
        drafts = drafts[1:] if is_draft else matcher.propose(_DRAFTS)
    else:
        after = ExplainedPosition(matcher).expected
    left = tuple(each.token_id for each in given[len(steps) :])
    ended = after is not None and matcher.is_finished
    return Trace(tuple(steps), left, after, title, ended)


def read_spelled(vocabulary: Vocabulary, text: str) -> list[int]:
    """Split a text into ids, every control token that is spelled in it being that token."""
    ids: list[int] = []
    for is_marker, part in split_markers(text, vocabulary.controls):
        ids += [vocabulary.control(part)] if is_marker else vocabulary.encode(part)
    return ids


def split_markers(text: str, names: Iterable[str]) -> list[tuple[bool, str]]:
    """Split a text at the markers that are spelled in it; of two at one place, at the longer."""
    markers = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    parts = re.split(f"({markers or '(?!)'})", text)
    return [(at % 2 == 1, part) for at, part in enumerate(parts) if part]
