"""A turn, token by token: what was legal, what came, and what the model would rather have said.

Owns: following ids through a matcher and noting each place, and reading a text in which markers
are spelled. Must not know: files, how it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.explain.expecting import is_set, mask_of
from enforcer.explain.turn import expected, explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.explain.words import Expected
    from enforcer.turn.matcher import Matcher
    from enforcer.vocabulary import Vocabulary


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
class Rival:
    """An id that the model scored at one place.

    Attributes:
        token: what it stands for.
        score: its log probability or logit.
        legal: whether the mask lets it through.
        reason: why not; empty where it is legal.

    """

    token_id: int
    token: str
    score: float
    legal: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One id of a turn.

    Attributes:
        at: its position, from 0.
        token: what it stands for.
        is_marker: whether it is a control token.
        expected: what was legal before it.
        vocabulary: how many ids there are.
        legal: whether it is legal.
        reason: why not; empty where it is.
        rivals: what the model scored there, best first.

    """

    at: int
    token_id: int
    token: str
    is_marker: bool
    expected: Expected
    vocabulary: int
    legal: bool
    reason: str = ""
    rivals: tuple[Rival, ...] = ()

    @property
    def taken_away(self) -> tuple[Rival, ...]:
        """The ids that the model scored above the best legal one, and the mask forbids."""
        found = []
        for rival in self.rivals:
            if rival.legal:
                break
            found.append(rival)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Trace:
    """A turn that was followed as far as it is legal.

    Attributes:
        steps: one for each id; the last one may be illegal.
        left: ids behind an illegal one, which nobody can follow.
        after: what is legal behind the last id; None behind an illegal one.
        title: what is shown of the request.
        ended: whether the last id has ended the turn.

    """

    steps: tuple[Step, ...]
    left: tuple[int, ...] = ()
    after: Expected | None = None
    title: str = field(default="")
    ended: bool = False

    @property
    def changed(self) -> tuple[Step, ...]:
        """The steps at which the model's own first choice was not legal, or the id was not."""
        return tuple(step for step in self.steps if step.taken_away or not step.legal)


def follow(matcher: Matcher, given: Iterable[Given], title: str = "") -> Trace:
    """Follow a turn; ends at the first id that is not legal."""
    vocabulary = matcher.envelope.table.vocabulary
    steps: list[Step] = []
    rest = list(given)
    while rest:
        step = _step(matcher, vocabulary, rest.pop(0), len(steps))
        steps.append(step)
        if not step.legal or not matcher.accept(step.token_id):
            return Trace(tuple(steps), tuple(each.token_id for each in rest), None, title)
    return Trace(tuple(steps), (), expected(matcher), title, matcher.is_finished)


def _step(matcher: Matcher, vocabulary: Vocabulary, given: Given, at: int) -> Step:
    row = mask_of(matcher)
    found = expected(matcher, row)

    def why(token_id: int) -> str:
        return "" if is_set(row, token_id) else explain(matcher, token_id, row).reason

    reason = why(given.token_id)
    rivals = tuple(
        Rival(token_id, token_of(vocabulary, token_id), score, is_set(row, token_id), why(token_id))
        for token_id, score in given.top
    )
    return Step(
        at,
        given.token_id,
        token_of(vocabulary, given.token_id),
        given.token_id in vocabulary.control_ids,
        found,
        vocabulary.size,
        not reason,
        reason,
        rivals,
    )


def token_of(vocabulary: Vocabulary, token_id: int) -> str:
    """Give what an id stands for, readable whatever it is."""
    if not 0 <= token_id < vocabulary.size:
        return ""
    return vocabulary.token_bytes(token_id).decode("utf-8", "backslashreplace")


def read_spelled(vocabulary: Vocabulary, text: str) -> list[int]:
    """Split a text into ids, every control token that is spelled in it being that token."""
    ids: list[int] = []
    for is_marker, part in split_markers(text, sorted(vocabulary.controls)):
        ids += [vocabulary.control(part)] if is_marker else vocabulary.encode(part)
    return ids


def split_markers(text: str, names: Sequence[str]) -> Iterable[tuple[bool, str]]:
    """Split a text at the markers that are spelled in it."""
    while text:
        found = [(at, -len(name), name) for name in names if (at := text.find(name)) >= 0]
        if not found:
            yield False, text
            return
        at, _, name = min(found)
        if at:
            yield False, text[:at]
        yield True, name
        text = text[at + len(name) :]
