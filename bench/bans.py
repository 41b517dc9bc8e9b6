"""What a turn that may call nothing costs a step: a grammar's mask beside banned ids.

Owns: timing, on this machine's processor, what each way adds to one step of a batch: filling the
rows and applying them to the logits (grammar), or writing minus infinity at the markers' ids
(Model Runner V1's loop; V2's one kernel is the scatter). Must not know: requests, servers.

`python -m bench.bans` needs torch. On a GPU the mask is copied to the device besides.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable

VOCABULARY = 163_840
WORDS = VOCABULARY // 32
MARKERS = list(range(163_595, 163_600))
REPEATS = 30
ROWS = (1, 16, 64, 256)


def _microseconds(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(REPEATS):
        begun = time.perf_counter_ns()
        work()
        spent.append((time.perf_counter_ns() - begun) / 1000)
    return statistics.median(spent)


def main() -> None:
    """Print a table, in microseconds a step."""
    from vllm.v1.sample.ops.bad_words import apply_bad_words

    torch.set_num_threads(1)
    template = np.full(WORDS, -1, np.int32)
    print(f"{'rows':>5} {'fill':>9} {'unpack+apply':>13} {'V1 bad words':>13} {'V2 scatter':>11}")
    for rows in ROWS:
        logits = torch.zeros(rows, VOCABULARY)
        mask = np.zeros((rows, WORDS), np.int32)
        banned = torch.tensor(MARKERS)
        words = {row: [[token] for token in MARKERS] for row in range(rows)}
        past: list[list[int]] = [[] for _ in range(rows)]

        def fill(mask: np.ndarray = mask, rows: int = rows) -> None:
            for row in range(rows):
                np.copyto(mask[row], template)

        def apply(mask: np.ndarray = mask, logits: torch.Tensor = logits) -> None:
            bits = np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little")
            logits.masked_fill_(torch.from_numpy(bits == 0), float("-inf"))

        times = (
            _microseconds(fill),
            _microseconds(apply),
            _microseconds(lambda: apply_bad_words(logits, words, past)),  # noqa: B023
            _microseconds(lambda: logits.index_fill_(1, banned, float("-inf"))),  # noqa: B023
        )
        print(f"{rows:>5} {times[0]:>9.1f} {times[1]:>13.1f} {times[2]:>13.1f} {times[3]:>11.1f}")


if __name__ == "__main__":
    main()
