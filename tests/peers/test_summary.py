"""What is counted of outcomes, and which times."""

from typing import Any

import pytest

from bench.peers import summary
from bench.peers.pool import Measured


def outcome(
    case: str,
    verdict: str = "right",
    *,
    first: float = 0.001,
    masks: tuple[float, ...] = (0.00001,),
    in_any_order: bool = True,
) -> dict[str, Any]:
    return {
        "case": case,
        "verdict": verdict,
        "in_any_order": in_any_order,
        "detail": "because",
        "first_mask": first,
        "masks": list(masks),
    }


def hung(case: str) -> dict[str, Any]:
    return {"case": case, "verdict": "timed out", "detail": "more than 10 s"}


def measured(*outcomes: dict[str, Any]) -> Measured:
    return Measured({"version": "1"}, list(outcomes), 120.6)


def test_verdicts_are_counted_each_by_its_name() -> None:
    found = summary.column(
        measured(outcome("a"), outcome("b", "wrongly accepted"), hung("c"), outcome("d"))
    )
    assert {name: found[name] for name in list(found)[:6]} == {
        "right": "2",
        "refused": "0",
        "wrongly rejected": "0",
        "wrongly accepted": "1",
        "timed out": "1",
        "crashed": "0",
    }
    assert (found["memory, MiB"], found["version"]) == ("121", "1")


def test_right_in_any_order_is_right_in_the_given_one_first() -> None:
    found = summary.column(
        measured(outcome("a"), outcome("b", in_any_order=False), outcome("c", "wrongly rejected"))
    )
    assert found["right in any order"] == "1"


def test_what_was_refused_has_no_times() -> None:
    found = summary.times(
        [outcome("a", first=0.002), outcome("b", "refused", first=0.0, masks=()), hung("c")]
    )
    assert (found["first mask, ms, p50"], found["a mask, µs, mean"]) == ("2", "10.0")
    assert summary.times([hung("a")]) == {}


def test_shared_times_are_of_what_all_walked() -> None:
    ours = measured(outcome("a"), outcome("b", masks=(1.0,)), outcome("c", masks=(2.0,)))
    theirs = measured(
        outcome("a", masks=(0.00003,)),
        outcome("b", "refused", first=0.0, masks=()),
        outcome("c", "wrongly rejected"),
    )
    assert summary.walked({"enforcer": ours, "llguidance": theirs}) == {"a"}
    text = summary.tables(3, {"enforcer": ours, "llguidance": theirs})
    assert "| the 1 that all take | the Enforcer | llguidance |" in text
    assert "| a mask, µs, mean | 10.0 | 30.0 |" in text


def test_a_missing_engine_has_a_column_that_says_why() -> None:
    text = summary.tables(1, {"enforcer": measured(outcome("a")), "xgrammar": "No module"})
    assert "| version | 1 | not installed: No module |" in text
    assert "| right | 1 | - |" in text


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100)])
def test_quantiles(share: float, value: int) -> None:
    assert summary.quantile(range(1, 101), share) == value
