"""What a step waits for slow masks, computed one after the other or shared out.

`python -m bench.masks_ahead [--turns N] [--one-tool]`: texts of `a.{12}b`, each of a grammar of its
own or all of one, go on by one id a step, towards new states of their lexers. Both ways take turns.

Owns: the turns, and the time of one step's masks. Must not know: how masks are computed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer import Enforcer
from enforcer.vllm.engine import ahead
from enforcer.vllm.engine.backend import EnforcedGrammar

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDS = 3
_STEPS = 40
_NEVER = 10**15  # ns


def _turns(enforcer: Enforcer, names: Sequence[str]) -> list[EnforcedGrammar]:
    """Begin calls, each up to where its string begins."""
    vocabulary = enforcer.vocabulary
    begun = []
    for name in names:
        schema = {
            "type": "object",
            "properties": {name: {"type": "string", "pattern": "a.{12}b"}},
            "required": [name],
            "additionalProperties": False,
        }
        tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
        turn = EnforcedGrammar(enforcer.matcher([tool], "required"), name)
        ids = [vocabulary.control("<|tool_calls_section_begin|>")]
        ids += [vocabulary.control("<|tool_call_begin|>"), *vocabulary.encode("functions.f:0")]
        ids += [vocabulary.control("<|tool_call_argument_begin|>")]
        if not turn.accept_tokens(name, [*ids, *vocabulary.encode(f'{{"{name}":"')]):
            raise RuntimeError(f"the call of {name} is not legal")
        begun.append(turn)
    return begun


def _masks(turns: Sequence[EnforcedGrammar], enforcer: Enforcer) -> list[float]:
    """Give the seconds that each step's masks keep it waiting."""
    letters = [enforcer.vocabulary.encode(letter)[0] for letter in "ab"]
    bitmask = np.zeros((len(turns), enforcer.vocabulary.words), dtype=np.int32)
    random, waited = Random(7), []
    for _ in range(_STEPS):
        for turn in turns:
            turn.accept_tokens("", [random.choice(letters)])
        begun = time.perf_counter()
        for row, turn in enumerate(turns):
            turn.fill_bitmask(bitmask, row)
        waited.append(time.perf_counter() - begun)
    return waited


def main() -> None:
    """Measure and print both ways; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--one-tool", action="store_true", help="whose texts share a lexer")
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    enforcer = Enforcer(vocabulary)
    enforcer.warm()
    usual = ahead._SLOW  # noqa: SLF001 - from when on masks are computed ahead
    print(f"vocabulary: {name}, {options.turns} turns")
    for at in range(_ROUNDS):
        for way, slow in (("in turns", _NEVER), ("shared out", usual)):
            ahead._SLOW = slow  # noqa: SLF001
            numbers = [0] * options.turns if options.one_tool else range(options.turns)
            names = [f"{way[0]}{at}x{number}" for number in numbers]
            waited = _masks(_turns(enforcer, names), enforcer)
            median, longest = statistics.median(waited) * 1000, max(waited) * 1000
            print(f"{way}: masks keep a step for {median:.1f} ms, {longest:.1f} at most")


if __name__ == "__main__":
    main()
