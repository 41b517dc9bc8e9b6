"""What applying masks to logits costs on a device.

Owns: timing it for 1 to 512 rows of Kimi's vocabulary, by our own way (transformers' and vLLM's
logits processors) and by xgrammar's kernel, which vLLM's runners use for the plugin's masks. Must
not know: where masks come from.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import xgrammar

from enforcer.logits import illegal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VOCABULARY = 163_840
ROWS = (1, 8, 64, 256, 512)


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds for a batch, the copy of the bits to the device included; the median.

    Attributes:
        rows: of the batch.
        ours: by `enforcer.logits`.
        kernel: by xgrammar's.

    """

    rows: int
    ours: float
    kernel: float


def measure(device: str, rows: int, repeats: int) -> Cost:
    """Time a batch.

    Args:
        device: torch's name of it.
        rows: of the logits, float32.
        repeats: how often each way is timed, after one time that is not.

    Raises:
        RuntimeError: the two ways do not forbid the same ids.

    """
    legal = np.random.default_rng(0).integers(0, 2, (rows, VOCABULARY), dtype=np.uint8)
    bitmask = np.packbits(legal, axis=1, bitorder="little").view(np.int32)
    logits = torch.zeros(rows, VOCABULARY, device=device)

    def ours() -> torch.Tensor:
        return logits.masked_fill(illegal(bitmask, logits), -torch.inf)

    def kernel() -> torch.Tensor:
        target = logits.clone()
        packed = torch.from_numpy(bitmask).to(device, non_blocking=True)
        xgrammar.apply_token_bitmask_inplace(target, packed)
        return target

    if not torch.equal(ours(), kernel()):
        raise RuntimeError(f"on {device}, {rows} rows are not masked as xgrammar's kernel does")
    return Cost(rows, *(_median(each, device, repeats) for each in (ours, kernel)))


def _median(work: Callable[[], object], device: str, repeats: int) -> float:
    spent = []
    for _ in range(repeats + 1):
        _wait(device)
        begun = time.perf_counter()
        work()
        _wait(device)
        spent.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(spent[1:])


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def table(costs: Iterable[Cost]) -> str:
    """Write the figures as a table of Markdown."""
    lines = ["| rows | ours, ms | xgrammar's kernel, ms |", "|--:|--:|--:|"]
    lines += [f"| {each.rows} | {each.ours:.2f} | {each.kernel:.2f} |" for each in costs]
    return "\n".join(lines)
