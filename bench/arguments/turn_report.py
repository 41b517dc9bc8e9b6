"""Table of the times of whole turns by format and engine, with ratios of means.

A format that xgrammar has no structural tag for is compared with Hermes' in the same run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bench.arguments.walks import statistics
from bench.arguments.whole_turns import OURS, PEER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.arguments.whole_turns import Measured, Times

BASE = "hermes"
_COLUMNS = ("mask", "in args", "around", "accept", "in args", "around")
_WIDTHS = (20, 9, 9, 20, 9, 9)


def report(measured: Sequence[Measured]) -> str:
    """Write what was counted of each format, then the table."""
    base = next((each.times[OURS] for each in measured if each.name == BASE), None)
    lines = [_counted(each) for each in measured]
    lines += ["", "us of a token: mean / p50 / p99, and means in arguments and around them"]
    lines.append(_line("", _COLUMNS))
    for each in measured:
        for engine, times in each.times.items():
            lines.append(_line(f"{each.name}, {engine}", _cells(times)))
        ours, peer = each.times[OURS], each.times.get(PEER)
        if peer is not None:
            lines.append(_line(f"  ratio to {PEER}", _ratios(ours, peer)))
        elif base is not None:
            lines.append(_line(f"  ratio to {BASE}", _ratios(ours, base)))
    return "\n".join(lines)


def _counted(measured: Measured) -> str:
    inside, around = (len(measured.times[OURS].masks[place]) for place in (True, False))
    refused = "".join(f", {count} {what}" for what, count in measured.refused.items())
    return (
        f"{measured.name}: {measured.tools} tools, {measured.turns} turns, "
        f"{inside + around} masks, {inside} of them in arguments; refused: {refused[2:] or 'none'}"
    )


def _columns(times: Times) -> Iterator[list[float]]:
    """Yield the times of each column: all tokens, those in arguments, those around them."""
    for found in (times.masks, times.accepts):
        yield found[True] + found[False]
        yield found[True]
        yield found[False]


def _cells(times: Times) -> Iterator[str]:
    for at, column in enumerate(_columns(times)):
        if not column:
            yield "-"
        else:
            yield f"{np.mean(column):.1f}" if at % 3 else statistics(column)


def _ratios(times: Times, other: Times) -> Iterator[str]:
    for ours, theirs in zip(_columns(times), _columns(other), strict=True):
        yield f"{np.mean(ours) / np.mean(theirs):.2f}" if ours and theirs else "-"


def _line(name: str, cells: Sequence[str] | Iterator[str]) -> str:
    row = (f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return f"{name:<26}" + "".join(row)
