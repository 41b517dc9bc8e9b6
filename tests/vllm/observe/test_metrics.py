import ast
import logging
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from httpx import Response

from bench.demo.servers import Server
from enforcer import errors
from enforcer.errors import InvalidTools, Problem, UnsupportedSchema
from enforcer.request.tools import ToolChoice
from enforcer.vllm.intake import sampling_options
from enforcer.vllm.observe import metric_defs, metrics, recording
from enforcer.vllm.observe.stats import Count, Named
from tests.vllm_servers import post, sample

ROOT = Path(__file__).parents[3]
REFUSED = "enforcer_requests_refused_total"


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Give a function that reads `/metrics` of a server whose only process this is."""
    monkeypatch.setenv(recording.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(recording, "recorder", cache(recording.recorder.__wrapped__))
    registry = prometheus_client.CollectorRegistry()
    recording.show_in(registry)
    found: Callable[..., Any] = registry.get_sample_value
    return found


def test_each_number_is_shown_under_its_name(shown: Callable[..., Any]) -> None:
    metrics.count(metric_defs.REQUESTS, ToolChoice.REQUIRED)
    metrics.count(metric_defs.REQUESTS, ToolChoice.REQUIRED)
    metrics.count(metric_defs.CALLS, metric_defs.Outcome.DROPPED, number=3)
    metrics.count(metric_defs.CALLS, metric_defs.Outcome.COMPLETED, number=0)
    for nanoseconds in (1_500, 3_000, 999_000_000):
        recording.recorder().observer(metric_defs.MASK)(nanoseconds)
    assert shown("enforcer_requests_total", {"tool_choice": "required"}) == 2
    assert shown("enforcer_requests_total", {"tool_choice": "auto"}) == 0
    assert shown("enforcer_calls_total", {"outcome": "dropped"}) == 3
    assert shown("enforcer_mask_seconds_bucket", {"le": "2e-06"}) == 1
    assert shown("enforcer_mask_seconds_bucket", {"le": "5e-06"}) == 2
    assert shown("enforcer_mask_seconds_bucket", {"le": "0.02"}) == 2
    assert shown("enforcer_mask_seconds_bucket", {"le": "+Inf"}) == 3
    assert shown("enforcer_mask_seconds_count") == 3
    assert shown("enforcer_mask_seconds_sum") == pytest.approx(0.9990045)


def test_a_refusal_is_counted_and_logged_by_keyword(shown: Any, lines: Any) -> None:
    problem = Problem("$.tools[0].function.parameters.properties.n", "multipleOf", "cannot")
    metrics.refused(UnsupportedSchema((problem,)))
    metrics.refused(UnsupportedSchema((Problem("$", "x-mine", "cannot"),)))
    metrics.refused(InvalidTools("$.tools", "no list"))
    assert shown(REFUSED, {"error": "UnsupportedSchema", "keyword": "multipleOf"}) == 1
    assert shown(REFUSED, {"error": "UnsupportedSchema", "keyword": "other"}) == 1
    assert shown(REFUSED, {"error": "InvalidTools", "keyword": ""}) == 1
    assert lines()[0] == (
        'enforcer: refused error="UnsupportedSchema" '
        'path="$.tools[0].function.parameters.properties.n" keyword="multipleOf"'
    )


def test_an_option_that_is_refused_is_named(shown: Any, lines: Any) -> None:
    metrics.refused_option("min_tokens")
    assert shown(REFUSED, {"error": "Option", "keyword": "min_tokens"}) == 1
    assert lines() == ['enforcer: refused error="Option" path="$.min_tokens" keyword="min_tokens"']


def test_every_option_that_can_be_refused_has_a_label() -> None:
    """The value of a label is one of a fixed list; of what is not on it nobody knows the name."""
    refused, refusing = set(), {"option_rejection", "not_allowed", "reject_constraint"}
    for module in (ROOT / "enforcer" / "vllm").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            match node:
                case ast.Call(func=called, args=[option, *_]) if (
                    ast.unparse(called).removeprefix("admission.") in refusing
                ):
                    refused.add(option.value if isinstance(option, ast.Constant) else "name")
    # A name that is not written out is a wish's, or an option's which takes ids or ends a reply.
    taken = {"on_unsupported", "finish_within_budget", "closed_objects"}
    taken |= {"logit_bias", "repetition_penalty", "min_tokens", "stop", "stop_sequences"}
    taken |= {*sampling_options._FORCING, *sampling_options._FORBIDDING.values()}
    assert refused - {"name"} | taken == set(metric_defs.OPTIONS)


def test_every_error_of_a_request_has_a_label() -> None:
    """But what only the engine raises, and what is raised as one of its kinds."""
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.RequestError)
    }
    (_, labels), _ = metric_defs.REFUSED.labels
    assert kinds - set(labels) == {"RequestError", "SchemaError", "UnknownTag"}


@pytest.mark.usefixtures("shown")  # counts go to its folder
def test_a_path_cannot_forge_a_log_line(lines: Any) -> None:
    metrics.refused(InvalidTools("$.a\nINFO: all is well" + "x" * 10_000, "wrong"))
    (line,) = lines()
    assert "\n" not in line
    assert len(line) < 400


def test_a_refusal_names_its_request_and_its_tool(shown: Any, lines: Any) -> None:
    metrics.refused(InvalidTools("$.tools", "no"), request='r"7', tool="get\nall")
    metrics.refused_option("min_tokens", request="r8")
    assert lines() == [
        'enforcer: refused error="InvalidTools" path="$.tools" request="r\\"7" tool="get\\nall"',
        'enforcer: refused error="Option" path="$.min_tokens" keyword="min_tokens" request="r8"',
    ]
    assert shown(REFUSED, {"error": "InvalidTools", "keyword": ""}) == 1


def test_a_failed_turn_names_its_request(shown: Any, lines: Any) -> None:
    metrics.failed(metric_defs.Failure.GATE_CLOSED, "chatcmpl-7", state="ARGUMENTS")
    assert shown("enforcer_turns_failed_total", {"reason": "gate_closed"}) == 1
    assert lines() == [
        'enforcer: turn failed reason="gate_closed" request="chatcmpl-7" state="ARGUMENTS"'
    ]


@pytest.mark.usefixtures("shown")
def test_what_is_not_exact_names_its_error_its_request_and_its_tool(lines: Any) -> None:
    empty = Problem("$.tools[0].parameters.n", "", "nothing fits")
    told = partial(metrics.log_relaxed, metric_defs.Relaxed.ISOLATED, empty)
    told(error="UnsatisfiableSchema", request="r\n9", tool='get"all')
    told(error="Unheard")
    said = 'enforcer: schema not exact enforced="isolated" error='
    path = 'path="$.tools[0].parameters.n"'
    assert lines() == [
        f'{said}"UnsatisfiableSchema" {path} request="r\\n9" tool="get\\"all"',
        f'{said}"other" {path}',
    ]


@pytest.mark.usefixtures("shown")
def test_a_dropped_call_cannot_forge_a_log_line(lines: Any) -> None:
    metrics.log("call dropped", tool='x" y="\nINFO: all is well' + "x" * 10_000, request="r1")
    metrics.log("call dropped", tool="", request="")
    first, second = lines()
    assert first.startswith('enforcer: call dropped tool="x\\" y=\\"\\nINFO: all')
    assert first.endswith('x" request="r1"')
    assert len(first) < 400
    assert second == "enforcer: call dropped"


def test_a_disabled_request_is_counted_without_warning(shown: Any, lines: Any, caplog: Any) -> None:
    caplog.set_level(logging.INFO, logger="vllm.enforcer")
    metrics.switched_off(request="order-7")
    metrics.switched_off()
    assert shown("enforcer_requests_switched_off_total") == 2
    assert lines() == ['enforcer: switched off request="order-7"', "enforcer: switched off"]
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_a_call_cut_by_its_budget_is_counted_and_told(shown: Any, lines: Any, caplog: Any) -> None:
    caplog.set_level(logging.INFO, logger="vllm.enforcer")
    metrics.shortened("r1", "get")
    assert shown("enforcer_turns_shortened_total") == 1
    assert lines() == ['enforcer: call shortened by max_tokens request="r1" tool="get"']


@pytest.mark.vllm
def test_a_server_shows_what_its_engine_does(tiny_server: Server) -> None:
    named = partial(sample, tiny_server.url)
    names = (
        *("enforcer_requests_total", "enforcer_calls_total", "enforcer_compile_seconds_count"),
        *("enforcer_mask_seconds_count", "enforcer_grammar_cache_hits_total"),
        "enforcer_grammar_cache_misses_total",
    )

    def ask(schema: dict[str, Any], **more: Any) -> Response:
        function = {"name": "measured_here", "parameters": schema}
        body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 200}
        body |= {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}
        return post(tiny_server, {**body, "parallel_tool_calls": False, **more})

    own = {"properties": {"only_here": {"enum": [1, 2]}}, "required": ["only_here"]}
    schema = {"type": "object", "additionalProperties": False, **own}
    before = [named(name) for name in names]
    looked = named("enforcer_schema_checks_total", how="plain")
    spent = 0
    for stream in (False, True):
        answer = ask(schema, stream=stream)
        assert answer.status_code == 200, answer.text
        if not stream:
            spent = answer.json()["usage"]["completion_tokens"]
    *grew, missed = (named(name) - old for name, old in zip(names, before, strict=True))
    requests, calls, compiled, masked, hits = grew
    assert (requests, calls, compiled, hits, missed) == (2, 2, 1, 1, 1)
    assert masked >= spent > 0
    # One look at it; the second time it is remembered.
    assert named("enforcer_schema_checks_total", how="plain") == looked + 1
    assert named("enforcer_grammar_cache_entries") >= 1
    assert named("enforcer_turns_failed_total") == 0  # in no test on this server
    assert named("enforcer_api_servers", enforces="every_request") == 1
    assert named("enforcer_api_servers", enforces="on_request") == 0
    # vLLM's own are still there.
    assert named("vllm:request_success_total") >= 2


def test_the_documentation_lists_every_metric() -> None:
    page = ROOT / "docs" / "vllm" / "metrics.md"
    listed = [
        line.split("`")[1].partition("{")[0]
        for line in page.read_text().splitlines()
        if line.startswith("| `enforcer_")
    ]
    suffix: dict[type, str] = {Count: "_total", Named: "_total"}
    assert listed == [f.name + suffix.get(type(f), "") for f in metric_defs.LAYOUT.families]


MS = 1_000_000


class Masks:
    """Slow masks by a clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self._lines: list[dict[str, str]] = []
        monkeypatch.setattr(metrics, "log", lambda _, **fields: self._lines.append(fields))
        self._masks = metrics.SlowMasks()

    def see(self, milliseconds: int, tool: str, request: str) -> None:
        self._masks.see(milliseconds * MS, lambda: tool, request)

    def told(self) -> list[tuple[str, ...]]:
        """Return what has been told since, in the order of a line's fields."""
        told = [tuple(each.values()) for each in self._lines]
        self._lines.clear()
        return told


