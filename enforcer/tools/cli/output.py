"""Output of all commands: lines, JSON, files.

A line stays one line and moves no cursor, whatever names are in it; JSON is ASCII, and so reads
the same in any encoding; an output that cannot be written is an error with a cure.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from enforcer.errors import ConfigurationError

# A name comes from a file or a server. Control characters could write other rows than the command
# does, and what turns the direction of writing could show them in another order; halves of a
# surrogate pair cannot be written at all.
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SEPARATORS = "\u2028\u2029"
_UNSEEN = re.compile(f"[\\x00-\\x1f\\x7f-\\x9f{_DIRECTIONS}{_SEPARATORS}\\ud800-\\udfff]")


class Unwritable(ConfigurationError):  # noqa: N818 - named for what is wrong
    """An output is closed, or what it leads to takes no more."""


def prepare() -> None:
    """Write characters that an output's encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def plain(text: str) -> str:
    """Write invisible and control characters as escapes."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def number(count: int, what: str) -> str:
    """Write a count with its noun: `1 request`, `2 requests`."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def say(*lines: object) -> None:
    """Print lines, each of which stays one line; without any, only test the output.

    Raises:
        Unwritable: the output is closed, or takes no more.

    """
    _write(sys.stdout, lines)


def complain(*lines: object) -> None:
    """Print lines to the standard error, each behind the command's name."""
    remark(*(f"enforcer: {line}" for line in lines))


def remark(*lines: object) -> None:
    """Print lines to the standard error."""
    with suppress(Unwritable):  # there is no other place to say so
        _write(sys.stderr, lines)


def say_json(value: Any) -> None:
    """Print a JSON value, in ASCII: it reads as the same whatever the output's encoding is.

    Raises:
        Unwritable: the output takes no more.

    """
    text = json.dumps(value, indent=1).replace("\x7f", "\\u007f")  # which is ASCII, too
    _write_text(sys.stdout, text + "\n")


def write_file(path: Path, text: str) -> None:
    """Write a file, in which the half of a surrogate pair becomes its escape.

    Raises:
        ConfigurationError: it cannot be written.

    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot write {path}: {error}") from error


def discard() -> None:
    """Drop unwritten output, which Python would write again at its end."""
    if sys.stdout is None:
        return
    with suppress(OSError, ValueError):
        stream = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _write(stream: TextIO | None, lines: Iterable[object]) -> None:
    _write_text(stream, "".join(f"{plain(str(line))}\n" for line in lines))


def _write_text(stream: TextIO | None, text: str) -> None:
    if stream is None:
        raise Unwritable("the standard output is closed: lead it to a file, or to /dev/null")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritable(f"cannot write the output: {error}") from error
