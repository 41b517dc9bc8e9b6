"""The report for machines with an accelerator, made on one without."""

from argparse import Namespace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.gpu import __main__ as report
from bench.gpu import generation, masks

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


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(1800)  # two servers, on a machine with other work
def test_the_half_that_serves_tells_ids_and_gaps_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    from bench import throughput

    monkeypatch.setattr(throughput, "_IDS", 12)
    monkeypatch.setattr(masks, "ROWS", (1,))
    empty = generation.Turns("Enforcer", 0, 0, 0, 1.0)
    monkeypatch.setattr(generation, "measure", lambda *_, **__: empty)
    failed: list[str] = []
    asked = Namespace(
        device="cpu",
        no_vllm=False,
        only_vllm=False,
        way=["V1"],
        in_flight=[1, 2],
        rounds=1,
        known=None,
        whole=False,
        large=False,
        flags="",
    )
    text = "\n".join(report.sections(asked, failed=failed))
    assert not failed
    assert "### V1\n" in text
    for heading in ("ids a second", "ms to the next id, p50 and p99"):
        (head, _, *rows) = text[text.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
        assert head.endswith("| vLLM | Enforcer | Enforcer / vLLM |")
        loads = [f"{choice}, {n} in flight" for choice in throughput.CHOICES for n in (1, 2)]
        assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == loads
        assert all(float(row.split(" | ")[1].partition(",")[0]) > 0 for row in rows)