@pytest.fixture
def masks(monkeypatch: pytest.MonkeyPatch) -> Masks:
    return Masks(monkeypatch)


def test_the_first_slow_mask_is_told_and_a_later_one_a_minute_later(masks: Masks) -> None:
    masks.see(7, "slow", "r1")
    assert masks.told() == [("slow", "7.0 ms", "1", "r1")]
    for request, milliseconds in (("r2", 9), ("r3", 12), ("r4", 6)):
        masks.see(milliseconds, "slow", request)
    masks.now += 59
    masks.see(5, "slow", "r6")
    assert not masks.told()
    masks.now += 1
    masks.see(8, "other", "r8")
    assert masks.told() == [("other", "8.0 ms", "5", "r8")]
    masks.now += 60
    masks.see(8, "other", "r9")
    assert masks.told() == [("other", "8.0 ms", "1", "r9")]


def test_a_line_names_tool_and_request(lines: Any) -> None:
    metrics.SlowMasks().see(12_340_000, lambda: "search", "chatcmpl-7")
    metrics.SlowMasks().see(12_340_000, str, "chatcmpl-8")
    fields = 'took="12.3 ms" masks="1" request='
    assert lines() == [
        f'enforcer: slow masks tool="search" {fields}"chatcmpl-7"',
        f'enforcer: slow masks {fields}"chatcmpl-8"',
    ]
