"""An engine without the plugin is found by the message in which it says that it is ready."""

import logging
from dataclasses import MISSING, fields
from typing import Any

import msgspec
import pytest
from vllm.exceptions import GracefulHTTPError
from vllm.v1.engine import EngineCoreReadyResponse

from enforcer.errors import ConfigurationError
from enforcer.request import carrier, spec_text
from enforcer.vllm.config import names, settings
from enforcer.vllm.intake import settling
from enforcer.vllm.server import engine_marks
from tests.snippets import RELEASE, ROOT

_WORDS = dict.fromkeys(("dtype", "vllm_version", "instance_id"), "x")
_ALL = {each.name: 1 for each in fields(EngineCoreReadyResponse) if each.default is MISSING}
STOCK = EngineCoreReadyResponse(
    **_ALL | _WORDS | {"dp_stats_address": None, "supports_lora": False}
)
MARKED = engine_marks.make_ready_response(lambda _: STOCK, None)


@pytest.fixture(autouse=True)
def _no_engine_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_marks, "_without", set())


def receive(message: Any) -> None:
    """Take a message as an API server does."""
    taken: list[bytes] = []
    engine_marks.apply_ready_response(
        lambda _, payload: taken.append(payload),
        None,
        msgspec.msgpack.encode(message) if message else b"",
    )
    assert len(taken) == 1


def test_vllm_reads_a_marked_message_as_its_own() -> None:
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(MARKED), type=EngineCoreReadyResponse)
    assert vars(read) == vars(STOCK)


def test_marked_engines_are_let_in(caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k2_enforced")
    receive(MARKED)
    receive(None)  # some messages of vLLM's are empty
    engine_marks.reject_unmarked()
    assert not caplog.records


@pytest.mark.parametrize(
    "environment",
    [{names.PARSER_VARIABLE: "kimi_k2_enforced"}, {"ENFORCER_REQUIRE": "on"}],
    ids=["parser", "require"],
)
def test_a_server_that_enforces_all_does_not_start_over_an_engine_without(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "current", lambda: settings.read(environment))
    monkeypatch.delenv(names.PARSER_VARIABLE, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=r"engine 1 .* has not loaded the plugin") as told:
        receive(STOCK)
    page = (ROOT / "docs/production/scale/data-parallel-nodes.md").read_text()
    said = str(told.value).replace(f" {engine_marks._VERSION} ", f" {RELEASE} ")
    assert f"ConfigurationError: {said} " in " ".join(page.split())


def test_another_server_refuses_specs_and_says_why(caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k2")
    receive(STOCK)
    assert "engine 1" in caplog.text
    with pytest.raises(GracefulHTTPError, match="install kimi-enforcer"):
        settling.admit(carrier.Carried(spec_text.write([], None, None, 0)))


def test_an_engine_of_another_version_is_told(caplog: Any, monkeypatch: Any) -> None:
    caplog.set_level(logging.WARNING, logger="vllm.enforcer")
    monkeypatch.setattr(engine_marks, "_VERSION", "9.9")
    receive(MARKED)
    assert "9.9" in caplog.text
    engine_marks.reject_unmarked()


def test_the_rust_front_end_gets_the_message_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    assert engine_marks.make_ready_response(lambda _: STOCK, None) is STOCK
