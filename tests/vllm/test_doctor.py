"""The doctor on real servers."""

import pytest

from bench.demo.servers import Server
from enforcer.tools.doctor import CheckStatus, server
from enforcer.tools.verify.client import Endpoint
from tests.vllm_servers import sample

pytestmark = pytest.mark.vllm


def test_an_enforced_server_is_well_in_all_its_processes(tiny_server: Server) -> None:
    checks = list(server.checks(Endpoint.at(tiny_server.url)))
    assert {check.name: check.found for check in checks if check.status is not CheckStatus.OK} == {}
    found = {check.name: check.found for check in checks}
    assert found["processes with the plugin"] == "1 of the front end, 1 of the engine"
    assert "FINISH_WITHIN_BUDGET is off" in found["call at `max_tokens`"]
    assert "versions" in found


def test_its_refused_requests_are_told_by_their_ids(tiny_server: Server) -> None:
    def seen() -> list[float]:
        return [
            sample(tiny_server.url, "enforcer_tools_relaxed_total"),
            sample(tiny_server.url, "enforcer_turns_failed_total"),
            sample(tiny_server.url, "enforcer_calls_total", outcome="dropped"),
        ]

    before, refused = seen(), sample(tiny_server.url, "enforcer_requests_refused_total")
    written = len(tiny_server.log.read_text())
    list(server.checks(Endpoint.at(tiny_server.url)))
    assert seen() == before
    assert sample(tiny_server.url, "enforcer_requests_refused_total") == refused + 4
    lines = tiny_server.log.read_text()[written:].splitlines()
    told = [line for line in lines if "enforcer: refused" in line]
    assert len(told) == 4
    assert all("enforcer-doctor-" in line for line in told)


def test_a_server_that_enforces_nothing_is_told(free_server: Server) -> None:
    checks = list(server.checks(Endpoint.at(free_server.url)))
    assert checks[-1].status is CheckStatus.BAD
    assert "--tool-call-parser NAME_enforced" in checks[-1].mend


@pytest.mark.parametrize(("require_all", "bad"), [(False, []), (True, ["enforced requests"])])
def test_a_server_with_the_logits_processor_is_well_but_does_not_enforce_every_request(
    processor_server: Server, require_all: bool, bad: list[str]
) -> None:
    checks = list(server.checks(Endpoint.at(processor_server.url), require_all=require_all))
    assert [check.name for check in checks if check.status is CheckStatus.BAD] == bad
    assert "LOGITS_PROCESSOR" in checks[1].found
    assert bool(checks[1].caveat) is not require_all
    assert len(checks) == 7
