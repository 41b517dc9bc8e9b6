from __future__ import annotations

import json
import logging
import shutil
import time
from dataclasses import replace
from importlib import metadata
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from transformers import AutoTokenizer

from bench.demo.servers import ENFORCED, Server
from enforcer.vllm.config import names, settings
from enforcer.vllm.intake import startup
from enforcer.vllm.observe import families, recording, stats
from tests.vllm_servers import TINY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _warnings(caplog: pytest.LogCaptureFixture, change: Callable[..., Any]) -> list[str]:
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    tokenizer.chat_template = change(tokenizer.chat_template)
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        startup.look_at(tokenizer, None)
        startup.look_at(tokenizer, None)
    own = (record for record in caplog.records if record.name.startswith("vllm.enforcer"))
    return [record.getMessage() for record in own]


def test_a_good_template_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    assert not _warnings(caplog, lambda template: template)


def test_a_template_without_the_assistant_header_is_named_once_with_the_remedy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warnings = _warnings(
        caplog, lambda template: template.replace("add_generation_prompt", "no_such_variable")
    )
    assert len(warnings) == 1
    assert "add_generation_prompt" in warnings[0]


@pytest.mark.parametrize(("parser", "warned"), [("kimi_k2_enforced", 1), ("kimi_k2", 0)])
def test_the_template_that_the_server_renders_with_is_looked_at_in_its_place(
    parser: str, warned: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The renderer knows it, also in an API server that reads its command line without us."""
    monkeypatch.setenv(names.PARSER_VARIABLE, parser)
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    wrong = tokenizer.chat_template.replace("add_generation_prompt", "no_such_variable")
    tokenizer.chat_template = None

    def made(self: Any, renderer: Any, *, chat_template: str | None) -> None:
        self.renderer, self.chat_template = renderer, chat_template

    init = startup.renderer_made(made)
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        init(SimpleNamespace(), SimpleNamespace(tokenizer=tokenizer), chat_template=wrong)
    found = [record.getMessage() for record in caplog.records]
    assert len(found) == warned
    for line in found:
        assert line.startswith("the template of --chat-template: the prompt's end: ")


@pytest.mark.vllm
@pytest.mark.long
def test_each_of_several_api_servers_looks_at_the_template_of_the_command_line(
    tmp_path: Path,
) -> None:
    own = AutoTokenizer.from_pretrained(TINY)
    wrong = own.chat_template.replace("add_generation_prompt", "no_such_variable")
    (tmp_path / "wrong.jinja").write_text(wrong)
    shutil.copytree(TINY, tmp_path / "model")
    config = tmp_path / "model" / "tokenizer_config.json"
    values = json.loads(config.read_text())
    del values["chat_template"]
    config.write_text(json.dumps(values))
    flags = ("--api-server-count", "2", "--chat-template", str(tmp_path / "wrong.jinja"))
    setting = replace(ENFORCED, flags=(*ENFORCED.flags, *flags))
    command = ("vllm.entrypoints.cli.main", "serve", str(tmp_path / "model"))
    with Server(tmp_path / "model", setting, tmp_path / "log", command) as server:
        server.wait_until_ready()
        for _ in range(60):  # one of them answers before the other is ready
            if server.log.read_text().count("enforcer: every request by") == 2:
                break
            time.sleep(1)
        lines = server.log.read_text().splitlines()
    warned = [line for line in lines if "What to do: " in line]
    assert len(warned) == 2
    assert all("the template of --chat-template: the prompt's end: " in line for line in warned)


def test_no_tokenizer_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    startup.look_at(None, None)
    assert not caplog.records


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
        f"version={metadata.version('kimi-enforcer')} dialect=kimi_k2 engine=llguidance "
        "allow_client=finish"
    )


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
            "is enforced, except schemas that cannot be enforced exactly (isolated or relaxed); ",
        ),
        (
            "kimi_k2_enforced",
            {"ENFORCER_ALLOW_CLIENT": "off", "ENFORCER_ON_UNSUPPORTED": "isolate"},
            (
                "is enforced, except requests that switch it off and schemas that cannot be "
                "enforced exactly (isolated); "
            ),
        ),
        (
            "kimi_k2_enforced",
            {"ENFORCER_ALLOW_CLIENT": "isolate", "ENFORCER_ON_UNSUPPORTED": "relax"},
            "is enforced, except schemas that cannot be enforced exactly (isolated or relaxed); ",
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
    "ENFORCER_INTEGERS": "digits",
    "ENFORCER_DOCUMENTS": "/etc/schemas",
    "ENFORCER_MAX_CALLS": "1",
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
        chosen = settings.read({"ENFORCER_ENGINE": "xgrammar", **environment})
        return startup.said("kimi_k2_enforced", ("kimi_k2",), chosen).partition(" engine=")[2]

    left = settings.VARIABLES.keys() - {"ENFORCER_DIALECT", "ENFORCER_ENGINE"}
    assert SWITCHED.keys() == left
    written = [
        f"{name.removeprefix(settings.PREFIX).lower()}={value}" for name, value in SWITCHED.items()
    ]
    assert tail(SWITCHED).split() == ["xgrammar", *written]
    assert tail({"ENFORCER_CLOSED_OBJECTS": "on", "ENFORCER_DIALECT": "hermes"}) == "xgrammar"


@pytest.mark.vllm
def test_a_server_logs_it_once(tiny_server: Server) -> None:
    log = tiny_server.log.read_text()
    assert log.count("enforcer: every request by") == 1


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Give a function that reads a gauge of this process, by the values of its label."""
    recorder = stats.Recorder(families.LAYOUT, tmp_path)
    monkeypatch.setattr(recording, "recorder", lambda: recorder)
    startup.say.cache_clear()

    def read(gauge: stats.Gauge, *labels: str) -> list[int]:
        numbers = stats.total(families.LAYOUT, tmp_path)
        return [numbers[families.LAYOUT.of(gauge, (label,))] for label in labels]

    return read


@pytest.mark.parametrize(
    ("dialects", "shown"), [(("hermes",), [1, 0]), (("hermes", "kimi_k2"), [0, 0])]
)
def test_the_metrics_tell_the_format_where_there_is_one(
    dialects: tuple[str, ...], shown: list[int], recorded: Callable[..., list[int]]
) -> None:
    startup.say("x", dialects)
    assert recorded(families.DIALECT, "hermes", "kimi_k2") == shown


def test_the_metrics_tell_the_versions(recorded: Callable[..., list[int]], tmp_path: Path) -> None:
    startup.say("x", ("hermes",))
    assert recorded(families.SERVERS, "on_request") == [1]
    numbers = stats.total(families.LAYOUT, tmp_path)
    versions = (metadata.version("kimi-enforcer"), metadata.version("llguidance"))
    assert numbers[families.LAYOUT.of(families.VERSION, versions)] == 1


@pytest.mark.parametrize(
    ("parser", "shown"),
    [("hermes_enforced", [1, 0]), ("hermes", [0, 1]), (None, [0, 1])],
)
def test_the_metrics_tell_whether_every_request_is_enforced(
    parser: str | None, shown: list[int], recorded: Callable[..., list[int]]
) -> None:
    assert recorded(families.SERVERS, "every_request", "on_request") == [0, 0]
    startup.say(parser, ("hermes",))
    assert recorded(families.SERVERS, "every_request", "on_request") == shown
