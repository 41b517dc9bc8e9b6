"""JSON and JSON Lines files, as values that know where they stood.

Owns: telling the two forms apart, and what is said of a file or line that is neither. Must
not know: what the values mean.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import NoReturn

STANDARD_INPUT = "-"
_LINES = (".jsonl", ".ndjson")
_SUFFIXES = (".json", *_LINES)
# What editors on Windows begin a file with; it may come by any way, a pipe for one.
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value of a file.

    Attributes:
        value: parsed; numbers as Python reads them.
        where: `file`, or `file:line` in a file of JSON Lines.

    """

    value: Any
    where: str

    @property
    def values(self) -> list[Any]:
        """The elements of a list; of anything else, itself."""
        return self.value if isinstance(self.value, list) else [self.value]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What was to be read and could not be.

    Attributes:
        message: where it stands, and what is wrong with it.

    """

    message: str


def files(path: str | Path) -> list[str | Path]:
    """List the JSON and JSON Lines files of a folder and of those in it; any other path is itself.

    Known by their suffixes, in capitals as well: `.json`, `.jsonl`, `.ndjson`.

    Raises:
        ConfigurationError: the folder has none.

    """
    if str(path) == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    found = sorted(
        p for p in Path(path).rglob("*") if p.suffix.lower() in _SUFFIXES and p.is_file()
    )
    if not found:
        raise ConfigurationError(f"{path} has no .json, .jsonl or .ndjson file")
    return list(found)


def read(path: str | Path) -> list[Document]:
    """Read a JSON or JSON Lines file; `-` is the standard input.

    Raises:
        ConfigurationError: it cannot be read, is empty, or is neither; a line is no JSON.

    """
    return _all_of(records(path))


def records(path: str | Path) -> list[Document | Unreadable]:
    """Read a file as `read` does, of which a line that is no JSON spoils no other.

    Raises:
        ConfigurationError: it cannot be read, is empty, or is neither.

    """
    if str(path) == STANDARD_INPUT:
        return _records(_standard_input(), "<stdin>")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    return _records(text, str(path))


def _standard_input() -> str:
    if sys.stdin is None:
        raise ConfigurationError("cannot read the standard input, which is closed: name a file")
    try:
        return sys.stdin.read()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read the standard input: {error}") from error


def parse(text: str, name: str) -> list[Document]:
    """Parse the text of a file of that name; see `read`."""
    return _all_of(_records(text, name))


def _all_of(found: list[Document | Unreadable]) -> list[Document]:
    out = []
    for each in found:
        if isinstance(each, Unreadable):
            raise ConfigurationError(each.message)
        out.append(each)
    return out


def _records(text: str, name: str) -> list[Document | Unreadable]:
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        raise ConfigurationError(f"{name} is empty")
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
    # A file of many lines is the one form or the other, which its name may tell. Else the first
    # line does: in an indented JSON file it is no value by itself. Where it is broken, the others
    # do: of an indented file's lines few are values.
    if name.lower().endswith(_LINES):
        return out
    values = sum(isinstance(each, Document) for each in out)
    if isinstance(out[0], Unreadable) and values * 2 < len(out):
        raise ConfigurationError(f"{name} {_wrong(whole)}")
    return out


class _TooLarge(ValueError):  # noqa: N818 - named for what is wrong
    """JSON that is none the worse for it, but cannot be read here."""


def value(text: str) -> Any:
    """Read one JSON value.

    Raises:
        ValueError: it is none, or cannot be read; says why.

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
