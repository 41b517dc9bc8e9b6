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
    """
    if str(path) == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    return sorted(p for p in Path(path).rglob("*") if p.suffix.lower() in _SUFFIXES and p.is_file())


def read(path: str | Path) -> list[Document]:
    """Read a JSON or JSON Lines file; `-` is the standard input.

    Raises:
        ConfigurationError: it cannot be read, is empty, or is neither; a line is no JSON.

    """
    found: list[Document] = []
    for each in records(path):
        if isinstance(each, Unreadable):
            raise ConfigurationError(each.message)
        found.append(each)
    return found


def records(path: str | Path) -> list[Document | Unreadable]:
    """Read a file as `read` does, of which a line that is no JSON spoils no other."""
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
    """Parse the text of a file of that name; see `records`."""
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
    # A file of many lines is the one form or the other, which its name may tell. Else the first
    # line does: in an indented JSON file it is no value by itself. Where it is broken, the others
    # do: of an indented file's lines few are values.
    if name.lower().endswith(_LINES):
        return out
    values = sum(isinstance(each, Document) for each in out)
    if isinstance(out[0], Unreadable) and values * 2 < len(out):
        return [Unreadable(f"{name} {_wrong(whole)}")]
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
