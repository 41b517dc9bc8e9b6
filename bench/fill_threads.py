"""What a step of hundreds of turns waits for masks: `python -m bench.fill_threads`.

Turns go on by an id a step, in a text and in a string of a call's arguments; their masks are filled
by as many threads as vLLM has on a machine of 16 processors, and as
`enforcer.vllm.engine.fill_threads` has them filled. Both take turns. Owns: the turns, and the time
of a step's masks. Must not know: how a mask is computed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer import Enforcer
from enforcer.vllm.engine import fill_threads
from enforcer.vllm.engine.backend import EnforcedGrammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_BATCH = 16  # as vLLM's manager has it
_STEPS = 12
_ROUNDS = 3
_TEXT = " and so the story went on and on, for many words and more words still to be said, by then"
_TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def _turns(enforcer: Enforcer, count: int, *, in_call: bool) -> list[EnforcedGrammar]:
    """Begin turns: with a text, or a call up to the begin of its string."""
    vocabulary = enforcer.vocabulary
    ids = vocabulary.encode("Once")
    if in_call:
        ids = [vocabulary.control("<|tool_calls_section_begin|>")]
        ids += [vocabulary.control("<|tool_call_begin|>"), *vocabulary.encode("functions.f:0")]
        ids += [vocabulary.control("<|tool_call_argument_begin|>")]
        ids += vocabulary.encode('{"city":"Once')
    choice = "required" if in_call else "auto"
    begun = [EnforcedGrammar(enforcer.matcher([_TOOL], choice), "r") for _ in range(count)]
    if not all(turn.accept_tokens("r", ids) for turn in begun):
        raise RuntimeError("the turn's begin is not legal")
    return begun


def _fill(batch: Sequence[tuple[EnforcedGrammar, int, npt.NDArray[np.int32]]]) -> None:
    for turn, row, bitmask in batch:
        turn.fill_bitmask(bitmask, row)


def _step(turns: Sequence[EnforcedGrammar], bitmask: npt.NDArray[np.int32], by: Executor) -> float:
    begun = time.perf_counter()
    batch = [(turn, row, bitmask) for row, turn in enumerate(turns)]
    parts = [batch[at : at + _BATCH] for at in range(0, len(batch), _BATCH)]
    for each in [by.submit(_fill, part) for part in parts]:
        each.result()
    return time.perf_counter() - begun


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.fill_threads", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[129, 256, 512])
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    enforcer = Enforcer(vocabulary)
    print(name)
    print(f"| masks of a step, ms | {options.threads} threads | as they are filled | ratio |")
    print("|---|--:|--:|--:|")
    for rows in options.rows:
        for in_call in (False, True):
            found: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(_ROUNDS):
                for ours, waited in found.items():
                    turns = _turns(enforcer, rows, in_call=in_call)
                    bitmask = np.zeros((rows, enforcer.vocabulary.words), dtype=np.int32)
                    with ThreadPoolExecutor(options.threads) as threads:
                        if ours:
                            fill_threads.attach(threads, lambda _: True)
                        for token_id in enforcer.vocabulary.encode(_TEXT)[:_STEPS]:
                            for turn in turns:
                                turn.accept_tokens("r", [token_id])
                            waited.append(_step(turns, bitmask, threads))
            theirs, here = (statistics.median(found[ours]) * 1e3 for ours in (False, True))
            where = "a string of a call" if in_call else "a text"
            print(f"| {rows} turns in {where} | {theirs:.1f} | {here:.1f} | {theirs / here:.1f} |")


if __name__ == "__main__":
    main()
