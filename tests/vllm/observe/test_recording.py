"""The numbers of a process, and the sum that `/metrics` shows."""

import errno
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import prometheus_client
import pytest
from prometheus_client import multiprocess

from bench.demo.servers import free_port
from enforcer.errors import ConfigurationError
from enforcer.vllm.observe import metric_defs, recording, stats
from tests.processes import run
from tests.vllm_servers import sample

ROOT = Path(__file__).parents[3]


def _fresh() -> Callable[[], stats.Recorder]:
    """Return the function of a process that has no recorder yet."""
    return cache(recording.recorder.__wrapped__)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the only process of a server."""
    monkeypatch.setenv(recording.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(recording, "recorder", _fresh())


def _shown() -> Any:
    registry = prometheus_client.CollectorRegistry()
    recording.show_in(registry)
    return registry


@pytest.mark.usefixtures("own")
def test_a_registry_shows_it_once() -> None:
    registry = _shown()
    recording.show_in(registry)
    text = prometheus_client.generate_latest(registry).decode()
    assert text.count("# TYPE enforcer_calls_total counter") == 1


@pytest.mark.usefixtures("own")
def test_what_several_api_servers_show_has_it_too(tmp_path: Path) -> None:
    class Collecting(multiprocess.MultiProcessCollector):
        def __init__(self, registry: Any, path: str) -> None:
            original = multiprocess.MultiProcessCollector.__init__
            recording.collecting(original, self, registry, path)

    registry = prometheus_client.CollectorRegistry()
    Collecting(registry, str(tmp_path))
    text = prometheus_client.generate_latest(registry).decode()
    assert text.count("# TYPE enforcer_calls_total counter") == 1


def test_without_a_folder_nothing_is_shown_and_nothing_breaks(monkeypatch: Any) -> None:
    monkeypatch.delenv(recording.FOLDER_VARIABLE, raising=False)
    _fresh()().add(metric_defs.MISSES)
    assert _shown().get_sample_value("enforcer_grammar_cache_misses_total") == 0


@pytest.mark.usefixtures("own")
def test_a_folder_that_cannot_be_made_is_told_at_startup(monkeypatch: Any, caplog: Any) -> None:
    """A container may let nothing be written, or its disk be full."""
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setenv(recording.FOLDER_VARIABLE, "/gone")
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with caplog.at_level(logging.WARNING):
        recording.install()
    assert recording.folder() is None
    assert ["No space left on device" in line for line in caplog.messages] == [True]
    _fresh()().add(metric_defs.MISSES)


def test_a_folder_that_is_gone_is_said_once(tmp_path: Path, monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setenv(recording.FOLDER_VARIABLE, str(tmp_path / "gone"))
    caplog.set_level(logging.WARNING)
    recorder = _fresh()
    recorder().add(metric_defs.MISSES)
    recorder().add(metric_defs.MISSES)
    assert [record.name for record in caplog.records] == ["vllm.enforcer"]


@pytest.fixture
def actor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be an actor of Ray's, which vLLM names as it names no process."""
    context = SimpleNamespace(get_actor_id=lambda: "0b9d4b1e")
    ray = SimpleNamespace(is_initialized=lambda: True, get_runtime_context=lambda: context)
    monkeypatch.setitem(sys.modules, "ray", ray)


def _running() -> dict[str, float | None]:
    read = partial(_shown().get_sample_value, "enforcer_processes")
    return {part: read({"part": part}) for part in metric_defs.PARTS}


@pytest.mark.usefixtures("own", "actor")
def test_an_actor_of_rays_is_a_worker_until_it_has_an_engine() -> None:
    recording.recorder()
    assert _running() == {"front": 0, "engine": 0, "worker": 1}
    recording.runs_engine()
    assert _running() == {"front": 0, "engine": 1, "worker": 0}


@pytest.mark.usefixtures("own")
def test_a_program_that_has_an_engine_of_its_own_is_a_front() -> None:
    recording.recorder()
    recording.runs_engine()
    assert _running() == {"front": 1, "engine": 0, "worker": 0}


@pytest.mark.usefixtures("own")
def test_a_folder_of_rays_name_is_not_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    recording.recorder()
    assert _running() == {"front": 1, "engine": 0, "worker": 0}


@pytest.mark.usefixtures("own", "actor")
def test_an_actor_on_another_host_makes_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(recording.FOLDER_VARIABLE, "/only/on/the/head")
    monkeypatch.setattr(tempfile, "mkdtemp", None)
    recording.install()
    assert recording.folder() is None


@pytest.mark.usefixtures("own")
def test_ray_hands_its_engines_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "VLLM_RAY_EXTRA_ENV_VARS_TO_COPY"
    monkeypatch.setenv(name, "MINE")
    recording.install()
    recording.install()
    assert os.environ[name] == "MINE,ENFORCER_METRICS_FOLDER,ENFORCER_PARSER"


@pytest.mark.usefixtures("own")
def test_a_node_without_an_api_server_shows_its_numbers_on_a_port() -> None:
    port = free_port()
    recording.serve.cache_clear()
    recording.install()
    recording.serve(port, "127.0.0.1")
    recording.serve(port, "127.0.0.1")
    recording.recorder().add(metric_defs.MISSES)
    assert sample(f"http://127.0.0.1:{port}", "enforcer_grammar_cache_misses_total") == 1
    recording.serve.cache_clear()
    with pytest.raises(ConfigurationError, match=f"ENFORCER_METRICS_PORT={port}"):
        recording.serve(port, "127.0.0.1")


# Like a server: the parent makes the folder, a spawned and a forked child find it.
FAMILY = """
import multiprocessing, os, sys
from enforcer.vllm.observe import metric_defs, metrics, recording

def count():
    recording.recorder().add(metric_defs.MISSES)

if __name__ == "__main__":
    recording.install()
    recording.install()
    count()
    for kind in ("spawn", "fork"):
        child = multiprocessing.get_context(kind).Process(target=count)
        child.start()
        child.join()
    from prometheus_client import REGISTRY
    print(REGISTRY.get_sample_value("enforcer_grammar_cache_misses_total"))
    print(os.environ[recording.FOLDER_VARIABLE])
    print(len(os.listdir(os.environ[recording.FOLDER_VARIABLE])))
"""


@pytest.mark.slow
def test_processes_share_a_folder_that_goes_with_the_first(tmp_path: Path) -> None:
    script = tmp_path / "family.py"
    script.write_text(FAMILY)
    environment = {k: v for k, v in os.environ.items() if k != recording.FOLDER_VARIABLE}
    environment["PYTHONPATH"] = str(ROOT)
    done = run(sys.executable, str(script), env=environment, check=True)
    total, folder, files = done.stdout.split()
    assert (total, files) == ("3", "3")
    assert not Path(folder).exists()
