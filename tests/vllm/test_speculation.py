"""Model Runner V2 with asynchronous scheduling, live: with EAGLE3, and with a draft model.

A handful of requests, since Triton's interpreter is slow; `python -m bench.speculation` sends
hundreds, in more ways.
"""

from pathlib import Path

import pytest

from bench.speculation import run, ways
from bench.speculation.run import Figures
from bench.speculation.ways import Way
from tests.vllm_servers import TINY, reader

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1800)]

SAMPLED, GREEDY = 7, 2


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hot")
    ways.write_hot(folder, TINY)
    return folder


def measured(way: Way, hot: Path, folder: Path) -> Figures:
    with ways.serving(way, hot, folder, ENFORCER_PREAMBLE_IDS="3") as server:
        return run.measure(
            server.url, reader(TINY), sampled=SAMPLED, greedy=GREEDY, processor=way.processor
        )


@pytest.fixture(scope="module")
def plain(hot: Path, tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return measured(ways.WAYS[0], hot, tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize(
    "name",
    [
        "V2, async, EAGLE3",
        pytest.param("V2, async, draft model, processor", marks=pytest.mark.long),
    ],
)
def test_drafts_change_nothing(name: str, plain: Figures, hot: Path, tmp_path: Path) -> None:
    (way,) = (way for way in ways.WAYS if way.name == name)
    figures = measured(way, hot, tmp_path)
    assert figures.findings == ()
    assert figures.failed == 0
    assert figures.greedy == plain.greedy
    # What the test would otherwise not have tried.
    assert figures.drafted > figures.requests
    assert figures.calls > 0
