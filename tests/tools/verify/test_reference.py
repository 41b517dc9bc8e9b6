from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.tools.verify import reference
from enforcer.tools.verify.reference import ReferenceRun
from tests.support.cases import parametrized
from tests.support.json_lines import write


def choices(reason: str) -> dict[str, Any]:
    return {"response": {"choices": [{"finish_reason": reason}]}}


@parametrized("tools/verify/cases/reference.toml", "forms")
def test_a_reference_has_several_forms(tmp_path: Path, lines: list[Any]) -> None:
    reasons = reference.read(write(tmp_path / "r.jsonl", *lines)).reasons
    assert [reasons.get(at) for at in range(3)] == ["stop", "tool_calls", None]


def test_a_reference_without_an_answer(tmp_path: Path) -> None:
    lines = [{"response": {"error": "x"}}, {"finish_reason": None}, {"finish_reason": "abort"}]
    file = write(tmp_path / "r.jsonl", *lines)
    assert reference.read(file) == ReferenceRun({0: None, 1: None, 2: None})


@pytest.mark.parametrize("line", [{}, 7, {"finish_reason": 3}, {"data_index": 0}, {"results": 3}])
def test_what_is_no_reference_is_told(tmp_path: Path, line: Any) -> None:
    with pytest.raises(ConfigurationError):
        reference.read(write(tmp_path / "r.jsonl", line))


def report(measured: int, requests: int, *results: dict[str, Any]) -> dict[str, Any]:
    return {"requests": requests, "measured": measured, "results": list(results)}


def test_an_interrupted_report_says_what_it_has(tmp_path: Path) -> None:
    result = {"data_index": 2, "finish_reason": "stop"}
    file = write(tmp_path / "part.json", report(1, 3, result))
    assert reference.read(file) == ReferenceRun({1: "stop"}, interrupted=(1, 3))
    file = write(tmp_path / "whole.json", report(1, 1, result))
    assert reference.read(file).interrupted is None


def test_schemas_of_a_report_are_no_recorded_requests(tmp_path: Path) -> None:
    schema = {"case": "schemas.jsonl:1", "finish_reason": "tool_calls"}
    result = {"data_index": 2, "finish_reason": "stop"}
    file = write(tmp_path / "report.json", report(2, 2, schema, result))
    assert reference.read(file).reasons == {1: "stop"}
