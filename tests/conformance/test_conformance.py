"""The committed expectations: what is right stays right, and nothing is accepted wrongly."""

from __future__ import annotations

from enforcer.engines import load
from tests.conformance.harness import Verdict, all_cases, expected, is_step_back, judge

SAMPLE = 12  # every so-many-th case; `python -m tests.conformance` runs them all


def test_sample_of_the_cases_is_no_worse_than_recorded(kimi_vocabulary) -> None:
    engine, before = load("llguidance", kimi_vocabulary), expected()
    back = []
    for case in list(all_cases())[::SAMPLE]:
        outcome = judge(case, engine, kimi_vocabulary)
        if is_step_back(before, case.id, outcome.verdict):
            back.append((case.id, outcome.verdict.value, outcome.detail))
    assert not back


def test_nothing_recorded_is_a_crash_or_a_wrong_reject() -> None:
    bad = {Verdict.CRASH.value, Verdict.WRONG_REJECT.value}
    assert not [name for name, (verdict, _) in expected().items() if verdict in bad]


def test_only_listed_reasons_excuse_a_wrong_accept() -> None:
    """`format: regex` is an annotation: the syntax of patterns is not a regular language."""
    accepted = [x for x in expected().values() if x[0] == Verdict.WRONG_ACCEPT.value]
    assert len(accepted) <= 3
