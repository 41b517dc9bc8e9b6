"""Sampled turns are read by stock vLLM's parser to the same calls as by ours.

`FORMAT_TURNS` says how many turns of each format are sampled; 2,000 in a release's run.
"""

import os
from random import Random

import pytest

pytest.importorskip("vllm")

from bench.formats.catalogue import ROWS
from bench.formats.writers import Call, Turn
from tests.formats import deviations, ours, sampled, stock
from tests.formats.said import plain

pytestmark = pytest.mark.slow

TURNS = int(os.environ.get("FORMAT_TURNS", "10"))


@pytest.mark.parametrize("name", ROWS)
def test_stock_vllm_reads_what_we_read(name: str) -> None:
    rng = Random(f"differential {name}")
    ended = called = 0
    for _ in range(TURNS):
        tools = sampled.tools(name, rng)
        ids = sampled.turn(name, rng, tools)
        if ids is None:
            continue
        read = ours.read(name, ids, tools)
        if read.reasoning:
            continue  # which stock reads with a reasoning parser only
        ended += 1
        calls, content, _, problem = plain(read)
        assert not problem
        called += bool(calls)
        turn = Turn(content, tuple(Call(*call) for call in calls))
        text = ours.served(name).vocabulary.decode(ids).decode(errors="replace")
        if not deviations.misread(ROWS[name].name, turn, text, streamed=False):
            assert plain(stock.whole(name, ids, tools)) == (calls, content, "", ""), text
        if not deviations.misread(ROWS[name].name, turn, text, streamed=True):
            assert plain(stock.streamed(name, ids, tools)) == (calls, content, "", ""), text
    # It would say nothing if hardly any turn came to its end, or had calls.
    assert ended > TURNS / 2
    assert called > TURNS / 3
