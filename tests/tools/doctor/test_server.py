import json
import re
import socketserver
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from enforcer.request import carrier, spec_text
from enforcer.request.carrier import REQUIRES
from enforcer.tools.doctor import CheckResult, CheckStatus, probes, server
from enforcer.tools.doctor.answers import processes
from enforcer.tools.verify.client import Endpoint
from enforcer.vllm.config import names
from tests.fake_server import call, reply, serving
from tests.support.cases import parametrized

OK, NOTE, BAD = CheckStatus.OK, CheckStatus.NOTE, CheckStatus.BAD


def refused(error: str, path: str = "$.tools[0]") -> tuple[int, Any]:
    return 400, {"error": {"message": f"{error}: no (at `{path}`)", "code": 400}}


# What each mode of ENFORCER_ON_UNSUPPORTED refuses, by the name of the first tool.
# What no mode lets in is the format that `never_served` adds.
FORMAT = refused("UnsatisfiableSchema", "$.response_format.json_schema.schema")
ALWAYS = {"twice": refused("InvalidTools"), "impossible": FORMAT, "unenforceable": FORMAT}
RELAX = {**ALWAYS, "impossible": refused("UnsatisfiableSchema")}
REFUSE = {**RELAX, "unenforceable": refused("UnsupportedSchema")}
PICK = '{"colour": "violet", "sure": false}'
PICKED = ("tool_calls", [call("pick_colour", PICK)])


def answers(
    refusals: dict[str, Any] = REFUSE,
    pick: tuple[str, list[dict[str, Any]]] = PICKED,
    quiet: tuple[str, list[dict[str, Any]] | tuple[Any, ...]] = ("stop", ()),
) -> Callable[..., tuple[int, Any]]:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" not in body:
            return reply(body, quiet[0], "Here.", quiet[1])
        name = body["tools"][0]["function"]["name"]
        if name != "pick_colour":
            return refusals.get(name) or reply(body, "length", content="Hello")
        return reply(body, pick[0], None, pick[1])

    return answer


def shown(engines: int = 1, **counts: Any) -> str:
    lines = [
        f'vllm:num_requests_running{{engine="{n}",model_name="toy"}} 0.0' for n in range(engines)
    ]
    lines += [f'enforcer_processes{{part="{part}"}} {n}.0' for part, n in counts.items()]
    return "\n".join(lines) + "\n"


def statuses(answer: Callable[..., Any], **options: Any) -> list[CheckStatus]:
    with serving(answer, **options) as fake:
        return [check.status for check in server.checks(Endpoint.at(fake.url))]


def checked(
    answer: Callable[..., Any], more: str = "", *, require_all: bool = False
) -> list[CheckResult]:
    """Return the checks of a server whose metrics show that the plugin is loaded."""
    with serving(answer, metrics=shown(front=1, engine=1) + more) as fake:
        return list(server.checks(Endpoint.at(fake.url), require_all=require_all))


def caveats(checks: list[CheckResult]) -> list[str]:
    return [check.caveat for check in checks if check.caveat]


def test_an_enforced_server() -> None:
    assert statuses(answers(), metrics=shown(front=1, engine=1, worker=0)) == [OK] * 9


REQUIRED_OR_NOT = pytest.mark.parametrize(("require_all", "status"), [(False, NOTE), (True, BAD)])


@pytest.mark.slow
@REQUIRED_OR_NOT
def test_the_metrics_tell_of_a_server_whose_own_constraints_keep_it_from_being_asked(
    require_all: bool, status: CheckStatus
) -> None:
    """vLLM's own tag and ours cannot stand in one request; both refuse a name declared twice."""
    told = 'enforcer_api_servers{enforces="on_request"} 1.0\n'
    checks = checked(answers({}), told, require_all=require_all)
    assert checks[1].status is status
    assert "only those that ask for it" in checks[1].found


@REQUIRED_OR_NOT
def test_a_server_in_shadow_mode_is_not_probed(require_all: bool, status: CheckStatus) -> None:
    """It would count the probes as requests that enforcement changes."""
    told = 'enforcer_api_servers{enforces="nothing"} 1.0\n'
    checks = checked(answers({}), told, require_all=require_all)
    assert [check.status for check in checks] == [OK, status]
    assert "shadow mode" in checks[1].found


def test_the_probe_of_a_name_declared_twice_asks_for_no_call() -> None:
    """A request that may call has vLLM's own tag under a strict level, whose refusal is ours."""
    assert probes.twice("toy")["tool_choice"] == "none"


