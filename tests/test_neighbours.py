"""A step of the neighbours' benchmark lasts as long as a device's."""

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.v1.worker.cpu_worker import CPUWorker

from bench.demo.servers import ENFORCED
from bench.neighbours import MASKS_VARIABLE, STEP_VARIABLE
from bench.neighbours.__main__ import on_device
from bench.neighbours.device_step import DeviceWorker


def test_ids_come_late_and_masks_are_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    came: list[Any] = []

    def execute(_: Any, what: Any) -> None:
        came.append(what)

    def sample(_: Any, masks: Any) -> float:
        came.append(masks)
        return time.monotonic()

    monkeypatch.setattr(CPUWorker, "load_model", lambda _: None)
    monkeypatch.setattr(CPUWorker, "execute_model", execute)
    monkeypatch.setattr(CPUWorker, "sample_tokens", sample)
    monkeypatch.setenv(STEP_VARIABLE, "0.2")
    monkeypatch.setenv(MASKS_VARIABLE, str(tmp_path / "masks"))
    worker = DeviceWorker.__new__(DeviceWorker)
    worker.load_model()
    begun = time.monotonic()
    assert worker.execute_model("scheduled") is None
    time.sleep(0.1)  # as long as masks take
    sampled = worker.sample_tokens("masks")
    assert sampled - begun >= 0.2
    (masks,) = map(float, (tmp_path / "masks").read_text().split())
    assert 0.1 <= masks <= sampled - begun
    assert came == ["scheduled", "masks"]


def test_a_server_with_such_steps_has_that_worker() -> None:
    setting = on_device(ENFORCED, 0.025, Path("masks"))
    name = setting.flags[setting.flags.index("--worker-cls") + 1]
    module, _, kind = name.rpartition(".")
    assert (module, kind) == (DeviceWorker.__module__, DeviceWorker.__name__)
    assert dict(setting.environment) == {STEP_VARIABLE: "0.025", MASKS_VARIABLE: "masks"}
