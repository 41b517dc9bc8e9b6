"""The report for machines with an accelerator, made on one without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.gpu import __main__ as report
from bench.gpu import generation, masks

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.slow


def test_masks_are_timed_and_are_those_of_the_kernel() -> None:
    costs = [masks.measure("cpu", rows, repeats=1) for rows in (1, 3)]
    assert all(each.ours > 0 and each.kernel > 0 for each in costs)
    assert len(masks.table(costs).splitlines()) == 4


def test_a_difference_from_the_kernel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "illegal", lambda _, like: like.bool())
    with pytest.raises(RuntimeError, match="not masked as xgrammar's kernel"):
        masks.measure("cpu", 1, repeats=1)


def test_the_report_has_its_parts_and_no_bad_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.md"
    monkeypatch.setattr(masks, "ROWS", (1,))
    monkeypatch.setattr("sys.argv", ["gpu", "--device", "cpu", "--no-vllm", "--write", str(file)])
    assert report.main() == 0
    text = file.read_text(encoding="utf-8")
    assert text in capsys.readouterr().out
    assert "## Masks on 163,840 logits a row\n" in text
    assert "torch 2." in text
    assert "| Enforcer | 40 | 0 |" in text


def test_a_bad_call_of_an_enforced_turn_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(device: str, count: int, *, enforced: bool) -> generation.Turns:
        assert device == "cpu"
        return generation.Turns("Enforcer" if enforced else "transformers", count, 2, 0, 1.0)

    monkeypatch.setattr(masks, "ROWS", (1,))
    monkeypatch.setattr(generation, "measure", measure)
    monkeypatch.setattr("sys.argv", ["gpu", "--device", "cpu", "--no-vllm"])
    assert report.main() == 1
    assert "2 bad calls" in capsys.readouterr().err
