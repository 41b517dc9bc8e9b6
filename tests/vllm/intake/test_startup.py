import logging
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from bench.demo.servers import Server
from enforcer.vllm.config import settings
from enforcer.vllm.intake import startup
from enforcer.vllm.observe import metric_defs, recording, stats
from tests.support import cases

CASES = "vllm/intake/cases/startup.toml"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, lines: Any) -> Any:
    """Give what reads the lines that are logged for a server that enforces all."""
    startup.say.cache_clear()
    caplog.set_level(logging.INFO, logger="vllm.enforcer")

    def read() -> Any:
        startup.say("kimi_k2_enforced", ("kimi_k2",))
        startup.say("kimi_k2_enforced", ("kimi_k2",))
        return lines()

    return read


def test_one_line_says_what_is_enforced_and_what_is_not(said: Any, use: Any) -> None:
    use(allow_client="finish")
    (line,) = said()
    assert line == (
        "enforcer: every request by /v1/chat/completions (and /batch), /v1/responses, /v1/messages "
        "and /invocations is enforced; /v1/completions, routes that take token ids, gRPC: only "
        "requests with a spec of `enforcer.extra_body`; beam search is rejected. "
        f"version={metadata.version('kimi-enforcer')} dialect=kimi_k2 engine=machine "
        "allow_client=finish"
    )


def named(words: dict[str, str] | None) -> settings.Settings:
    given = {f"{settings.PREFIX}{name}": word for name, word in (words or {}).items()}
    return settings.read(given)


@pytest.mark.parametrize(
    ("parser", "words", "says"), cases.params(CASES, "parser, settings, says", "said")
)
def test_the_line_tells_settings(parser: str | None, words: dict[str, str], says: str) -> None:
    assert says in startup.said(parser, ("kimi_k2",), named(words))


def test_the_line_has_every_setting_that_is_switched_and_no_other() -> None:
    """After format and engine, of which nothing is left out."""

    def tail(words: dict[str, str]) -> str:
        line = startup.said("kimi_k2_enforced", ("kimi_k2",), named(words))
        return line.partition(" engine=")[2]

    switched = cases.load(CASES)["switched"]
    left = {name.removeprefix(settings.PREFIX) for name in settings.VARIABLES}
    assert switched.keys() == left - {"DIALECT", "ENGINE", "SHADOW"}
    written = [f"{name.lower()}={value}" for name, value in switched.items()]
    assert tail(switched).split() == ["machine", *written]
    unsaid = {"CLOSED_OBJECTS": "on", "DIALECT": "hermes"}
    assert tail(unsaid | {"ENGINE": "xgrammar"}) == "xgrammar"


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
def test_metrics_tell_a_format(dialects: tuple[str, ...], shown: list[int], recorded: Any) -> None:
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
def test_metrics_tell_what_is_enforced(parser: str | None, shown: list[int], recorded: Any) -> None:
    assert recorded(metric_defs.SERVERS, "every_request", "on_request") == [0, 0]
    startup.say(parser, ("hermes",))
    assert recorded(metric_defs.SERVERS, "every_request", "on_request") == shown


def test_the_metrics_tell_of_shadow_mode(recorded: Any, use: Any) -> None:
    use(shadow="on")
    startup.say("hermes", ("hermes",))
    assert recorded(metric_defs.SERVERS, "every_request", "on_request", "nothing") == [0, 0, 1]
