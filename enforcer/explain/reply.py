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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError, brief
from enforcer.explain.trace import Given

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary

_BY_ID = "token_id:"  # how vLLM writes tokens with `return_tokens_as_token_ids`


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded turn.

    Attributes:
        given: its ids.
        prompt_ids: the prompt's; None where they were not recorded.

    """

    given: tuple[Given, ...]
    prompt_ids: tuple[int, ...] | None = None


def read_ids(value: object, where: str) -> Recorded:
    """Read a list of ids, or of objects with an `id` and its rivals.

    Known are `[1, 2, …]` and `[{"id": 1, "top": [[2, -0.1], …]}, …]`, by themselves or under
    `token_ids`, with `prompt_token_ids` beside them.

    Raises:
        ConfigurationError: another form.

    """
    prompt = None
    if isinstance(value, Mapping):
        prompt = value.get("prompt_token_ids")
        value = value.get("token_ids")
    if not isinstance(value, list):
        raise _wrong(where, "a list of ids")
    return Recorded(
        tuple(_given(each, f"{where}, position {at}") for at, each in enumerate(value)),
        None if prompt is None else tuple(_ids(prompt, f"{where}, prompt_token_ids")),
    )


def _given(value: object, where: str) -> Given:
    if not isinstance(value, Mapping):
        return Given(_id(value, where))
    top = value.get("top", [])
    if not isinstance(top, list) or not all(isinstance(x, list) and len(x) == 2 for x in top):  # noqa: PLR2004
        raise _wrong(where, "`top` as a list of [id, score]")
    pairs = [(_id(token, where), _score(score, where)) for token, score in top]
    return Given(_id(value.get("id"), where), _sorted(pairs))


def read_reply(value: object, vocabulary: Vocabulary, where: str) -> Recorded:
    """Read the first choice of a chat completion with `logprobs` or `token_ids`.

    Raises:
        ConfigurationError: it is none, or tells no ids.

    """
    if isinstance(value, Mapping) and isinstance(value.get("response"), Mapping):
        value = value["response"]
    choices = value.get("choices") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(choices, list) or not choices:
        raise _wrong(where, "a chat completion")
    choice = choices[0]
    prompt = value.get("prompt_token_ids")
    logprobs = choice.get("logprobs") if isinstance(choice, Mapping) else None
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    ids = choice.get("token_ids") if isinstance(choice, Mapping) else None
    if content is None and ids is None:
        raise _wrong(where, "a reply with its ids: ask for `return_token_ids` and `logprobs`")
    if not isinstance(content, list | None):
        raise _wrong(where, "`logprobs.content` as a list")
    tops = [_top(entry, vocabulary, where) for entry in content or ()]
    own = (
        [_id(each, where) for each in ids]
        if isinstance(ids, list)
        else [_own(entry, vocabulary, where) for entry in content or ()]
    )
    tops += [()] * (len(own) - len(tops))
    given = tuple(Given(token, top) for token, top in zip(own, tops, strict=False))
    return Recorded(given, None if prompt is None else tuple(_ids(prompt, where)))


def scored(recorded: Recorded, value: object, where: str) -> Recorded:
    """Put the scores of `prompt_logprobs` beside the ids of a turn.

    Args:
        recorded: the turn, whose prompt is known.
        value: answer of `/v1/completions` to the prompt and the turn's ids as one prompt.
        where: for messages.

    Raises:
        ConfigurationError: the answer has no such scores, or of another number of ids.

    """
    choices = value.get("choices") if isinstance(value, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    scores = first.get("prompt_logprobs") if isinstance(first, Mapping) else None
    before = len(recorded.prompt_ids or ())
    if not isinstance(scores, list) or len(scores) != before + len(recorded.given):
        raise _wrong(where, "`prompt_logprobs` for every id of the prompt and the turn")
    given = []
    for at, (each, entry) in enumerate(zip(recorded.given, scores[before:], strict=True), before):
        pairs = _prompt_scores(entry, f"{where}, prompt_logprobs[{at}]")
        given.append(Given(each.token_id, _sorted(pairs)))
    return Recorded(tuple(given), recorded.prompt_ids)


def _prompt_scores(entry: object, where: str) -> list[tuple[int, float]]:
    """Read the scores of one place; of the first one of a prompt there are none."""
    if entry is None:
        return []
    if not isinstance(entry, Mapping):
        raise _wrong(where, f"scores by id, not {brief(entry)}")
    pairs = []
    for token, found in entry.items():
        token_id = _number(token)
        if token_id is None:
            raise _wrong(where, f"an id, not {brief(token)}")
        if not isinstance(found, Mapping):
            raise _wrong(where, f"an object with a `logprob`, not {brief(found)}")
        pairs.append((token_id, _score(found.get("logprob"), where)))
    return pairs


def _own(entry: object, vocabulary: Vocabulary, where: str) -> int:
    found = _token(entry, vocabulary) if isinstance(entry, Mapping) else None
    if found is None:
        raise _wrong(where, f"tokens of this vocabulary, not {entry!r:.80}: is --model right?")
    return found


def _top(entry: object, vocabulary: Vocabulary, where: str) -> tuple[tuple[int, float], ...]:
    listed = entry.get("top_logprobs") if isinstance(entry, Mapping) else None
    if not isinstance(listed, list | None) or not all(isinstance(x, Mapping) for x in listed or ()):
        raise _wrong(where, "`top_logprobs` as a list of objects")
    pairs = []
    for each in listed or ():
        token, score = _token(each, vocabulary), each.get("logprob")
        # vLLM writes -9999 for what is masked.
        if token is not None and isinstance(score, float | int) and score > _MASKED:
            pairs.append((token, _score(score, where)))
    return _sorted(pairs)


_MASKED = -9_000


def _token(entry: Mapping[str, Any], vocabulary: Vocabulary) -> int | None:
    """Find the id of a token, by its number if it has one, else by its name or its bytes."""
    token = entry.get("token")
    if isinstance(token, str) and token.startswith(_BY_ID):
        return _number(token.removeprefix(_BY_ID))
    if isinstance(token, str) and token in vocabulary.controls:
        return vocabulary.control(token)
    data = entry.get("bytes")
    if isinstance(data, list) and all(isinstance(x, int) and 0 <= x < 256 for x in data):  # noqa: PLR2004
        return vocabulary.find(bytes(data))
    # The half of a surrogate pair is no token of any vocabulary.
    return (
        vocabulary.find(token.encode("utf-8", "surrogatepass")) if isinstance(token, str) else None
    )


def _number(token: object) -> int | None:
    """Read the digits of an id; none has more than this."""
    is_one = isinstance(token, str) and re.fullmatch("[0-9]{1,18}", token)
    return int(str(token)) if is_one else None


def _sorted(pairs: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Give the scores in order; one that is infinite, or none, is that of an id ruled out."""
    finite = {token: score for token, score in pairs if isfinite(score)}
    return tuple(sorted(finite.items(), key=lambda pair: -pair[1]))


def _ids(value: object, where: str) -> list[int]:
    if not isinstance(value, list):
        raise _wrong(where, "a list of ids")
    return [_id(each, where) for each in value]


def _id(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(where, f"an id, not {value!r:.80}")
    return value


def _score(value: object, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(where, f"a score, not {brief(value)}")
    try:
        return float(value)
    except OverflowError:
        raise _wrong(where, "a score, not a huge integer") from None


def _wrong(where: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"{where}: expected {expected}")
