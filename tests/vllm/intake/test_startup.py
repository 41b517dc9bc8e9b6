from __future__ import annotations

import logging
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.vllm.config import settings
from enforcer.vllm.intake import startup
from enforcer.vllm.observe import metric_defs, metrics, recording, stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.demo.servers import Server


def test_one_line_says_what_is_enforced_and_what_is_not(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings.read({"ENFORCER_ALLOW_CLIENT": "finish"})
    monkeypatch.setattr(settings, "current", lambda: chosen)
    startup.say.cache_clear()
    with caplog.at_level(logging.INFO, logger="vllm.enforcer"):
        startup.say("kimi_k2_enforced", ("kimi_k2",))
        startup.say("kimi_k2_enforced", ("kimi_k2",))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "enforcer: every request by /v1/chat/completions (and /batch), /v1/responses, /v1/messages "
        "and /invocations is enforced; /v1/completions, routes that take token ids, gRPC: only "
        "requests with a spec of `enforcer.extra_body`; beam search is refused. "
        f"version={metadata.version('kimi-enforcer')} dialect=kimi_k2 engine=machine "
        "allow_client=finish"
    )


def test_a_setting_with_a_former_name_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings.read({"ENFORCER_ENGINE": "llguidance"})
    monkeypatch.setattr(settings, "current", lambda: chosen)
    startup.say.cache_clear()
    metrics.log_former.cache_clear()
    with caplog.at_level(logging.INFO, logger="vllm.enforcer"):
        startup.say("kimi_k2_enforced", ("kimi_k2",))
    said, told = [record.getMessage() for record in caplog.records]
    assert said.endswith("engine=machine")
    assert told == 'enforcer: former engine engine="llguidance" means="machine"'


@pytest.mark.parametrize(
    ("parser", "environment", "expected"),
    [
        ("kimi_k2", {}, "no request is enforced by itself (--tool-call-parser kimi_k2; "),
        (
            "kimi_k2",
            {},
            "; on any route: only requests with a spec of `enforcer.extra_body`, and what",
        ),
        (None, {}, "(no --tool-call-parser; kimi_k2_enforced would enforce all)"),
        (
            "kimi_k2_enforced",
            {"ENFORCER_REQUIRE": "on", "ENFORCER_REQUIRE_EXCEPT": "structured"},
            "; requests without a spec are refused except structured; ",
        ),
        ("kimi_k2_enforced", {"ENFORCER_ALLOW_CLIENT": "relax, off"}, "allow_client='relax, off'"),
        ("kimi_k2_enforced", {"ENFORCER_ON_UNSUPPORTED": "isolate"}, "on_unsupported=isolate"),
        ("kimi_k2_enforced", {"ENFORCER_ALLOW_CLIENT": "finish,closed"}, "is enforced; "),
        (
            "kimi_k2_enforced",
            {"ENFORCER_ALLOW_CLIENT": "relax", "ENFORCER_ON_UNSUPPORTED": "isolate"},
            "is enforced, but for what `on_unsupported` and `allow_client` let off; ",
        ),
        ("kimi_k2", {"ENFORCER_SHADOW": "on"}, "nothing is enforced (ENFORCER_SHADOW=on): "),
        ("kimi_k2", {"ENFORCER_SHADOW": "on"}, "engine=machine shadow=on"),
        (
            "kimi_k2_enforced",
            {"ENFORCER_ALLOW_CLIENT": "off", "ENFORCER_ON_UNSUPPORTED": "isolate"},
            "is enforced, but for what `on_unsupported` and `allow_client` let off; ",
        ),
        (
            "kimi_k2_enforced",
            {"ENFORCER_ALLOW_CLIENT": "isolate", "ENFORCER_ON_UNSUPPORTED": "relax"},
            "is enforced, but for what `on_unsupported` and `allow_client` let off; ",
        ),
    ],
)
def test_the_line_tells_parser_and_settings(
    parser: str | None, environment: dict[str, Any], expected: str
) -> None:
    assert expected in startup.said(parser, ("kimi_k2",), settings.read(environment))


