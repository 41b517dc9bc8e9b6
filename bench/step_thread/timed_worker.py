"""A worker that tells how long the engine's thread works between a step's parts.

Engine and worker share one thread here. What it does outside of the worker is the engine's:
scheduling, masks, following tokens. Running the model, applying masks to logits and sampling are
the worker's, and left out. Owns: timing. Must not know: who is served.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker

from bench.step_thread import LOG_VARIABLE


class TimedWorker(CPUWorker):  # type: ignore[misc]
    """For vLLM's `--worker-cls`: writes a line for each step.

    The line has the rows of the step before and the token ids that were computed for them; then,
    in nanoseconds, the thread's own time from that step to this one, and the time on the clock.
    """

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        """Load the model, and open the file."""
        super().load_model(*args, **kwargs)
        self._log = Path(os.environ[LOG_VARIABLE]).open("a", buffering=1, encoding="ascii")  # noqa: SIM115 - as long as the worker
        self._own, self._left, self._began = 0, time.thread_time_ns(), time.monotonic_ns()
        self._step = (0, 0)

    def execute_model(self, scheduler_output: Any) -> Any:
        """Note what the thread has done since the last step."""
        self._own += time.thread_time_ns() - self._left
        began = time.monotonic_ns()
        self._log.write(f"{self._step[0]} {self._step[1]} {self._own} {began - self._began}\n")
        counts = scheduler_output.num_scheduled_tokens
        self._step = len(counts), sum(counts.values())
        self._own, self._began = 0, began
        output = super().execute_model(scheduler_output)
        self._left = time.thread_time_ns()
        return output

    def sample_tokens(self, grammar_output: Any) -> Any:
        """Note what the thread has done since the model ran: the step's masks."""
        self._own += time.thread_time_ns() - self._left
        output = super().sample_tokens(grammar_output)
        self._left = time.thread_time_ns()
        return output
