"""Which tools slow masks are of, in the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from enforcer.vllm.observe import metrics
from enforcer.vllm.observe.slow_masks import SlowMasks, Told

if TYPE_CHECKING:
    import pytest

MS = 1_000_000


class Masks:
    def __init__(self) -> None:
        self.now = 1000.0
        self.told: list[Told] = []
        self._masks = SlowMasks(self.told.append, lambda: self.now)

    def see(self, milliseconds: int, tool: str, request: str) -> None:
        self._masks.see(milliseconds * MS, lambda: tool, request)


def test_the_first_slow_mask_is_told_and_the_next_a_minute_later() -> None:
    masks = Masks()
    masks.see(4, "quick", "r0")
    assert not masks.told
    masks.see(7, "slow", "r1")
    assert masks.told.pop() == Told("slow", "r1", 7 * MS, 1, 7 * MS)
    for request, milliseconds in (("r2", 9), ("r3", 12), ("r4", 6), ("r5", 4)):
        masks.see(milliseconds, "slow", request)
    masks.see(20, "slower for once", "r6")
    masks.now += 59
    masks.see(5, "slow", "r7")
    assert not masks.told
    masks.now += 1
    masks.see(8, "other", "r8")
    assert masks.told.pop() == Told("slow", "r3", 12 * MS, 4, 32 * MS)
    masks.now += 60
    masks.see(8, "other", "r9")
    assert masks.told == [Told("other", "r9", 8 * MS, 1, 8 * MS)]


def test_what_was_slow_long_ago_is_not_told_of_now() -> None:
    masks = Masks()
    for _ in range(40):
        masks.see(9, "long ago", "r1")
    masks.now += 7200
    masks.see(30, "now", "r2")
    assert [each.masks for each in masks.told] == [1, 1]
    assert masks.told[1] == Told("now", "r2", 30 * MS, 1, 30 * MS)


def test_tools_beyond_a_hundred_are_not_kept() -> None:
    masks = Masks()
    masks.see(5, "first", "r")
    for at in range(101):
        masks.see(10 if at == 100 else 6, f"tool_{at}", "r")
    masks.now += 60
    masks.see(6, "tool_3", "r")
    assert masks.told[1] == Told("tool_3", "r", 6 * MS, 2, 12 * MS)


def test_a_line_names_tool_and_request(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        metrics.log_slow_masks(Told("search", "chatcmpl-7", 12_340_000, 41, 402 * MS))
        metrics.log_slow_masks(Told("", "chatcmpl-8", 5 * MS, 1, 5 * MS))
    begin = 'enforcer: slow masks tool="search" longest="12.3 ms" masks="41" '
    assert [record.getMessage() for record in caplog.records] == [
        begin + 'spent="402 ms" request="chatcmpl-7"',
        'enforcer: slow masks longest="5.0 ms" masks="1" spent="5 ms" request="chatcmpl-8"',
    ]
