"""Reader of JSON and JSON Lines files, as values with their file and line.

It tells the two forms apart, and reports files and lines that are neither. Must not know: what the
values mean.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from enforcer.errors import ConfigurationError

STANDARD_INPUT = "-"
_LINES = (".jsonl", ".ndjson")
_SUFFIXES = (".json", *_LINES)
# Editors on Windows begin files with it; it may come through a pipe too.
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value of a file.

    Attributes:
        value: the parsed JSON.
        where: `file`, or `file:line` in a file of JSON Lines.

    """

    value: Any
    where: str

    @property
    def values(self) -> list[Any]:
        """The elements, if the value is a list; else the value alone."""
        return self.value if isinstance(self.value, list) else [self.value]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file or line that could not be read.

    Attributes:
        message: the file and line, and the error.

    """

    message: str


def files(path: str | Path) -> list[str | Path]:
    """Return the JSON and JSON Lines files of a folder and its sub-folders; for a file, itself.

    Recognized by the suffixes `.json`, `.jsonl`, `.ndjson` in any case.
    """
    if str(path) == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    return sorted(p for p in Path(path).rglob("*") if p.suffix.lower() in _SUFFIXES and p.is_file())


def read(path: str | Path) -> list[Document]:
    """Return the values of a JSON or JSON Lines file; `-` is the standard input.

    Raises:
        ConfigurationError: the file cannot be read, is empty, or is neither; or a line is no JSON.

    """
    found: list[Document] = []
    for each in records(path):
        if isinstance(each, Unreadable):
            raise ConfigurationError(each.message)
        found.append(each)
    return found


def records(path: str | Path) -> list[Document | Unreadable]:
    """Return the values of a file as `read` does, with errors of single lines in their places."""
    is_input = str(path) == STANDARD_INPUT
    if is_input and sys.stdin is None:
        return [Unreadable("cannot read the standard input, which is closed: name a file")]
    name = "<stdin>" if is_input else str(path)
    try:
        text = sys.stdin.read() if is_input else Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        return [Unreadable(f"cannot read {name}: {error}")]
    return parse(text, name)


def parse(text: str, name: str) -> list[Document | Unreadable]:
    """Return the values of the text of a file; see `records`."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        return [Unreadable(f"{name} is empty")]
    try:
        return [Document(value(text), name)]
    except ValueError as error:
        whole = error
    out: list[Document | Unreadable] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            out.append(Document(value(line), f"{name}:{number}"))
        except ValueError as error:
            out.append(Unreadable(f"{name}:{number} {_wrong(error)}"))
    # The suffix decides between the two forms. Else it is broken JSON, and not JSON Lines, if the
    # first line is no value, and few other lines are.
    if name.lower().endswith(_LINES):
        return out
    values = sum(isinstance(each, Document) for each in out)
    if isinstance(out[0], Unreadable) and values * 2 < len(out):
        return [Unreadable(f"{name} {_wrong(whole)}")]
    return out


class _TooLarge(ValueError):  # noqa: N818 - named for what is wrong
    """Valid JSON that cannot be read here."""


def value(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is no JSON, or cannot be read; the message says why.

    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_int=_integer)
    except RecursionError:
        raise _TooLarge("it is nested too deeply") from None


def _wrong(error: ValueError) -> str:
    return ("cannot be read: " if isinstance(error, _TooLarge) else "is not JSON: ") + str(error)


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        most = sys.get_int_max_str_digits()
        raise _TooLarge(
            f"it has an integer of {len(digits.lstrip('-')):,} digits, and at most {most:,} can be "
            "read"
        ) from None


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
