"""Logits processor for transformers' `generate`, with one matcher for each row of the batch.

For a batch of one row it is a decoding method, too, which verifies the grammar's draft tokens.
Of the core it uses `Enforcer.matcher` alone. Imports torch and transformers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from enforcer.api import Enforcer
from enforcer.errors import ConfigurationError, IllegalPrefix, InvalidTools, RequestError, brief
from enforcer.extras import needed_for
from enforcer.logits import illegal, rows_for
from enforcer.turn.ids import number

with needed_for("`enforcer.hf`"):
    import torch
    from transformers import LogitsProcessor
    from transformers.generation import CandidateGenerator

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
        self._prompt = 0  # its length
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
        self._follow(input_ids.tolist())
        return self._mask(scores)

    def assisted_decoding(
        self, model: Any, input_ids: torch.LongTensor, *, draft_tokens: int = 8, **generation: Any
    ) -> Any:
        """Decode one row in fewer forward passes, which verify draft tokens of the grammar.

        Pass it to `generate` as `custom_generate`, and the processor in `logits_processor`.

        Args:
            model: from `generate`, as all others but `draft_tokens`.
            input_ids: int64, shape `(1, length)`: the prompt.
            draft_tokens: how many draft tokens a pass verifies at most; an argument of `generate`.
            **generation: arguments of transformers' assisted decoding.

        Raises:
            ConfigurationError: the batch has several rows, the model cannot take back tokens, this
                processor is not in `logits_processor`, or `draft_tokens` is no whole number.

        """
        if len(input_ids) != 1 or getattr(model, "_is_stateful", False):
            raise ConfigurationError(
                "draft tokens are for one row, without num_beams and num_return_sequences, and a "
                "model that can take back tokens: leave out `custom_generate`"
            )
        if self not in generation["logits_processor"]:
            raise ConfigurationError("pass logits_processor=[processor] to `generate`, too")
        limit = number(draft_tokens, "draft_tokens")
        if generation.get("streamer") is not None:  # `generate` gives it no prompt here
            generation["streamer"].put(input_ids.cpu())

        def propose(row: torch.Tensor) -> list[int]:
            return self._follow(row.tolist())[0].propose(limit)

        drafting = _DraftingModel(model, propose, generation["stopping_criteria"])
        return type(model)._assisted_decoding(drafting, input_ids, **generation)  # noqa: SLF001 - transformers has no public one

    def _follow(self, ids: list[list[int]]) -> list[Matcher]:
        """Read what has come since the last step, and return the matchers of the rows."""
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
            self._prompt = len(ids[0])
        self._before = ids
        return self._matchers

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
        kept = len(self._before[0])
        if len(ids) == 1:
            kept = self._take_back(ids[0])
        elif len(ids[0]) != kept + 1:
            raise ConfigurationError(
                "a step must bring one id a row: use a new TransformersLogitsProcessor for each "
                "call of generate, and no assisted generation"
            )
        elif any(row[:-1] != before for row, before in zip(ids, self._before, strict=True)):
            raise ConfigurationError(
                "rows have been exchanged between two steps: beam search cannot be enforced"
            )
        for matcher, row in zip(self._matchers, ids, strict=True):
            for token_id in row[kept:]:
                # Padding of a finished row is not part of the turn.
                if not (matcher.accept(token_id) or matcher.is_finished or token_id == self._pad):
                    raise ConfigurationError(
                        f"id {token_id} was generated though it was masked: put this processor "
                        "last, give it the pad_token_id, and do not use beam search"
                    )

    def _take_back(self, row: list[int]) -> int:
        """Roll back draft tokens that a row does not have; return how many ids are left."""
        kept = len(commonprefix([self._before[0], row]))  # noqa: RUF071 - of lists, too
        if kept < self._prompt:
            raise ConfigurationError(
                "another prompt: use a new TransformersLogitsProcessor for each call of generate"
            )
        # Ids behind the end of the turn were not accepted.
        self._matchers[0].rollback(max(0, self._prompt + self._matchers[0].accepted - kept))
        return kept

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


@dataclass
class _DraftingModel(CandidateGenerator):  # type: ignore[misc]
    """A model whose candidates in assisted decoding are the grammar's draft tokens.

    `generate` takes no candidate generator, and others may use the model at the same time.
    """

    _model: Any
    _propose: Callable[[torch.Tensor], list[int]]
    _stops: Callable[[torch.Tensor, None], torch.Tensor]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, **inputs: Any) -> Any:
        return self._model(**inputs)

    def _get_candidate_generator(self, **_: Any) -> _DraftingModel:
        return self

    def update_candidate_strategy(self, *_: Any) -> None:
        """Do nothing, which transformers before 5 does not do by itself."""

    def get_candidates(
        self, input_ids: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, None]:
        """Return a row with draft tokens behind it, and no logits of theirs."""
        length = input_ids.shape[1]
        row = torch.cat((input_ids, input_ids.new_tensor([self._propose(input_ids)])), dim=1)
        # Criteria are asked once a pass, so the token that stops has to be its last one.
        stops = (at for at in range(length, row.shape[1]) if self._stops(row[:, : at + 1], None))
        return row[:, : next(stops, row.shape[1])], None


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
