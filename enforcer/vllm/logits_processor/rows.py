"""One enforced request in a batch of logits: its matcher follows the request's token ids.

vLLM's own parsers read the replies here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch

from enforcer.errors import EnforcerError
from enforcer.logits import illegal
from enforcer.request import spec_text
from enforcer.turn.transitions import named
from enforcer.vllm.engine.compile_executor import CompileExecutor
from enforcer.vllm.native import native_tags
from enforcer.vllm.native.misreadings import ReadableMatcher
from enforcer.vllm.observe import metric_defs, metrics, request_context
from enforcer.vllm.server import runtime

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.turn.matcher import Matcher


@cache
def _executor() -> CompileExecutor:
    """Return the threads that make turns ready in a process without an engine of ours."""
    return CompileExecutor()


os.register_at_fork(after_in_child=_executor.cache_clear)


class RowTurn:
    """Follows one request; never raises, since that would end every request of the worker.

    It fails closed: after an error the turn may only end. Slow schemas are compiled on other
    threads from the turn's start on, and only a call that begins waits for them.

    Args:
        tokenizer: the model's, of transformers.
        spec: the request's spec, which has been checked.
        prompt_ids: the prompt; None if it is not known by ids.
        budget: how many ids the turn may have; None if that is not known.

    Attributes:
        read: how many ids it has advanced over.

    """

    def __init__(
        self,
        tokenizer: Any,
        spec: str,
        prompt_ids: Sequence[int] | None,
        budget: int | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._told = False
        self.read = 0
        self._matcher: Matcher | ReadableMatcher | None = None
        try:
            said, executor, own = spec_text.read(spec), _executor(), ref(self)
            enforcer = runtime.enforcer_for(tokenizer, said)
            # Its result is in the process's cache, and held here as long as the turn lasts.
            self._prepared = executor.begin(enforcer.prepare(said), lambda: own() is not None)
            matcher = enforcer.start(said, prompt_ids, budget, ahead=executor.short)
            reader = native_tags.reader(enforcer.table)
            self._matcher = matcher if reader is None else ReadableMatcher(matcher, reader)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            metrics.log_failed(
                metric_defs.Failure.START, error=type(named(error, "starting a turn")).__name__
            )

    def advance(self, token_id: int) -> None:
        """Advance over one final id."""
        self.read += 1
        matcher = self._matcher
        if matcher is None or matcher.accept(token_id) or matcher.failure is not None:
            return
        self._told = True
        metrics.log_failed(metric_defs.Failure.REJECTED, state=matcher.state)
        matcher.fail(EnforcerError(f"token id {token_id} was sampled though it was masked"))

    def fill(self, bitmask: npt.NDArray[np.int32], row: int) -> None:
        """Write the mask of the legal ids.

        Args:
            bitmask: int32, shape `(rows, words)`.
            row: the row to write.

        """
        matcher = self._matcher
        if matcher is None:
            table = runtime.table_for(self._tokenizer)
            end = table.vocabulary.row(table.turn_end_ids)
            bitmask[row] = 0
            bitmask[row, : len(end)] = end
            return
        matcher.fill(bitmask, row)
        if matcher.failure is not None and not self._told:  # the reply does not have it
            self._told = True
            metrics.log_failed(
                metric_defs.Failure.GATE_CLOSED,
                state=matcher.state,
                error=type(matcher.failure).__name__,
                tool=request_context.told_of_call(matcher.tool)["tool"],
            )

    def fill_drafts(
        self, bitmask: npt.NDArray[np.int32], rows: Sequence[int], drafts: Sequence[int]
    ) -> None:
        """Write the masks before and after each drafted id; the state is unchanged.

        After a draft that is illegal the last mask is repeated: the row before has it at
        -inf, so that vLLM rejects it, and no id is sampled from the rows behind it.

        Args:
            bitmask: int32, shape `(rows, words)`.
            rows: the rows to write, one more than there are drafts.
            drafts: the drafted ids, -1 where there is none.

        """
        self.fill(bitmask, rows[0])
        matcher, legal = self._matcher, 0
        for at, (row, token_id) in enumerate(zip(rows[1:], drafts, strict=False)):
            if matcher is not None and legal == at and matcher.accept(token_id):
                legal += 1
                self.fill(bitmask, row)
            else:
                bitmask[row] = bitmask[rows[at]]
        if matcher is not None:
            matcher.rollback(legal)


def mask(logits: torch.Tensor, rows: Sequence[int], bitmask: npt.NDArray[np.int32]) -> None:
    """Set the illegal logits to -inf, in place.

    Args:
        logits: float, shape `(batch, ids of the model)`, on any device.
        rows: the rows of `logits` that the bitmask is for.
        bitmask: int32, shape `(len(rows), words)`.

    """
    index = torch.tensor(rows, device=logits.device)
    logits[index] = logits[index].masked_fill(illegal(bitmask, logits), -torch.inf)
