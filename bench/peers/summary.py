"""From outcomes to figures.

Owns: what is counted, means and percentiles, what is kept between runs. Must not know: processes,
tables.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.peers.judge import Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from bench.peers.cases import Sample
    from bench.peers.pool import Measured

RESULTS = Path(__file__).with_name("results.json")
COUNTS = tuple(verdict.value for verdict in Verdict)
# Engines that took a schema and every call that fits it have walked the same texts.
_WALKED = {Verdict.RIGHT.value, Verdict.WRONG_ACCEPT.value}
# Places of a curve: finer where it is steep.
SHARES = (
    *(0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65),
    *(0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995),
    *(0.997, 0.998, 0.999, 1.0),
)
_PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def quantile(ordered: Sequence[float], share: float) -> float:
    """Give the value that a share of the values does not exceed; they are in order."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float], unit: float, *, curve: bool) -> dict[str, Any]:
    """Give how many, mean, percentiles, the largest and perhaps the curve, in parts of a second.

    Args:
        values: in seconds.
        unit: parts of a second that the figures are in.
        curve: whether to give the values at `SHARES` too.

    """
    if not values:
        return {"count": 0}
    ordered = sorted(value * unit for value in values)
    found: dict[str, Any] = {"count": len(ordered), "mean": _short(statistics.fmean(ordered))}
    found |= {name: _short(quantile(ordered, share)) for name, share in _PERCENTILES.items()}
    found["max"] = _short(ordered[-1])
    if curve:
        found["curve"] = [_short(quantile(ordered, share)) for share in SHARES]
    return found


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def times(
    outcomes: Sequence[Mapping[str, Any]], among: Container[str] | None = None, *, curve: bool
) -> dict[str, Any]:
    """Give the times of an engine, of all schemas that it compiled or of some.

    The first mask has no time where a schema was refused, crashed or timed out.
    """
    taken = [
        each
        for each in outcomes
        if each.get("first_mask") and (among is None or each["case"] in among)
    ]
    masks = [seconds for each in taken for seconds in each["masks"]]
    return {
        "first mask, ms": spread([each["first_mask"] for each in taken], 1e3, curve=curve),
        "mask, us": spread(masks, 1e6, curve=curve),
    }


def engine(measured: Measured) -> dict[str, Any]:
    """Give the figures of one engine."""
    outcomes = measured.outcomes
    counts = Counter(each["verdict"] for each in outcomes)
    accepted = [each for each in outcomes if each["verdict"] == Verdict.WRONG_ACCEPT.value]
    return {
        "versions": measured.ready["versions"],
        "verdicts": {name: counts[name] for name in COUNTS},
        "right in any order": sum(
            each["verdict"] == Verdict.RIGHT.value and each["in_any_order"] for each in outcomes
        ),
        "wrongly accepted, but named": sum(bool(each["unenforced"]) for each in accepted),
        **times(outcomes, curve=True),
        "memory, MiB": {"ready": round(measured.ready["mib"]), "peak": round(measured.peak)},
        "not right": {
            each["case"]: f"{each['verdict']}: {each['detail']}"[:120]
            for each in outcomes
            if each["verdict"] != Verdict.RIGHT.value
        },
    }


def results(
    sample: Sample, seconds: float, machine: str, measured: Mapping[str, Measured | str]
) -> dict[str, Any]:
    """Give everything that is kept.

    Args:
        sample: what was sent.
        seconds: that a case might take.
        machine: the machine, in words.
        measured: by the name of the engine; a text says why there is nothing.

    """
    there = {name: each for name, each in measured.items() if not isinstance(each, str)}
    some = next(iter(there.values()))
    walked = [
        {each["case"] for each in one.outcomes if each["verdict"] in _WALKED}
        for one in there.values()
    ]
    shared = set.intersection(*walked)
    return {
        "machine": machine,
        "vocabulary": {"name": some.ready["vocabulary"], "ids": some.ready["ids"]},
        "schemas": len(sample.cases),
        "calls": {
            "valid": sum(len(case.valid) for case in sample.cases),
            "invalid": sum(len(case.invalid) for case in sample.cases),
            "disputed": sample.disputed,
        },
        "unjudged schemas": sample.unjudged,
        "time-out, s": seconds,
        "engines": {
            name: {"missing": each} if isinstance(each, str) else engine(each)
            for name, each in measured.items()
        },
        "walked by all": {
            "schemas": len(shared),
            "engines": {
                name: times(each.outcomes, shared, curve=False) for name, each in there.items()
            },
        },
    }


def kept() -> dict[str, Any]:
    """Read the results of the run that the docs show."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def keep(found: Mapping[str, Any]) -> None:
    """Keep results for the docs."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
