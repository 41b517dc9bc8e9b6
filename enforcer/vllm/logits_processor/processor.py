"""The logits processor of both of vLLM's model runners, for servers without the plugin.

It masks the requests that `enforcer.extra_body(..., via=enforcer.Route.LOGITS_PROCESSOR)` builds.
It has to be named on the command line: vLLM repairs stale output ids, and rejects speculative
decoding, for processors named there, and silently drops those that it finds through an entry point.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from vllm.sampling_params import SamplingParams
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.sample.logits_processor import interface as v1_runner
from vllm.v1.sample.logits_processor.builtin import process_dict_updates
from vllm.v1.worker.gpu.sample.logits_processor import interface as v2_runner

from enforcer.errors import ConfigurationError
from enforcer.logits import rows_for
from enforcer.request.carrier import KEY, Carried, from_extra, from_structural_tag
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import PATCHED
from enforcer.vllm.intake import checks, sampling_options, settling, startup
from enforcer.vllm.intake.rejections import answered, option_rejection
from enforcer.vllm.logits_processor import rows
from enforcer.vllm.logits_processor.rows import RowTurn
from enforcer.vllm.native import native_tags
from enforcer.vllm.server import reply_lengths, runtime

if TYPE_CHECKING:
    from vllm.config import VllmConfig

    _Start = Callable[[SamplingParams, list[int] | None], RowTurn]

logger = logging.getLogger("vllm.enforcer")

WHERE = f"$.vllm_xargs.{KEY}"  # the path of a spec in a request
# Methods of rejection sampling that sample only what the masked logits allow: "synthetic" and "fly"
# accept draft tokens against the logits.
_EXACT_REJECTION = ("standard", "block")


class EnforcerLogitsProcessor(v1_runner.LogitsProcessor, v2_runner.LogitsProcessor):  # type: ignore[misc]
    """Masks the rows of requests that carry a spec in `vllm_xargs`.

    Both runners are served; which one it is shows in what the constructor is given.

    Args:
        vllm_config: the server's.
        where: the V1 runner's device, or the V2 runner's request state.
        is_pin_memory: given by the V1 runner only.

    Raises:
        ConfigurationError: the server decodes speculatively in a way that a logits processor
            cannot follow, or its model has fewer ids than its tokenizer.

    """

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        """Reject a request, in the API server, that cannot be enforced.

        Raises:
            VLLMValidationError: its spec is malformed, has a schema that cannot be enforced,
                or it has a sampling option that could leave no id legal.

        """
        extra = sampling_params.extra_args or {}
        own = sampling_params.structured_outputs
        reject_other_route(own.structural_tag if own else None)
        if extra.get(KEY) is None:
            return
        admitted = settling.admit(Carried(spec_text(extra)), where=WHERE)
        sampling_options.reject_forcing(sampling_params, admitted.spec)
        sampling_options.reject_stops(sampling_params, admitted.spec)
        with answered():
            inexact = checks.run(checks.schemas(admitted.spec))
        sampling_params.extra_args = {**extra, KEY: settling.isolated(admitted, inexact).text}

    def __init__(
        self,
        vllm_config: VllmConfig,
        where: torch.device | v2_runner.LogitsProcRequestState,
        is_pin_memory: bool | None = None,  # noqa: ARG002, FBT001 - vLLM's signature
    ) -> None:
        v2 = isinstance(where, v2_runner.LogitsProcRequestState)
        if vllm_config.speculative_config is not None:
            _refuse_drafts(vllm_config.speculative_config, v2=v2)
        reply_lengths.meet(vllm_config)
        config = vllm_config.model_config
        tokenizer: Any = cached_tokenizer_from_config(config)
        enforcer = runtime.enforcer_of_model(tokenizer, config.get_vocab_size())
        native_tags.reader(enforcer.table)  # lest the first request's step builds it

        def start(params: SamplingParams, prompt_ids: list[int] | None) -> RowTurn:
            budget = reply_lengths.budget(config, len(prompt_ids or ()), params)
            return RowTurn(tokenizer, (params.extra_args or {})[KEY], prompt_ids, budget)

        self._runner: Any = _Slots(where, start) if v2 else _Batch(start)
        logger.info(
            "enforcer: the logits processor enforces requests with a spec of "
            "`enforcer.extra_body(…, via=enforcer.Route.LOGITS_PROCESSOR)`, and no others. %s",
            startup.in_force((enforcer.dialect.name,), settings.current()),
        )

    def is_argmax_invariant(self) -> bool:
        """Greedy requests need the mask as well."""
        return False

    def update_state(self, batch_update: v1_runner.BatchUpdate | None) -> None:
        """Follow requests into, within and out of the V1 runner's batch."""
        self._runner.update(batch_update)

    def add_request(self, req_idx: int, sampling_params: SamplingParams) -> bool:
        """Take a request into a slot of the V2 runner; return whether it is enforced."""
        return bool(self._runner.add(req_idx, sampling_params))

    def apply(
        self, logits: torch.Tensor, ctx: v2_runner.LogitsContext | None = None
    ) -> torch.Tensor:
        """Mask in place.

        Args:
            logits: float32, shape `(rows, ids of the model)`.
            ctx: the layout of the rows, from the V2 runner.

        """
        self._runner.apply(logits, ctx)
        return logits


def spec_text(extra: Mapping[str, Any]) -> str:
    """Return the spec that a request has in its `vllm_xargs`.

    Raises:
        VLLMValidationError: it is a word for servers with the plugin, or no spec.

    """
    if (text := from_extra(extra)) is not None:
        return text
    raise option_rejection(
        f"vllm_xargs.{KEY}",
        f"this server enforces with the logits processor, which takes no words such as `off`: in "
        f"`vllm_xargs.{KEY}` it reads what `enforcer.extra_body(…, "
        "via=enforcer.Route.LOGITS_PROCESSOR)` builds, and enforces nothing without it",
    )


