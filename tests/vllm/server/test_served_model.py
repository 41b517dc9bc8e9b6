"""The dialect that a server speaks, by its parser's name."""

import os
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pkgutil import resolve_name
from typing import Any

import pytest
from vllm.config import StructuredOutputsConfig
from vllm.tool_parsers import ToolParserManager

from enforcer.errors import ConfigurationError, UnknownDialect
from enforcer.turn import dialects
from enforcer.vllm.config import names, settings
from enforcer.vllm.server import served_model


@pytest.fixture(autouse=True)
def _of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    current = settings.current
    with monkeypatch.context() as patch:
        patch.setenv(names.PARSER_VARIABLE, "")
        patch.setenv(names.TEXT_VARIABLE, "")
        yield
    current.cache_clear()


read = partial(served_model.from_cli_args, lambda _cls, args: args)


@pytest.mark.parametrize("parser", ["kimi_k2", "kimi_k2_enforced"])
def test_the_parsers_name_tells_it_whatever_the_setting(parser: str, use: Any) -> None:
    use(dialect="no_such")
    served_model.tell(parser)
    assert [one.name for one in served_model.dialects()] == ["kimi_k2"]


@pytest.mark.parametrize("parser", [None, "", "xlam"])
def test_where_no_name_tells_it_the_setting_does(parser: str | None, use: Any) -> None:
    served_model.tell(parser)
    use()
    assert [one.name for one in served_model.dialects()] == ["kimi_k2"]
    use(dialect="no_such")
    with pytest.raises(UnknownDialect):
        served_model.dialects()


def test_a_launcher_tells_the_processes_that_it_starts() -> None:
    seen = []

    def original(cls: type, args: Namespace) -> str:
        seen.append((cls, args, os.environ.get(names.PARSER_VARIABLE)))
        return "engine arguments"

    made = partial(served_model.from_cli_args, original)
    args = Namespace(tool_call_parser="kimi_k2_enforced")
    assert made(int, args) == "engine arguments"
    assert seen == [(int, args, "kimi_k2_enforced")]
    made(int, Namespace())  # a command without the option
    assert os.environ[names.PARSER_VARIABLE] == "kimi_k2_enforced"
    made(int, Namespace(tool_call_parser=None))
    assert not os.environ[names.PARSER_VARIABLE]


def test_a_launcher_tells_the_flags_on_texts_that_are_json() -> None:
    made = partial(served_model.from_cli_args, lambda _cls, _args: settings.current().options)
    for flags in ({}, {names.COMPACT_TEXT: True}, {names.CLOSED_TEXT: True}):
        config = StructuredOutputsConfig(backend="guidance", **flags)
        found = made(int, Namespace(tool_call_parser=None, structured_outputs_config=config))
        wanted = names.COMPACT_TEXT in flags, names.CLOSED_TEXT in flags
        assert (found.compact_text, found.closed_text) == wanted


def test_a_launcher_refuses_our_parser_without_auto_tools_before_it_starts_anything() -> None:
    """An engine without an API server picks no parser, so that it needs no such flag."""
    read: list[Namespace] = []
    made = partial(served_model.from_cli_args, lambda _cls, args: read.append(args))
    given = {"tool_call_parser": "kimi_k2_enforced", "enable_auto_tool_choice": False}
    with pytest.raises(ConfigurationError, match="needs --enable-auto-tool-choice"):
        made(int, Namespace(**given, headless=False))
    assert not read
    made(int, Namespace(**given, headless=True))
    made(int, Namespace(**given | {"enable_auto_tool_choice": True}))
    made(int, Namespace(**given | {"tool_call_parser": "kimi_k2"}))
    assert len(read) == 3


def test_request_ids_are_read_from_headers_once_however_often_a_launcher_reads() -> None:
    args = Namespace(middleware=["their.own"])
    assert read(int, read(int, args)).middleware == [
        "their.own",
        "enforcer.vllm.server.bodies.RequestMiddleware",
    ]
    assert not hasattr(read(int, Namespace()), "middleware")  # a command that serves nothing


def test_shadow_mode_has_its_own_middleware_and_refuses_our_parser(monkeypatch: Any) -> None:
    monkeypatch.setenv("ENFORCER_SHADOW", "on")
    args = read(int, Namespace(tool_call_parser="hermes", middleware=[]))
    assert args.middleware == ["enforcer.vllm.shadow.middleware.ShadowMiddleware"]
    with pytest.raises(ConfigurationError, match="--tool-call-parser hermes, or"):
        read(int, Namespace(tool_call_parser="hermes_enforced"))


@pytest.mark.parametrize("name", [names.MIDDLEWARE, names.SHADOW_MIDDLEWARE])
def test_a_middleware_is_found_by_its_name(name: str) -> None:
    assert callable(resolve_name(name))


def test_vllms_rust_front_end_gets_no_argument_that_it_does_not_know(monkeypatch: Any) -> None:
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    assert read(int, Namespace(middleware=[])).middleware == []


@pytest.mark.usefixtures("installed")
def test_every_parser_of_the_dialects_is_known_to_vllm_by_an_enforced_name() -> None:
    known = ToolParserManager.list_registered()
    for parser in dialects.parsers():
        assert {parser, names.enforced(parser)} <= set(known)
