"""Options that several commands share, with their help."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enforcer import engines
from enforcer.extras import needed_for
from enforcer.tools.verify import KEY_VARIABLE

if TYPE_CHECKING:
    from enforcer.tools.verify.client import Endpoint


def add_command(
    commands: Any, run: Callable[[argparse.Namespace], int], name: str, what: str, description: str
) -> argparse.ArgumentParser:
    """Add a command to a parser's commands, and return the parser of its options.

    Args:
        commands: the parser's.
        run: runs the command, and returns its exit status.
        name: of the command.
        what: the line of the command in a list of commands.
        description: the text above its options; its lines stay as they are.

    """
    as_it_is = argparse.RawDescriptionHelpFormatter
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=what, description=description, formatter_class=as_it_is
    )
    parser.set_defaults(run=run)
    return parser


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add `--engine`."""
    parser.add_argument(
        "--engine", choices=engines.ENGINES, default=engines.MACHINE, help="(%(default)s)"
    )


def add_schemas(parser: argparse.ArgumentParser) -> None:
    """Add `--documents`, `--closed-objects` and `--no-closed-objects`."""
    add_documents(parser)
    add = parser.add_argument
    says = "as with ENFORCER_CLOSED_OBJECTS on a server"
    add("--closed-objects", action=argparse.BooleanOptionalAction, default=True, help=says)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add `--model`, a folder, and `--trust-remote-code`."""
    add = parser.add_argument
    add("--model", type=path, metavar="PATH", help="folder of the model")
    add("--trust-remote-code", action="store_true", help="run the tokenizer code in that folder")


def add_documents(parser: Any) -> None:
    """Add `--documents`, which may be given several times; `options.documents` is a list."""
    says = "file or folder of JSON Schemas that others may refer to, as with ENFORCER_DOCUMENTS"
    add = parser.add_argument
    add("--documents", action="append", default=[], type=named, metavar="[URI=]PATH", help=says)


def add_dialect(parser: Any, default: str | None, says: str = "%(default)s") -> None:
    """Add `--dialect`; `says` describes the default."""
    says = f"the model's format: a dialect, or the name of vLLM's parser for it ({says})"
    parser.add_argument("--dialect", default=default, metavar="NAME", help=says)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_server(parser: Any, timeout: float) -> None:
    """Add `--key` and `--timeout`, which `endpoint_of` reads beside `--url`."""
    add = parser.add_argument
    add("--key", help=f"API key of the server (${KEY_VARIABLE} by default)")
    says = "seconds that it may stay silent (%(default)s)"
    add("--timeout", type=positive(float), default=timeout, metavar="S", help=says)


def endpoint_of(given: argparse.Namespace, **more: Any) -> Endpoint:
    """Return the server that `--url` names, and import the HTTP client.

    Raises:
        ConfigurationError: not a URL, or a package is missing.

    """
    with needed_for("asking a server"):
        from enforcer.tools.verify.client import Endpoint
    key = given.key or os.environ.get(KEY_VARIABLE)
    return Endpoint.at(given.url, key=key, timeout=given.timeout, **more)


def path(text: str) -> Path:
    """Read a path, for `type=` of an option."""
    return Path(named(text))


def named(text: str) -> str:
    """Read the name of a file, which is not empty, for `type=` of an option."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; the current directory is `.`")
    return text


def finite(text: str) -> float:
    """Read a number that JSON can write, for `type=` of an option."""
    value = float(text)
    if not isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is not a number that can be sent")
    return value


def positive(kind: type[int | float]) -> Callable[[str], float]:
    """Return a reader of numbers above 0, for `type=` of an option."""

    def read(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
        return value

    return read
