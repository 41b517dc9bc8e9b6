"""How long a step takes whose thread shares the interpreter with turns that are made ready.

    python -m bench.giving_way

A step stands for a scheduler's: short pieces of Python, between which it lets go of the
interpreter. Beside it the compile executor of an engine compiles new, large schemas, in Python
alone, once with Python's own interval between threads and once with its own.

Owns: the step, the schemas, the figures. Must not know: how its threads give way.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from enforcer.schema import compile_schema
from enforcer.vllm.engine import compile_executor

if TYPE_CHECKING:
    from collections.abc import Generator

_PIECES = 30
_BREAK = 3e-4  # seconds
_SCHEMAS = 6


def step() -> float:
    """Take one; gives its seconds."""
    begun = time.perf_counter()
    for _ in range(_PIECES):
        time.sleep(_BREAK)
        sum(range(2_000))
    return time.perf_counter() - begun


def schema(word: str) -> dict[str, Any]:
    """Give one that no other has: six alternatives of twelve objects."""
    alternatives = {
        f"{word}{at}": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {f"k{n}": {"const": f"v{n}{at}"}, "n": {"minimum": n}},
                    "required": [f"k{n}"],
                }
                for n in range(12)
            ]
        }
        for at in range(6)
    }
    return {"type": "object", "properties": alternatives}


def beside(word: str) -> list[float]:
    """Take steps while schemas are worked out; gives the seconds of each."""
    made = compile_executor.CompileExecutor()

    def steps(own: str) -> Generator[None, None, None]:
        yield
        compile_schema(schema(own))

    under_way = [made.begin(steps(f"{word}{at}"), lambda: True) for at in range(_SCHEMAS)]
    taken = []
    while not all(job.done() for job in under_way):
        taken.append(step())
    for job in under_way:
        job.result()
    return taken


def main() -> None:
    compile_schema(schema("warm"))
    print("milliseconds of a step, median and longest")
    show("alone", [step() for _ in range(100)])
    usual, own = sys.getswitchinterval(), compile_executor._INTERVAL  # noqa: SLF001 - what is compared
    compile_executor._INTERVAL = usual  # noqa: SLF001
    show("beside, Python's own interval", beside("a"))
    compile_executor._INTERVAL = own  # noqa: SLF001
    show("beside, that of the compile executor", beside("b"))


def show(what: str, taken: list[float]) -> None:
    print(f"{what:<32}{statistics.median(taken) * 1e3:8.1f}{max(taken) * 1e3:8.1f}")


if __name__ == "__main__":
    main()
