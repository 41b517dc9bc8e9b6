"""Logits processor for transformers' `generate`, with one matcher for each row of the batch.

Of the core it uses `Enforcer.matcher` alone. Imports torch and transformers.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from enforcer.api import Enforcer
from enforcer.errors import ConfigurationError, IllegalPrefix, InvalidTools, RequestError, brief
from enforcer.extras import needed_for
from enforcer.logits import illegal, rows_for

with needed_for("`enforcer.hf`"):
    import torch
    from transformers import LogitsProcessor

from collections.abc import Sequence

if TYPE_CHECKING:
    from enforcer.turn.matcher import Matcher

# Fields of a row's request; `prompt_ids` come from the batch.
_FIELDS = tuple(
    name
    for name in inspect.signature(Enforcer.matcher).parameters
    if name not in {"self", "prompt_ids"}
)


class TransformersLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Masks the scores of a batch; build a new one for each call of `generate`.

    Args:
        enforcer: for the model's tokenizer.
        requests: a request for each row of the batch, in order, each with the arguments of
            `Enforcer.matcher` except `prompt_ids`, which come from `input_ids`.
        pad_token_id: the token id with which `generate` pads finished rows; needed if a stopping
            criterion, such as `stop_strings`, can end a row in the middle of a turn.

    Raises:
        EnforcerError: a request is malformed or has a schema that cannot be enforced; at the first
            step, if that depends on the prompt. The path begins with the row, `$[1]`.

    """

    def __init__(
        self,
        enforcer: Enforcer,
        requests: Sequence[Mapping[str, Any]],
        *,
        pad_token_id: int | None = None,
    ) -> None:
        if not isinstance(enforcer, Enforcer):
            raise ConfigurationError(
                f"the first argument is {brief(enforcer)}, but must be an `Enforcer`: "
                "Enforcer.from_tokenizer(tokenizer)"
            )
        self._enforcer = enforcer
        if not isinstance(requests, Iterable):
            raise InvalidTools("$", f"a list of requests, one a row, not {brief(requests)}")
        self._requests = [_request(at, request) for at, request in enumerate(requests)]
        for at, request in enumerate(self._requests):
            try:
                enforcer.matcher(**request)  # refuse before generation
            except RequestError as error:
                raise error.under(f"$[{at}]") from error
        self._matchers: list[Matcher] = []
        self._pad = pad_token_id
        self._before: list[list[int]] = []
        self._best: torch.Tensor | None = None  # each row's best score, not yet checked for -inf

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Return the scores with -inf for illegal token ids.

        Args:
            input_ids: int64, shape `(batch, length)`: the prompt and the generated token ids.
            scores: float, shape `(batch, ids of the model)`.

        Raises:
            ConfigurationError: the batch does not have one row for each request, its rows have
                been exchanged (beam search), the model has fewer ids than the tokenizer, or all
                legal token ids of a row have -inf from other processors.

        """
        ids = input_ids.tolist()
        self._refuse_dead()
        if len(ids) != len(self._requests):
            raise ConfigurationError(
                f"{len(ids)} rows for {len(self._requests)} requests: pass one request a row; "
                "beam search and num_return_sequences cannot be enforced"
            )
        if self._matchers:
            self._advance(ids)
        else:
            self._matchers = [self._begin(at, row) for at, row in enumerate(ids)]
        self._before = ids
        return self._mask(scores)

    def _begin(self, at: int, row: list[int]) -> Matcher:
        try:
            return self._enforcer.matcher(**self._requests[at], prompt_ids=row)
        except RequestError as error:
            found = error.under(f"$[{at}]")
            if len(self._requests) > 1 and isinstance(found, IllegalPrefix):
                hint = 'rows of several lengths are padded on the left (padding_side="left")'
                found = IllegalPrefix(found.path, f"{found.reason}; {hint}")
            raise found from error

    def _advance(self, ids: list[list[int]]) -> None:
        if len(ids[0]) != len(self._before[0]) + 1:
            raise ConfigurationError(
                "a step must bring one id a row: use a new TransformersLogitsProcessor for each "
                "call of generate, and no assisted generation"
            )
        if any(row[:-1] != before for row, before in zip(ids, self._before, strict=True)):
            raise ConfigurationError(
                "rows have been exchanged between two steps: beam search cannot be enforced"
            )
        for matcher, row in zip(self._matchers, ids, strict=True):
            # Padding of a finished row is not part of the turn.
            if not (matcher.accept(row[-1]) or matcher.is_finished or row[-1] == self._pad):
                raise ConfigurationError(
                    f"id {row[-1]} was generated though it was masked: put this processor last, "
                    "give it the pad_token_id, and use neither beam search nor assisted generation "
                    "(assistant_model, prompt_lookup_num_tokens)"
                )

    def _mask(self, scores: torch.FloatTensor) -> torch.FloatTensor:
        size = self._enforcer.vocabulary.size
        if scores.shape[1] < size:
            raise ConfigurationError(
                f"the model has fewer ids than the tokenizer, {scores.shape[1]} and {size}: resize "
                "the model's embeddings, or use the tokenizer that belongs to it"
            )
        bitmask = rows_for(len(self._matchers), scores)
        for row, matcher in enumerate(self._matchers):
            matcher.fill(bitmask, row)
        masked = scores.masked_fill(illegal(bitmask, scores), -torch.inf)
        self._best = masked.amax(dim=1)
        # An accelerator may still be busy with the scores; at the next step it is not.
        if masked.device.type == "cpu":
            self._refuse_dead()
        return masked

    def _refuse_dead(self) -> None:
        """Raise ConfigurationError if all scores of a row are -inf, so that none can be sampled."""
        best, self._best = self._best, None
        dead = () if best is None else torch.isneginf(best).nonzero().flatten().tolist()
        if dead:
            raise ConfigurationError(
                f"row {dead[0]} has no id left: of those that are legal none has a score, since "
                "the model or another processor gave them -inf; leave out what forbids ids, such "
                "as min_new_tokens, suppress_tokens, bad_words_ids or no_repeat_ngram_size"
            )


def _request(at: int, request: object) -> dict[str, Any]:
    path = f"$[{at}]"
    if not isinstance(request, Mapping):
        raise InvalidTools(path, f"a request has fields by name, but this is {brief(request)}")
    if wrong := [name for name in request if name not in _FIELDS]:
        reason = f"a request has no field {brief(wrong[0])}; it may have {', '.join(_FIELDS)}"
        raise InvalidTools(path, reason)
    if "tools" not in request:
        raise InvalidTools(path, "a request says which `tools` it has; None for no tools")
    return dict(request)


EnforcerLogitsProcessor = TransformersLogitsProcessor  # its name up to 0.3
