"""The doctor on real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from enforcer.diagnosis import Status
from enforcer.doctor import server

if TYPE_CHECKING:
    from bench.demo.servers import Server


pytestmark = pytest.mark.vllm


def test_an_enforced_server_is_well_in_all_its_processes(tiny_server: Server) -> None:
    checks = list(server.checks(tiny_server.url))
    assert {check.name: check.found for check in checks if check.status is not Status.OK} == {}
    found = {check.name: check.found for check in checks}
    assert found["processes with the plugin"] == "1 front, 1 engine, no worker of its own"
    assert "FINISH_WITHIN_BUDGET is off" in found["the end of a call"]
    assert "versions" in found


def test_a_server_that_enforces_nothing_is_told(free_server: Server) -> None:
    checks = list(server.checks(free_server.url))
    assert checks[-1].status is Status.BAD
    assert "--tool-call-parser NAME_enforced" in checks[-1].mend


def test_a_server_with_the_logits_processor_is_well(processor_server: Server) -> None:
    checks = list(server.checks(processor_server.url))
    assert not [check for check in checks if check.status is Status.BAD]
    assert "LOGITS_PROCESSOR" in checks[1].found
    assert checks[1].caveat
    assert len(checks) == 7


def test_a_server_with_the_logits_processor_is_not_one_that_enforces_every_request(
    processor_server: Server,
) -> None:
    checks = list(server.checks(processor_server.url, require_all=True))
    assert [check.name for check in checks if check.status is Status.BAD] == [
        "which requests are enforced"
    ]
