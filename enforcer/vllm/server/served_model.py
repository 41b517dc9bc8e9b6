"""The served model as vLLM's command line names it: its parser, and so its tool-call formats.

The processes that a launcher starts do not see its command line: the parser's name reaches them
in an environment variable. The name of a parser of vLLM's counts like ours: requests there bring a
spec, or vLLM's own structural tags.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from vllm import envs

from enforcer.errors import ConfigurationError, EnforcerError, InvalidVocabulary
from enforcer.turn import dialects as dialects_
from enforcer.vllm.config import names, settings
from enforcer.vllm.observe import recording

if TYPE_CHECKING:
    from enforcer.turn.dialect import Dialect


def from_cli_args(original: Any, cls: Any, args: Any) -> Any:
    """Wrap `EngineArgs.from_cli_args`, which every launcher calls before it starts an engine."""
    if hasattr(args, "tool_call_parser"):
        tell(args.tool_call_parser)
        tell_flags(getattr(args, "structured_outputs_config", None))
        refuse_in_shadow(args.tool_call_parser)
        # A node without an API server picks no parser.
        port = settings.current().metrics_port
        if not getattr(args, "headless", False):
            auto = getattr(args, "enable_auto_tool_choice", None)
            demand_auto_tools(args.tool_call_parser, auto)
        elif port:
            recording.serve(port, args.host)
    # Launchers read the same arguments more than once, each API server among them. vLLM's Rust
    # front end gets them too, and does not start with such an argument.
    middleware = getattr(args, "middleware", None)
    if middleware is not None and not envs.VLLM_USE_RUST_FRONTEND:
        own = names.SHADOW_MIDDLEWARE if settings.current().shadow else names.MIDDLEWARE
        args.middleware = [*middleware, *({own} - {*middleware})]
    return original(cls, args)


def demand_auto_tools(parser: str | None, enabled: bool | None) -> None:  # noqa: FBT001 - a flag's
    """Refuse a parser of ours whose calls vLLM would leave out of its replies.

    Args:
        parser: its name.
        enabled: whether `--enable-auto-tool-choice` was given; None where that is not known.

    Raises:
        ConfigurationError: it is one, and the flag was not given.

    """
    if names.is_enforced(parser) and enabled is False:
        raise ConfigurationError(
            f"--tool-call-parser {parser} needs --enable-auto-tool-choice: without it "
            "vLLM leaves calls out of its replies that `tool_choice` does not demand"
        )


def refuse_in_shadow(parser: str | None) -> None:
    """Refuse a parser of ours where vLLM's own is to answer.

    Args:
        parser: its name.

    Raises:
        ConfigurationError: it is one, in shadow mode.

    """
    if names.is_enforced(parser) and settings.current().shadow:
        raise ConfigurationError(
            f"{settings.PREFIX}SHADOW=on judges the replies of vLLM's own parser: start with "
            f"--tool-call-parser {names.stock(parser or '')}, or switch {settings.PREFIX}SHADOW off"
        )


def tell(parser: str | None) -> None:
    """Remember the parser's name, here and in processes that this one starts."""
    os.environ[names.PARSER_VARIABLE] = parser or ""


def tell_flags(config: Any) -> None:
    """Remember the flags of a `StructuredOutputsConfig` on JSON texts; see `tell`."""
    known = (names.COMPACT_TEXT, names.CLOSED_TEXT)
    os.environ[names.TEXT_VARIABLE] = " ".join(
        flag for flag in known if getattr(config, flag, None)
    )
    settings.current.cache_clear()


def has_stock_parser() -> bool:
    """Return whether the server has a parser of vLLM's own, which reads replies by their text."""
    parser = os.environ.get(names.PARSER_VARIABLE)
    return bool(parser) and not names.is_enforced(parser)


def has_our_parser() -> bool:
    """Return whether the server has a parser of ours, which enforces every request."""
    return names.is_enforced(os.environ.get(names.PARSER_VARIABLE))


def reads_text() -> bool:
    """Return whether vLLM's parser also reads the replies to requests that bring a spec.

    Of the formats that are known by its name, ours reads them (`parser_choice`).
    """
    parser = os.environ.get(names.PARSER_VARIABLE, "")
    return has_stock_parser() and not dialects_.of_parser(parser)


def dialects() -> tuple[Dialect, ...]:
    """Return the dialects that the served model may speak; of several, its tokenizer has one.

    The parser names them; if it names none, the operator's `ENFORCER_DIALECT` does.

    Raises:
        UnknownDialect: a file is not a valid dialect.
        ConfigurationError: a setting of the operator is wrong.

    """
    parser = names.stock(os.environ.get(names.PARSER_VARIABLE, ""))
    return dialects_.of_parser(parser) or (dialects_.load(settings.current().dialect),)


def blamed(error: EnforcerError) -> EnforcerError:
    """Return an error of the vocabulary with the flag or setting that demands its format."""
    parser, chosen = os.environ.get(names.PARSER_VARIABLE), settings.current()
    needed = names.is_enforced(parser) or chosen.shadow
    if not needed or not isinstance(error, InvalidVocabulary):
        return error
    what = f"--tool-call-parser {parser}" if parser else f"ENFORCER_DIALECT={chosen.dialect}"
    if chosen.shadow:
        what = f"ENFORCER_SHADOW=on with {what}"
    formats = " or ".join(dialect.name for dialect in dialects())
    return InvalidVocabulary(f"{what} is for models of the format {formats}: {error}")
