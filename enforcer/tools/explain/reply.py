"""Turns that were recorded: ids, scores, replies of a server.

Owns: reading each of these forms into ids with the model's scores beside them. Must not know:
files, requests, what is legal.

A server's `logprobs` are the model's own where nothing masks before they are taken: on a server
without the Enforcer, and where the logits processor enforces. With the plugin vLLM masks first, so
that such a reply shows nothing that was taken away; scoring the same ids once more as a prompt
(`prompt_logprobs`) does, on any server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from enforcer.errors import ConfigurationError
from enforcer.tools.explain.trace import Given

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary

# How vLLM writes tokens with `return_tokens_as_token_ids`; no id has more digits.
_BY_ID = re.compile("token_id:([0-9]{1,18})")
_MASKED = -9_000  # vLLM writes -9999 for what is masked
_Form = TypeVar("_Form")
_Id = Annotated[int, msgspec.Meta(ge=0)]


class _Scored(msgspec.Struct):
    id: _Id
    top: list[tuple[_Id, float]] = []


class _Ids(msgspec.Struct):
    token_ids: list[_Id | _Scored]
    prompt_token_ids: list[_Id] | None = None


class _Token(msgspec.Struct):
    token: str = ""
    bytes: list[Annotated[int, msgspec.Meta(ge=0, le=255)]] | None = None
    logprob: float | None = None
    top_logprobs: list[_Token] | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Score(msgspec.Struct):
    logprob: float


class _Choice(msgspec.Struct):
    token_ids: list[_Id] | None = None
    logprobs: _Logprobs | None = None
    prompt_logprobs: list[dict[_Id, _Score] | None] | None = None


class _Reply(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    prompt_token_ids: list[_Id] | None = None


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A recorded turn.

    Attributes:
        given: its ids.
        prompt_ids: the prompt's; None where they were not recorded.

    """

    given: tuple[Given, ...]
    prompt_ids: Sequence[int] | None = None


def read_ids(value: object, where: str) -> RecordedTurn:
    """Read a list of ids, or of objects with an `id` and its rivals.

    Known are `[1, 2, …]` and `[{"id": 1, "top": [[2, -0.1], …]}, …]`, by themselves or under
    `token_ids`, with `prompt_token_ids` beside them.

    Raises:
        ConfigurationError: another form.

    """
    found = _read({"token_ids": value} if isinstance(value, list) else value, _Ids, where)
    given = (
        Given(each.id, _sorted(each.top)) if isinstance(each, _Scored) else Given(each)
        for each in found.token_ids
    )
    return RecordedTurn(tuple(given), found.prompt_token_ids)


def read_reply(value: object, vocabulary: Vocabulary, where: str) -> RecordedTurn:
    """Read the first choice of a chat completion with `logprobs` or `token_ids`.

    Raises:
        ConfigurationError: it is none, or tells no ids.

    """
    if isinstance(value, Mapping) and "response" in value:
        value = value["response"]
    reply = _read(value, _Reply, where)
    choice = reply.choices[0]
    content = None if choice.logprobs is None else choice.logprobs.content
    if content is None and choice.token_ids is None:
        raise ConfigurationError(
            f"{where}: the reply does not have its ids: ask for `return_token_ids` and `logprobs`"
        )
    tops = [_top(each.top_logprobs or (), vocabulary) for each in content or ()]
    own = choice.token_ids
    if own is None:
        own = [_own(each, vocabulary, where) for each in content or ()]
    tops += [()] * (len(own) - len(tops))
    return RecordedTurn(tuple(map(Given, own, tops)), reply.prompt_token_ids)


def scored(recorded: RecordedTurn, value: object, where: str) -> RecordedTurn:
    """Put the scores of `prompt_logprobs` beside the ids of a turn.

    Args:
        recorded: the turn, whose prompt is known.
        value: answer of `/v1/completions` to the prompt and the turn's ids as one prompt.
        where: for messages.

    Raises:
        ConfigurationError: the answer has no such scores, or of another number of ids.

    """
    scores = _read(value, _Reply, where).choices[0].prompt_logprobs or []
    before = len(recorded.prompt_ids or ())
    if len(scores) != before + len(recorded.given):
        raise ConfigurationError(
            f"{where}: expected `prompt_logprobs` for every id of the prompt and the turn"
        )
    given = []
    for each, entry in zip(recorded.given, scores[before:], strict=True):
        # Of the first id of a prompt there are none.
        pairs = ((token_id, score.logprob) for token_id, score in (entry or {}).items())
        given.append(replace(each, top=_sorted(pairs)))
    return replace(recorded, given=tuple(given))


def _read(value: object, form: type[_Form], where: str) -> _Form:
    try:
        return msgspec.convert(value, form, str_keys=True)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _own(entry: _Token, vocabulary: Vocabulary, where: str) -> int:
    found = _token(entry, vocabulary)
    if found is None:
        raise ConfigurationError(
            f"{where}: {entry.token!r:.80} is no token of this vocabulary: is --model right?"
        )
    return found


def _top(listed: Iterable[_Token], vocabulary: Vocabulary) -> tuple[tuple[int, float], ...]:
    pairs = []
    for each in listed:
        token, score = _token(each, vocabulary), each.logprob
        if token is not None and score is not None and score > _MASKED:
            pairs.append((token, score))
    return _sorted(pairs)


def _token(entry: _Token, vocabulary: Vocabulary) -> int | None:
    """Find the id of a token, by its number if it has one, else by its name or its bytes."""
    if by_id := _BY_ID.fullmatch(entry.token):
        return int(by_id[1])
    if entry.token in vocabulary.controls:
        return vocabulary.control(entry.token)
    if entry.bytes is not None:
        return vocabulary.find(bytes(entry.bytes))
    # The half of a surrogate pair is no token of any vocabulary.
    return vocabulary.find(entry.token.encode("utf-8", "surrogatepass"))


def _sorted(pairs: Iterable[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Return the scores in order; one that is infinite, or none, is that of an id ruled out."""
    finite = {token: score for token, score in pairs if isfinite(score)}
    return tuple(sorted(finite.items(), key=lambda pair: -pair[1]))
