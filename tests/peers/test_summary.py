"""What is counted of outcomes, and which times."""

from __future__ import annotations

from typing import Any

import pytest

from bench.peers import summary
from bench.peers.cases import Case, Sample
from bench.peers.pool import Measured

READY = {"versions": {"x": "1"}, "vocabulary": "small", "ids": 300, "mib": 10.4}


def outcome(
    case: str,
    verdict: str = "right",
    *,
    first: float = 0.001,
    masks: tuple[float, ...] = (0.00001,),
    in_any_order: bool = True,
    names: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "case": case,
        "verdict": verdict,
        "in_any_order": in_any_order,
        "detail": "because",
        "first_mask": first,
        "masks": list(masks),
        "unenforced": list(names),
    }


def hung(case: str) -> dict[str, Any]:
    return {"case": case, "verdict": "timed out", "detail": "more than 10 s"}


def results(**outcomes: Any) -> dict[str, Any]:
    names = [each["case"] for each in next(iter(outcomes.values()))]
    sample = Sample([Case(name, {}, ("{}",), ("[]", "1"), ()) for name in names], 3, 4)
    measured = {name: Measured(READY, list(each), 20.6) for name, each in outcomes.items()}
    return summary.results(sample, 10.0, "a machine", measured)


def test_verdicts_are_counted_each_by_its_name() -> None:
    found = results(
        enforcer=[outcome("a"), outcome("b", "wrongly accepted"), hung("c"), outcome("d")]
    )["engines"]["enforcer"]
    assert found["verdicts"] == {
        "right": 2,
        "refused": 0,
        "wrongly rejected": 0,
        "wrongly accepted": 1,
        "timed out": 1,
        "crashed": 0,
    }
    assert found["not right"] == {
        "b": "wrongly accepted: because",
        "c": "timed out: more than 10 s",
    }
    assert found["memory, MiB"] == {"ready": 10, "peak": 21}


def test_right_in_any_order_is_right_in_the_given_one_first() -> None:
    found = results(
        enforcer=[
            outcome("a"),
            outcome("b", in_any_order=False),
            outcome("c", "wrongly rejected", in_any_order=True),
        ]
    )
    assert found["engines"]["enforcer"]["right in any order"] == 1


def test_a_wrong_accept_that_was_named_is_counted() -> None:
    found = results(
        grid=[
            outcome("a", "wrongly accepted", names=("oneOf",)),
            outcome("b", "wrongly accepted"),
            outcome("c", names=("format",)),
        ]
    )
    assert found["engines"]["grid"]["wrongly accepted, but named"] == 1


def test_what_was_refused_has_no_times() -> None:
    found = results(
        enforcer=[
            outcome("a", first=0.002),
            outcome("b", "refused", first=0.0, masks=()),
            hung("c"),
        ]
    )["engines"]["enforcer"]
    assert found["first mask, ms"]["count"] == 1
    assert found["first mask, ms"]["p50"] == 2.0
    assert found["mask, us"]["mean"] == 10.0


def test_shared_times_are_of_what_all_walked() -> None:
    found = results(
        enforcer=[outcome("a"), outcome("b", masks=(1.0,)), outcome("c", masks=(2.0,))],
        llguidance=[
            outcome("a", masks=(0.00003,)),
            outcome("b", "refused", first=0.0, masks=()),
            outcome("c", "wrongly rejected"),
        ],
    )["walked by all"]
    assert found["schemas"] == 1
    means = {name: each["mask, us"]["mean"] for name, each in found["engines"].items()}
    assert means == {"enforcer": 10.0, "llguidance": 30.0}


def test_a_missing_engine_says_why() -> None:
    sample = Sample([Case("a", {}, ("{}",), (), ())])
    measured: dict[str, Measured | str]
    measured = {"enforcer": Measured(READY, [outcome("a")]), "grid": "No module named 'grid'"}
    found = summary.results(sample, 10.0, "a machine", measured)
    assert found["engines"]["grid"] == {"missing": "No module named 'grid'"}
    assert list(found["walked by all"]["engines"]) == ["enforcer"]


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100)])
def test_quantiles(share: float, value: int) -> None:
    assert summary.quantile(range(1, 101), share) == value


def test_a_curve_rises_through_its_percentiles() -> None:
    found = summary.spread([n / 1e6 for n in range(1000)], 1e6, curve=True)
    assert found["curve"] == sorted(found["curve"])
    assert found["curve"][summary.SHARES.index(0.99)] == found["p99"] == 990
    assert found["curve"][-1] == found["max"] == 999
