"""Which tools slow masks are of, in the log."""

from __future__ import annotations

import logging
import time

import pytest

from enforcer.vllm.observe import metrics
from enforcer.vllm.observe.slow_masks import SlowMasks

MS = 1_000_000


class Masks:
    """Slow masks by a clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self._lines: list[dict[str, str]] = []
        self._masks = SlowMasks(lambda **fields: self._lines.append(fields))

    def see(self, milliseconds: int, tool: str, request: str) -> None:
        self._masks.see(milliseconds * MS, lambda: tool, request)

    def told(self) -> list[tuple[str, ...]]:
        """Return what has been told since, in the order of a line's fields."""
        told = [tuple(each.values()) for each in self._lines]
        self._lines.clear()
        return told


@pytest.fixture
def masks(monkeypatch: pytest.MonkeyPatch) -> Masks:
    return Masks(monkeypatch)


def test_the_first_slow_mask_is_told_and_a_later_one_a_minute_later(masks: Masks) -> None:
    masks.see(4, "quick", "r0")
    assert not masks.told()
    masks.see(7, "slow", "r1")
    assert masks.told() == [("slow", "7.0 ms", "1", "r1")]
    for request, milliseconds in (("r2", 9), ("r3", 12), ("r4", 6), ("r5", 4)):
        masks.see(milliseconds, "slow", request)
    masks.now += 59
    masks.see(5, "slow", "r6")
    assert not masks.told()
    masks.now += 1
    masks.see(4, "quick", "r7")
    assert not masks.told()
    masks.see(8, "other", "r8")
    assert masks.told() == [("other", "8.0 ms", "5", "r8")]
    masks.now += 60
    masks.see(8, "other", "r9")
    assert masks.told() == [("other", "8.0 ms", "1", "r9")]


def test_a_line_names_tool_and_request(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        SlowMasks(metrics.log_slow_masks).see(12_340_000, lambda: "search", "chatcmpl-7")
        SlowMasks(metrics.log_slow_masks).see(12_340_000, str, "chatcmpl-8")
    fields = 'took="12.3 ms" masks="1" request='
    assert [record.getMessage() for record in caplog.records] == [
        f'enforcer: slow masks tool="search" {fields}"chatcmpl-7"',
        f'enforcer: slow masks {fields}"chatcmpl-8"',
    ]