@pytest.mark.parametrize(
    "refusal", [None, (400, {"error": "bad request"}), (500, {"error": "InvalidTools"})]
)
def test_an_unrefusing_server_is_unenforced(refusal: tuple[int, dict[str, Any]] | None) -> None:
    assert statuses(answers({"twice": refusal})) == [OK, BAD]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refusals", "word", "done"), [(RELAX, "relax", "relaxed"), (ALWAYS, "isolate", "isolated")]
)
def test_inexact_schemas_are_enforced_too(refusals: dict[str, Any], word: str, done: str) -> None:
    checks = checked(answers(refusals))
    assert [check.status for check in checks] == [OK, OK, NOTE] + [OK] * 6
    assert f"ENFORCER_ON_UNSUPPORTED={word}" in checks[2].found
    assert caveats(checks) == [f"schemas that cannot be enforced exactly are {done}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ({"unenforceable": (503, {"error": {"message": "no room"}})}, "no room"),
        ({"impossible": (503, {"error": {"message": "no room"}})}, "no room"),
        ({"unenforceable": None}, "that no text fits"),
        ({"impossible": None}, "that no text fits"),
        ({"unenforceable": refused("UnsatisfiableSchema")}, "did not answer as the Enforcer does"),
    ],
)
def test_a_probe_that_fails_is_told(failing: dict[str, Any], said: str) -> None:
    with serving(answers({**ALWAYS, **failing})) as fake:
        check = list(server.checks(Endpoint.at(fake.url)))[2]
    assert check.status is BAD
    assert said in check.found


@pytest.mark.slow
@pytest.mark.parametrize(
    "calls",
    [
        [call("pick_colour", '{"colour": "red", "sure": true}')],
        [call("img_gen", "{}")],
        [call("pick_colour", PICK, index=1)],
        [call("pick_colour", PICK), call("pick_colour", PICK, index=1)],
        [],
    ],
)
def test_a_demanded_call_that_is_wrong(calls: list[dict[str, Any]]) -> None:
    assert statuses(answers(pick=("tool_calls", calls))) == [OK, OK, OK, BAD, BAD, OK, OK, OK, NOTE]


def test_a_demanded_call_that_was_cut_off() -> None:
    assert statuses(answers(pick=("length", []))) == [OK, OK, OK, NOTE, NOTE, OK, OK, OK, NOTE]


def test_a_call_without_tools() -> None:
    quiet = ("tool_calls", [call("img_gen", "{}", index=2)])
    assert statuses(answers(quiet=quiet)) == [OK] * 5 + [BAD, OK, OK, NOTE]


@pytest.mark.parametrize(
    ("metrics", "status"),
    [
        (None, NOTE),
        ("up 1\n", NOTE),
        (shown(), BAD),
        (shown(front=2, engine=1, worker=8), OK),
        (shown(front=1, engine=1, worker=0, engines=2), NOTE),
    ],
)
def test_processes_that_have_the_plugin(metrics: str | None, status: CheckStatus) -> None:
    assert processes(metrics).status is status


def test_a_port_of_another_protocol_is_no_server_that_is_missing() -> None:
    with serving(answers()) as fake:
        meant = fake.url.removeprefix("http://")
        [check] = server.checks(Endpoint.at(f"https://{meant}"))
    assert f"do you mean http://{meant}" in check.found
    assert check.mend == "mend --url, or what answers there"
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as other:
        threading.Thread(target=other.handle_request, daemon=True).start()  # hangs up
        [check] = server.checks(Endpoint.at(f"http://127.0.0.1:{other.server_address[1]}"))
    assert check.status is BAD
    assert "answers, but not in http: " in check.found
    assert "do you mean https://127.0.0.1:" in check.found


@pytest.mark.slow
def test_labels_claim_nothing_that_a_verdict_denies() -> None:
    """They name what is looked at: the same for every verdict, and no sentence."""
    labels = []
    for answer in (answers(), answers(ALWAYS), by_request("structured_outputs")):
        with serving(answer, metrics=shown(front=1, engine=1)) as fake:
            labels.append([check.name for check in server.checks(Endpoint.at(fake.url))])
    assert labels[0] == labels[1]
    assert set(labels[2]) < set(labels[0])
    assert not re.search(r"\b(enforces|refuses|lets|makes|calls)\b", " ".join(labels[0]))


def test_the_probes_of_an_enforced_server_are_sent_at_once() -> None:
    """Each is answered only once all but the first, which tells whether to ask, have come."""
    together = threading.Barrier(7, timeout=10)
    first = iter([True])

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if not next(first, False):
            together.wait()
        return answers()(body)

    assert statuses(answer, metrics=shown(front=1, engine=1)) == [OK] * 9