# What the line says after format and engine, of which nothing is left out.
SWITCHED = {
    "ENFORCER_ON_UNSUPPORTED": "relax",
    "ENFORCER_ALLOW_CLIENT": "finish,closed",
    "ENFORCER_FORMAT": "standard",
    "ENFORCER_CLOSED_OBJECTS": "off",
    "ENFORCER_INTEGERS": "value",
    "ENFORCER_PLAIN_SPELLING": "off",
    "ENFORCER_SECOND_SPACE": "off",
    "ENFORCER_DOCUMENTS": "/etc/schemas",
    "ENFORCER_MAX_CALLS": "1",
    "ENFORCER_IDENTICAL_CALLS": "2",
    "ENFORCER_PREAMBLE_IDS": "0",
    "ENFORCER_FINISH_WITHIN_BUDGET": "on",
    "ENFORCER_EMPTY_TURNS": "allow",
    "ENFORCER_REQUIRE": "on",
    "ENFORCER_REQUIRE_EXCEPT": "completions",
    "ENFORCER_CACHE_MIB": "512",
    "ENFORCER_METRICS_PORT": "9100",
    "ENFORCER_LIMITS": "depth=64",
}


def test_the_line_has_every_setting_that_is_switched_and_no_other() -> None:
    def tail(environment: dict[str, str]) -> str:
        chosen = settings.read(environment)
        return startup.said("kimi_k2_enforced", ("kimi_k2",), chosen).partition(" engine=")[2]

    left = settings.VARIABLES.keys() - {"ENFORCER_DIALECT", "ENFORCER_ENGINE", "ENFORCER_SHADOW"}
    assert SWITCHED.keys() == left
    written = [
        f"{name.removeprefix(settings.PREFIX).lower()}={value}" for name, value in SWITCHED.items()
    ]
    assert tail(SWITCHED).split() == ["machine", *written]
    unsaid = {"ENFORCER_CLOSED_OBJECTS": "on", "ENFORCER_DIALECT": "hermes"}
    assert tail(unsaid | {"ENFORCER_ENGINE": "xgrammar"}) == "xgrammar"


@pytest.mark.vllm
def test_a_server_logs_it_once(tiny_server: Server) -> None:
    log = tiny_server.log.read_text()
    assert log.count("enforcer: every request by") == 1


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Give a function that reads a gauge of this process, by the values of its label."""
    recorder = stats.Recorder(metric_defs.LAYOUT, tmp_path)
    monkeypatch.setattr(recording, "recorder", lambda: recorder)
    startup.say.cache_clear()

    def read(gauge: stats.Gauge, *labels: str) -> list[int]:
        numbers = stats.total(metric_defs.LAYOUT, tmp_path)
        return [numbers[metric_defs.LAYOUT.of(gauge, (label,))] for label in labels]

    return read


@pytest.mark.parametrize(
    ("dialects", "shown"), [(("hermes",), [1, 0]), (("hermes", "kimi_k2"), [0, 0])]
)
def test_the_metrics_tell_the_format_where_there_is_one(
    dialects: tuple[str, ...], shown: list[int], recorded: Any
) -> None:
    startup.say("x", dialects)
    assert recorded(metric_defs.DIALECT, "hermes", "kimi_k2") == shown


def test_the_metrics_tell_the_versions(recorded: Callable[..., list[int]], tmp_path: Path) -> None:
    startup.say("x", ("hermes",))
    assert recorded(metric_defs.SERVERS, "on_request") == [1]
    numbers = stats.total(metric_defs.LAYOUT, tmp_path)
    versions = (metadata.version("kimi-enforcer"),)
    assert numbers[metric_defs.LAYOUT.of(metric_defs.VERSION, versions)] == 1


@pytest.mark.parametrize(
    ("parser", "shown"), [("hermes_enforced", [1, 0]), ("hermes", [0, 1]), (None, [0, 1])]
)
def test_the_metrics_tell_whether_every_request_is_enforced(
    parser: str | None, shown: list[int], recorded: Any
) -> None:
    assert recorded(metric_defs.SERVERS, "every_request", "on_request") == [0, 0]
    startup.say(parser, ("hermes",))
    assert recorded(metric_defs.SERVERS, "every_request", "on_request") == shown


def test_the_metrics_tell_of_shadow_mode(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = settings.read({"ENFORCER_SHADOW": "on"})
    monkeypatch.setattr(settings, "current", lambda: chosen)
    startup.say("hermes", ("hermes",))
    assert recorded(metric_defs.SERVERS, "every_request", "on_request", "nothing") == [0, 0, 1]
