"""A worker whose steps last as long as those of a model on an accelerator.

Owns: how long a step is waited for, and timing the masks meanwhile. Must not know: what is
measured beside it.

A model of a few thousand weights takes some milliseconds on a CPU, in which that CPU is busy. A
model of production takes tens of milliseconds on its own device, in which the host waits for it and
prepares what comes next (masks above all). So the host's work of a step is hidden by the device's,
and a stream's gap is as long as the longer of the two.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker

from bench.neighbours import MASKS_VARIABLE, STEP_VARIABLE


class DeviceWorker(CPUWorker):  # type: ignore[misc]
    """For vLLM's `--worker-cls`: a step's ids come so many seconds after its begin, at least."""

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        """Load the model, and open the file for what masks take: seconds, a line for each step."""
        super().load_model(*args, **kwargs)
        self._masks = Path(os.environ[MASKS_VARIABLE]).open("a", buffering=1, encoding="ascii")  # noqa: SIM115 - as long as the worker

    def execute_model(self, scheduler_output: Any) -> Any:
        """Begin a step; vLLM fills its masks next."""
        self._ready = time.monotonic() + float(os.environ[STEP_VARIABLE])
        output = super().execute_model(scheduler_output)
        self._executed = time.monotonic()
        return output

    def sample_tokens(self, grammar_output: Any) -> Any:
        """Wait for what is left of the step, as for a device, and sample."""
        filled = time.monotonic()
        self._masks.write(f"{filled - self._executed:.6f}\n")
        time.sleep(max(0.0, self._ready - filled))
        return super().sample_tokens(grammar_output)