def test_every_probe_says_that_it_is_one() -> None:
    """By the id that a server's log tells it by."""
    with serving(answers(), metrics=shown(front=1, engine=1)) as fake:
        list(server.checks(Endpoint.at(fake.url)))
    assert len(fake.bodies) == 8
    assert all(body["request_id"].startswith(names.PROBE) for body in fake.bodies)


def test_no_server() -> None:
    [check] = server.checks(Endpoint.at("http://127.0.0.1:9"))
    assert check.status is BAD


@pytest.mark.slow
@pytest.mark.parametrize(("name", "told"), [("twice", [OK, BAD]), ("pick_colour", [OK] * 3)])
def test_findings_are_told_before_a_server_is_silent(name: str, told: list[CheckStatus]) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if body["tools"][0]["function"]["name"] == name:
            time.sleep(0.6)
        return answers()(body)

    with serving(answer) as fake:
        checks = server.checks(Endpoint.at(fake.url, timeout=0.2))
        assert [next(checks).status for _ in told] == told
        last = next(checks, None)
    if name == "twice":
        assert last is None  # the others are not tried
    else:
        assert last.status is BAD
        assert "--timeout" in last.mend


LATE = refused("UnsupportedSchema", "$.response_format.json_schema.schema.uniqueItems")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (None, OK, "FINISH_WITHIN_BUDGET is off"),  # served
        (refused("BudgetTooSmall", "$.max_tokens"), OK, "BUDGET=on"),
        (LATE, NOTE, "not known: HTTP 400"),  # an engine that has no such arrays
        ((500, {"error": {"message": "broken"}}), NOTE, "broken"),
    ],
)
def test_whether_calls_end_in_time_is_told(answer: Any, status: CheckStatus, said: str) -> None:
    def other(body: dict[str, Any]) -> tuple[int, Any]:
        if "response_format" in body and "tools" not in body:
            assert body["max_tokens"] == 1
            return answer or reply(body, "length", content="[")
        return answers()(body)

    checks = checked(other, require_all=True)
    [found] = [check for check in checks if check.name == "call at `max_tokens`"]
    assert (found.status, found.caveat) == (status, "")
    assert said in found.found


def test_a_server_without_models() -> None:
    assert statuses(answers(), listing=(200, {"data": []})) == [BAD]


def test_a_wrong_path_in_the_url_is_told() -> None:
    with serving(answers(), listing=(404, {"detail": "Not Found"})) as fake:
        [check] = server.checks(Endpoint.at(f"{fake.url}/v2"))
    assert check.status is BAD
    assert f"{fake.url}/v2/models" in check.found
    assert "--url" in check.mend


def test_a_gateway_without_a_list_is_checked_all_the_same() -> None:
    with serving(answers(), listing=(404, {})) as fake:
        checks = list(server.checks(Endpoint.at(fake.url), model="toy"))
    assert [check.status for check in checks] == [OK] * 8 + [NOTE]


