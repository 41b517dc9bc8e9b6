"""Servers of several processes and nodes: the matrix's requests, metrics, processes, the doctor.

`bench.scale` runs each way in namespaces of its own; a report is all that comes out of them.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.matrix import cells
from bench.scale import __main__ as scale
from bench.scale import ray_head
from bench.scale.ways import WAYS
from tests.support.cases import load
from tests.vllm_servers import sampled

_missing = scale.available()
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.long,
    pytest.mark.skipif(_missing is not None, reason=f"no namespaces can be made here: {_missing}"),
]


PROCESSES = load("vllm/cases/scale.toml")


@pytest.fixture(scope="module", params=PROCESSES)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What came of one way, every node of which has the plugin."""
    lacks = ray_head.missing() if WAYS[request.param].needs_ray else None
    if lacks is not None:
        pytest.skip(lacks)
    found = scale.run(request.param, tmp_path_factory.mktemp("scale"))
    assert not found["failed"]
    return found


def _counted(report: dict[str, Any]) -> tuple[Callable[..., float], Callable[..., float]]:
    """Return what reads a number of the replying node, and one of all nodes."""
    own = partial(sampled, report["metrics"][0])

    def everywhere(name: str, **labels: str) -> float:
        return own(name, **labels) + sampled(report["node_metrics"], name, **labels)

    return own, everywhere


def test_each_reply_is_right(report: dict[str, Any]) -> None:
    assert report["findings"] == []
    assert len(report["cells"]) == len(cells.cells())
    demanded = [c for c in report["cells"] if c["mode"] in ("required", "one call", "named")]
    assert sum(c["calls"] for c in demanded) > len(demanded) * 0.9
    assert report["bad"] == []


def test_the_metrics_add_up_over_processes_and_nodes(report: dict[str, Any]) -> None:
    own, everywhere = _counted(report)
    assert own("enforcer_requests_total") == len(report["cells"])
    read_by_us = [c for c in report["cells"] if c["route"] != "COMPLETIONS"]
    completed = own("enforcer_calls_total", outcome="completed")
    assert completed == sum(c["calls"] for c in read_by_us)
    assert own("enforcer_calls_total", outcome="dropped") == 0
    assert everywhere("enforcer_turns_failed_total") == 0
    # vLLM's own number, which it brings from all engines: a mask for each id that was sampled.
    assert everywhere("enforcer_mask_seconds_count") == own("vllm:generation_tokens_total") > 0
    assert everywhere("enforcer_grammar_cache_entries") > 0


def test_any_api_server_shows_the_same(report: dict[str, Any]) -> None:
    shown = {
        tuple(re.findall(r"^enforcer_(?!\w+_created).*$", text, re.MULTILINE))
        for text in report["metrics"]
    }
    assert len(shown) == 1


def test_each_process_is_counted_by_its_part(report: dict[str, Any]) -> None:
    texts = (report["metrics"][0], report["node_metrics"])
    for text, expected in zip(texts, PROCESSES[report["way"]], strict=True):
        found = {part: sampled(text, "enforcer_processes", part=part) for part in expected}
        assert found == expected


def test_no_folder_stays_behind(report: dict[str, Any]) -> None:
    # vLLM's main process of a second node may outlive SIGTERM, and is killed then.
    if len(WAYS[report["way"]].nodes) == 1:
        assert report["left"] == []


def test_a_prompt_that_another_server_has_read_is_taken_from_there(report: dict[str, Any]) -> None:
    hits = sampled(report["metrics"][0], "vllm:external_prefix_cache_hits_total")
    assert (hits > 0) is WAYS[report["way"]].is_split


def test_no_server_starts_over_an_engine_without_the_plugin(tmp_path: Path) -> None:
    found = scale.run("data-parallel-nodes", tmp_path, stock=1)
    assert "the server ended" in found["failed"]
    log = (tmp_path / "data-parallel-nodes-0.log").read_text()
    assert "engine 1 (by data-parallel rank) has not loaded the plugin" in log


def test_a_reply_server_without_the_plugin_is_told_by_the_doctor(tmp_path: Path) -> None:
    found = scale.run("prompts-apart", tmp_path, stock=1)
    assert found["findings"]  # nothing is enforced, though the prompts' server has the plugin
    assert found["bad"] == ["enforced requests"]


def test_vllm_itself_ends_in_pipeline_parallel_on_a_cpu(tmp_path: Path) -> None:
    """Once it does not, the way belongs to those above."""
    found = scale.run("pipeline-parallel", tmp_path, stock=0)
    assert found["failed"]
    log = (tmp_path / "pipeline-parallel-0.log").read_text()
    assert "req_index = model_runner_output.req_id_to_index[req_id]" in log
    assert "KeyError" in log
