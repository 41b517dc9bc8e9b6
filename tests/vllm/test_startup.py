from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from transformers import AutoTokenizer

from enforcer.vllm import metrics, served, settings, startup, stats
from tests.vllm_servers import TINY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.demo.servers import Server


def _warnings(caplog: pytest.LogCaptureFixture, change: Callable[..., Any]) -> list[str]:
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    tokenizer.chat_template = change(tokenizer.chat_template)
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        startup.look_at(tokenizer)
        startup.look_at(tokenizer)
    return [record.getMessage() for record in caplog.records]


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


@pytest.mark.parametrize("as_file", [True, False])
def test_the_template_of_the_command_line_is_looked_at_in_its_place(
    as_file: bool, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Through the arguments of vLLM's own parser, as its server reads them."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    own = AutoTokenizer.from_pretrained(TINY).chat_template
    wrong = own.replace("add_generation_prompt", "no_such_variable")
    (tmp_path / "wrong.jinja").write_text(wrong)
    read = served.from_cli_args(lambda cls, args: (cls, args))

    def start(*flags: str) -> None:
        parsed = make_arg_parser(FlexibleArgumentParser()).parse_args(
            ["--model", str(TINY), *flags]
        )
        read(EngineArgs, parsed)

    try:
        start("--chat-template", str(tmp_path / "wrong.jinja") if as_file else wrong)
        warnings = _warnings(caplog, lambda template: template)
        assert len(warnings) == 1
        assert warnings[0].startswith("the template of --chat-template: the prompt's end: ")
    finally:
        start()
    caplog.clear()
    assert not _warnings(caplog, lambda template: template)


def test_no_tokenizer_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    startup.look_at(None)
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
        "enforcer: every request by /v1/chat/completions, /v1/responses and /v1/messages is "
        "enforced; /v1/completions, routes that take token ids, gRPC: only requests with a spec "
        "of `enforcer.extra_body`; beam search is refused. dialect=kimi_k2 engine=llguidance "
        "on_unsupported=refuse; clients may switch: finish"
    )


@pytest.mark.parametrize(
    ("parser", "environment", "expected"),
    [
        ("kimi_k2", {}, "no request is enforced by itself (--tool-call-parser kimi_k2; "),
        (None, {}, "(no --tool-call-parser; kimi_k2_enforced would enforce all)"),
        (
            "kimi_k2_enforced",
            {"ENFORCER_REQUIRE": "on", "ENFORCER_REQUIRE_EXCEPT": "structured"},
            "; requests without a spec are refused except structured; ",
        ),
        ("kimi_k2_enforced", {"ENFORCER_ALLOW_CLIENT": "relax,off"}, "switch: off, relax"),
        ("kimi_k2_enforced", {"ENFORCER_ON_UNSUPPORTED": "isolate"}, "on_unsupported=isolate"),
    ],
)
def test_the_line_tells_parser_and_settings(
    parser: str | None, environment: dict[str, Any], expected: str
) -> None:
    assert expected in startup.said(parser, ("kimi_k2",), settings.read(environment))


@pytest.mark.vllm
def test_a_server_logs_it_once(tiny_server: Server) -> None:
    log = tiny_server.log.read_text()
    assert log.count("enforcer: every request by") == 1


@pytest.mark.parametrize(("dialects", "shown"), [(("hermes",), [1, 0]), (("a", "b"), [0, 0])])
def test_the_metrics_tell_the_format_where_there_is_one(
    dialects: tuple[str, ...], shown: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = stats.Recorder(metrics.LAYOUT, tmp_path)
    monkeypatch.setattr(metrics, "recorder", lambda: recorder)
    monkeypatch.setattr(startup, "said", lambda *_: "")
    startup.say.cache_clear()
    startup.say("x", dialects)
    (numbers,) = stats.read(metrics.LAYOUT, tmp_path)
    slots = [metrics.LAYOUT.of(metrics.DIALECT, (name,)) for name in ("hermes", "kimi_k2")]
    assert [numbers[slot] for slot in slots] == shown
