import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.judging.judge import Fault, Finding, ReplyVerdict
from enforcer.tools.verify import report

VERDICTS = st.builds(
    lambda finish, state, faults: ReplyVerdict(
        finish,
        complete=state != "cut",
        has_calls=state == "calls",
        empty=state == "empty",
        findings=tuple(Finding(f, "") for f in faults),
    ),
    st.sampled_from(["stop", "tool_calls", "others"]),
    st.sampled_from(["cut", "text", "calls", "empty"]),
    st.frozensets(st.sampled_from([f for f in Fault if f not in (Fault.FAILED, Fault.REFUSED)])),
)
UNANSWERED = st.sampled_from([Fault.FAILED, Fault.REFUSED]).map(
    lambda fault: ReplyVerdict(
        "others", complete=False, has_calls=False, findings=(Finding(fault, ""),)
    )
)


@given(st.lists(VERDICTS | UNANSWERED))
def test_counts_add_up(verdicts: list[ReplyVerdict]) -> None:
    row = report.count(verdicts)
    assert row.requests == sum(row.finish_reasons.values()) == len(verdicts)
    unanswered = row.faults[Fault.FAILED] + row.faults[Fault.REFUSED]
    assert row.complete + row.cut_off + unanswered == row.requests
    assert 0 <= row.successful_calls <= row.with_calls <= row.complete
    bad = sum(bool(v.faults & {Fault.UNDECLARED, Fault.SCHEMA}) for v in verdicts if v.has_calls)
    assert row.successful_calls == row.with_calls - bad
    wrong = [v for v in verdicts if v.findings]
    assert row.empty == sum(v.empty for v in verdicts)
    assert row.right == len(verdicts) - len(wrong)
    assert wrong or not row.with_calls or row.schema_accuracy == 1


REASONS = st.sampled_from(["stop", "tool_calls", "length", None])


@given(st.lists(st.tuples(REASONS, REASONS)))
def test_similarity_is_a_harmonic_mean(pairs: list[tuple[str | None, str | None]]) -> None:
    found = report.similarity(pairs)
    known = [(a == "tool_calls", b == "tool_calls") for a, b in pairs if a and b]
    assert found.compared == len(known)
    ours, theirs = (sum(side) for side in zip(*known, strict=True)) if known else (0, 0)
    both = sum(a and b for a, b in known)
    if both:
        precision, recall = both / ours, both / theirs
        assert found.f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert found.f1 == (None if not known else 0.0 if ours or theirs else 1.0)
