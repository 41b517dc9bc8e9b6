"""The committed expectations: what is right stays right, and nothing is accepted wrongly."""

from __future__ import annotations

import json

from shared_data import shared

from enforcer.engines import load
from enforcer.errors import EnforcerError
from enforcer.schema import compile_schema
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


def test_every_valid_schema_of_the_vendor_compiles(kimi_vocabulary):
    """All but a `minLength` of 10^12, which the engine's repetition cannot count to."""
    engine, refused = load("llguidance", kimi_vocabulary), []
    for file in sorted(shared("cases", "walle").glob("*/valid.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                engine.check(compile_schema(json.loads(line)))
            except EnforcerError:
                refused.append(line)
    assert [json.loads(x) for x in refused] == [{"minLength": 999999999999, "type": "string"}]