def reject_other_route(tag: object) -> None:
    """Reject a spec for the plugin on a server that has not loaded it: the engine fails on it.

    Args:
        tag: `structured_outputs.structural_tag` of the request.

    Raises:
        VLLMValidationError: it carries one, and there is no plugin.

    """
    plugin = hasattr(SamplingParams._validate_structured_outputs, PATCHED)  # noqa: SLF001
    if from_structural_tag(tag) is not None and not plugin:
        raise option_rejection(
            "structured_outputs",
            "this server enforces with the logits processor: build the request with "
            "`enforcer.extra_body(…, via=enforcer.Route.LOGITS_PROCESSOR)`",
        )


def _refuse_drafts(config: Any, *, v2: bool) -> None:
    if not v2:
        raise ConfigurationError(
            "a logits processor cannot follow speculative decoding in vLLM's V1 runner: "
            "use the plugin (--tool-call-parser NAME_enforced)"
        )
    if config.rejection_sample_method not in _EXACT_REJECTION:
        raise ConfigurationError(
            f"rejection_sample_method {config.rejection_sample_method!r} accepts draft "
            "tokens that a logits processor has masked: use one of "
            f"{', '.join(_EXACT_REJECTION)}, or the plugin"
        )


def _is_enforced(params: SamplingParams) -> bool:
    return (params.extra_args or {}).get(KEY) is not None


class _Batch:
    """The V1 runner's persistent batch.

    A preempted request comes back with a new list that has all of its output: its turn is
    begun anew and catches up.
    """

    def __init__(self, start: _Start) -> None:
        self._start = start
        # What begins each row's turn, the turn, and vLLM's own list of its output.
        self._rows: dict[int, list[Any]] = {}

    def update(self, batch_update: v1_runner.BatchUpdate | None) -> None:
        process_dict_updates(self._rows, batch_update, self._added)

    def _added(
        self, params: SamplingParams, prompt_ids: list[int] | None, output_ids: list[int]
    ) -> list[Any] | None:
        begin = partial(self._start, params, prompt_ids)
        return [begin, begin(), output_ids] if _is_enforced(params) else None

    def apply(self, logits: torch.Tensor, _: None) -> None:
        """Mask; only here are output ids final, placeholders under async scheduling before."""
        if not self._rows:
            return
        bitmask = rows_for(len(self._rows), logits)
        for at, row in enumerate(self._rows.values()):
            begin, turn, output_ids = row
            if len(output_ids) < turn.read:  # vLLM computes a part again
                row[1] = turn = begin()
            for token_id in output_ids[turn.read :]:
                turn.advance(token_id)
            turn.fill(bitmask, at)
        rows.mask(logits, list(self._rows), bitmask)


class _Slots:
    """The V2 runner's request slots.

    Token ids are on the device. Each step copies two things to the host: the layout of its rows,
    which has the drafts, and the ids that have been committed since the last step.
    """

    def __init__(self, state: v2_runner.LogitsProcRequestState, start: _Start) -> None:
        self._state = state
        self._start = start
        # A turn starts at its first step: only then can the prompt be read.
        self._params: dict[int, SamplingParams] = {}
        self._turns: dict[int, RowTurn] = {}

    def add(self, index: int, params: SamplingParams) -> bool:
        """Begin a slot anew, also after a preemption; its last occupant is forgotten."""
        self._params.pop(index, None)
        self._turns.pop(index, None)
        if _is_enforced(params):
            self._params[index] = params
        return index in self._params

    def apply(self, logits: torch.Tensor, ctx: v2_runner.LogitsContext) -> None:
        if not any(int(index) in self._params for index in ctx.idx_mapping_np):
            return
        columns = (ctx.expanded_idx_mapping, ctx.pos, ctx.input_ids)
        layout = torch.stack([column.to(torch.int64) for column in columns])
        slots, positions, ids = layout.tolist()
        rows_of: dict[int, list[int]] = {}
        for row, index in enumerate(slots):
            # A part of a prompt that is not its last samples nothing.
            if index in self._params and positions[row] + 1 >= self._state.prefill_len.np[index]:
                rows_of.setdefault(index, []).append(row)
        if not rows_of:
            return
        self._catch_up({index: positions[found[0]] + 1 for index, found in rows_of.items()})
        bitmask = rows_for(len(slots), logits)
        for index, found in rows_of.items():
            self._turns[index].fill_drafts(bitmask, found, [ids[row] for row in found[1:]])
        masked = [row for found in rows_of.values() for row in found]
        rows.mask(logits, masked, bitmask[masked])

    def _catch_up(self, committed: dict[int, int]) -> None:
        """Start and advance turns over the ids that have been committed since the last step.

        Args:
            committed: for each slot, how many ids its request has.

        """
        history, prompt_len = self._state.all_token_ids.gpu, self._state.prompt_len.np
        read = {}
        for index, total in committed.items():
            turn = self._turns.get(index)
            known = 0 if turn is None else int(prompt_len[index]) + turn.read
            read[index] = known if known <= total else 0  # 0 if vLLM computes a part again
        wanted = [history[index, known : committed[index]] for index, known in read.items()]
        ids = torch.cat(wanted).tolist()
        for (index, known), new in zip(read.items(), wanted, strict=True):
            mine, ids = ids[: len(new)], ids[len(new) :]
            if not known:
                prompt = int(prompt_len[index])
                self._turns[index] = self._start(self._params[index], mine[:prompt])
                mine = mine[prompt:]
            for token_id in mine:
                self._turns[index].advance(token_id)
