"""The committed expectations: what is right stays right, and nothing is accepted wrongly."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from enforcer.engines import load
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.conformance.harness import DEVIATIONS, Verdict, all_cases, expected, is_step_back, judge
from tests.shared_data import shared

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a minute on a machine of one's own
def test_no_case_is_worse_than_recorded(kimi_vocabulary: Vocabulary) -> None:
    engine, before = load("machine", kimi_vocabulary), expected()
    back = []
    for case in all_cases():
        outcome = judge(case, engine, kimi_vocabulary)
        if is_step_back(before, case.id, outcome.verdict):
            back.append((case.id, outcome.verdict.value, outcome.detail))
    assert not back


def test_what_is_recorded_is_refused_and_never_wrong() -> None:
    harmless = {Verdict.REFUSED.value, Verdict.UNSATISFIABLE.value, Verdict.DEVIATION.value}
    assert {verdict for verdict, _ in expected().values()} <= harmless


def test_the_deviations_are_those_on_record() -> None:
    recorded = {name for name, (verdict, _) in expected().items() if verdict == "deviation"}
    assert recorded == DEVIATIONS


def test_the_page_has_the_scores() -> None:
    """Of what is recorded, and the cases that there are, none of which may be worse (above)."""
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- scores: .*? -->\n(?:\|.*\n){2}((?:\|.*\n)+)", page)
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in shown.splitlines()]
    figures = [tuple(int(cell.replace(",", "")) for cell in row[1:]) for row in rows]
    sources = ("maskbench", "draft2020-12")
    recorded = Counter((name.split("/")[0], verdict) for name, (verdict, _) in expected().items())
    found = Counter(case.id.split("/")[0] for case in all_cases())
    kinds = (Verdict.DEVIATION, Verdict.UNSATISFIABLE, Verdict.REFUSED)
    whole = tuple(found[source] for source in sources)
    less = [tuple(recorded[source, kind.value] for source in sources) for kind in kinds]
    right = tuple(
        found[source] - sum(each[at] for each in less) for at, source in enumerate(sources)
    )
    assert figures == [whole, right, *less, (0, 0)]


@pytest.mark.slow
def test_every_valid_schema_of_the_vendor_compiles(kimi_vocabulary: Vocabulary) -> None:
    engine = load("machine", kimi_vocabulary)
    for file in sorted(shared("cases", "walle").glob("*/valid.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            engine.check(compile_schema(json.loads(line)))