def by_request(field: str, refusals: dict[str, Any] = REFUSE) -> Callable[..., tuple[int, Any]]:
    """Answer as a server that enforces only what carries a spec in this field."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" in body and field in body:
            if field == "vllm_xargs":
                assert body["tool_choice"] == "auto"  # the spec demands
            else:  # with the plugin it may say nothing else than the request
                spec = carrier.from_structural_tag(body[field]["structural_tag"])
                assert spec_text.read(spec).toolset.choice.value == body["tool_choice"]
            strict = re.search(r'on_unsupported[\\":]+refuse', json.dumps(body))
            return answers(REFUSE if strict else refusals)(body)
        return reply(body, content="Hello")

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "said", "number"),
    [("structured_outputs", "extra_body(…)", 8), ("vllm_xargs", "LOGITS_PROCESSOR", 7)],
)
def test_a_server_that_enforces_by_request_is_partial(field: str, said: str, number: int) -> None:
    with serving(by_request(field), metrics=shown(front=1, engine=1)) as fake:
        checks = list(server.checks(Endpoint.at(fake.url)))
        carried = [field in body for body in fake.bodies[-3:]]
    assert [check.status for check in checks] == [OK, NOTE] + [OK] * (number - 2)
    assert said in checks[1].found
    assert caveats(checks) == ["only requests that ask for it are enforced"]
    assert carried == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("field", "loaded"), [("structured_outputs", False), ("vllm_xargs", True)])
def test_enforcing_by_request_is_wrong_where_all_are_required(field: str, loaded: bool) -> None:
    checks = checked(by_request(field), require_all=True)
    # The others are tried all the same: it enforces what asks.
    assert [check.status for check in checks[:6]] == [OK, BAD, OK, OK, OK, OK]
    assert "--tool-call-parser NAME_enforced" in checks[1].mend
    assert ("VLLM_PLUGINS" in checks[1].mend) is loaded
    assert not any(check.caveat for check in checks)


def test_a_server_that_enforces_every_request_is_well_where_all_are_meant() -> None:
    checks = checked(answers(RELAX), require_all=True)
    assert [check.status for check in checks] == [OK, OK, NOTE] + [OK] * 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("off", "status", "said"),
    [
        (None, NOTE, "ENFORCER_ALLOW_CLIENT=off"),  # served
        (
            (400, {"error": {"message": "not set (ENFORCER_ALLOW_CLIENT allows nothing)"}}),
            OK,
            "400",
        ),
        (refused("InvalidTools"), OK, "400"),  # a gateway has dropped the wish
        ((400, {"error": {"message": "unknown field"}}), BAD, "unknown field"),
        ((500, {"error": {"message": "broken"}}), BAD, "broken"),
    ],
)
def test_whether_requests_may_opt_out_is_told(off: Any, status: CheckStatus, said: str) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "vllm_xargs" in body:
            assert body["vllm_xargs"] == {"enforcer": "off"}
            return off or reply(body, "length", content="Hello")
        return answers()(body)

    checks = checked(answer, require_all=True)
    found = next(check for check in checks if check.name == "switching enforcement off")
    assert found.status is status
    assert said in found.found
    assert caveats(checks) == (["requests may switch it off"] if status is NOTE else [])


REQUIRED = (400, {"error": {"message": f"{REQUIRES}, and this one brings no tools", "code": 400}})


@pytest.mark.slow
@pytest.mark.parametrize("require_all", [False, True])
@pytest.mark.parametrize(("field", "number"), [("structured_outputs", 8), ("vllm_xargs", 7)])
def test_a_server_that_refuses_enforces_all(field: str, number: int, require_all: bool) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return by_request(field)(body) if field in body else REQUIRED

    checks = checked(answer, require_all=require_all)
    assert [check.status for check in checks] == [OK, NOTE] + [OK] * (number - 2)
    assert "ENFORCER_REQUIRE" in checks[1].found
    assert caveats(checks) == ["requests that do not ask are refused"]


def test_a_server_that_refuses_what_asks_as_well_is_not_well() -> None:
    checks = checked(lambda _: REQUIRED)
    assert [check.status for check in checks] == [OK, BAD]
    assert REQUIRES in checks[1].found


@pytest.mark.slow
@pytest.mark.parametrize("field", ["structured_outputs", "vllm_xargs"])
def test_a_server_that_enforces_by_request_may_isolate(field: str) -> None:
    checks = checked(by_request(field, ALWAYS))
    assert [check.status for check in checks[:5]] == [OK, NOTE, NOTE, OK, OK]


def test_a_server_without_the_plugin_is_not_asked_for_it() -> None:
    with serving(by_request("no_such_field"), metrics=shown()) as fake:
        checks = list(server.checks(Endpoint.at(fake.url)))
        asked = ["structured_outputs" in body for body in fake.bodies]
    assert [check.status for check in checks] == [OK, BAD]
    assert asked == [False, False]


def test_a_model_that_is_not_served() -> None:
    with serving(answers()) as fake:
        [check] = server.checks(Endpoint.at(fake.url), model="other")
    assert check.status is BAD
    assert "toy" in check.mend


@pytest.mark.slow
@pytest.mark.parametrize(("field", "status"), [("vllm_xargs", OK), ("", BAD)])
def test_thinks_in_text_are_fine_for_vllms_own_parser(field: str, status: CheckStatus) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" not in body:
            return reply(body, content="<think>Hm.</think>Here.")
        return by_request(field)(body) if field else answers()(body)

    with serving(answer, metrics=shown(front=1, engine=1)) as fake:
        checks = {check.name: check.status for check in server.checks(Endpoint.at(fake.url))}
    assert checks["reply to a request without tools"] is status


@pytest.mark.slow
@parametrized("tools/doctor/cases/server.toml", "parsers")
def test_the_parser_is_named_where_the_metrics_tell_the_format(told: str, parser: str) -> None:
    checks = checked(answers({}), told)
    assert f"--tool-call-parser {parser}" in checks[1].mend
    assert "run `enforcer doctor` where the server runs" in checks[1].mend
