"""Processes that do as they are told: answer, hang, die."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from bench import processes
from bench.peers import pool
from bench.peers.cases import Case

if TYPE_CHECKING:
    from bench.peers.pool import Measured


# Does to each case what its name says.
SCRIPT = """
import json, os, sys
print(json.dumps({"mib": 1.0, "versions": {}, "pid": os.getpid()}), flush=True)
for line in sys.stdin:
    name = json.loads(line)[0]
    if name == "die":
        os._exit(7)
    held = bytearray(64 << 20) if name == "eat" else None
    if held:
        held[:] = b"x" * len(held)
    while name == "hang":
        pass
    print(json.dumps({"case": name, "verdict": "right", "first_mask": 1.0, "pid": os.getpid()}),
          flush=True)
"""


SHORT = 0.5  # seconds; of processor time for what hangs, and a tenth of the patience with others


def measure(*names: str, seconds: float = 60.0, script: str = SCRIPT) -> Measured:
    cases = [Case(name, {}, (), (), ()) for name in names]
    return pool.measure([sys.executable, "-c", script], cases, seconds)


@pytest.mark.slow
def test_what_hangs_and_what_dies_is_counted_and_the_others_go_on() -> None:
    found = measure("a", "hang", "b", "die", "c", seconds=SHORT)
    assert [(each["case"], each["verdict"]) for each in found.outcomes] == [
        ("a", "right"),
        ("hang", "timed out"),
        ("b", "right"),
        ("die", "crashed"),
        ("c", "right"),
    ]
    assert found.outcomes[3]["detail"] == "the process ended with 7"
    assert len({each["pid"] for each in found.outcomes if "pid" in each}) == 3


@pytest.mark.slow
def test_the_last_case_may_hang() -> None:
    found = measure("a", "hang", seconds=SHORT)
    assert [each["verdict"] for each in found.outcomes] == ["right", "timed out"]


def test_the_peak_is_that_of_all_its_processes() -> None:
    assert measure("a").peak + 50 < measure("eat", "die", "a").peak


def test_an_engine_that_is_not_installed() -> None:
    script = """print('{"missing": "No module named grid"}', flush=True)"""
    with pytest.raises(pool.MissingError, match="No module named grid"):
        measure("a", script=script)


def test_no_process_is_left() -> None:
    found = measure("a")
    assert processes.resident(found.ready["pid"]) == 0.0
    assert processes.processor(found.ready["pid"]) == 0.0


def test_the_command_of_an_engine() -> None:
    assert json.dumps(pool.command("xgrammar")[1:]) == '["-m", "bench.peers.worker", "xgrammar"]'
