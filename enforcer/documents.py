"""JSON and JSON Lines files, as values that know where they stood.

Owns: telling the two forms apart, and what is said of a file that is neither. Must
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


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value of a file.

    Attributes:
        value: parsed; numbers as Python reads them.
        where: `file`, or `file:line` in a file of JSON Lines.

    """

    value: Any
    where: str


def files(path: str | Path) -> list[str | Path]:
    """List the JSON and JSON Lines files of a folder and of those in it; any other path is itself.

    Raises:
        ConfigurationError: the folder has none.

    """
    if str(path) == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    found = sorted(p for p in Path(path).rglob("*.json*") if p.suffix in (".json", ".jsonl"))
    if not found:
        raise ConfigurationError(f"{path} has no .json or .jsonl file")
    return list(found)


def read(path: str | Path) -> list[Document]:
    """Read a JSON or JSON Lines file; `-` is the standard input.

    Raises:
        ConfigurationError: it cannot be read, is empty, or is neither.

    """
    if str(path) == STANDARD_INPUT:
        return parse(sys.stdin.read(), "<stdin>")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> list[Document]:
    """Parse the text of a file of that name; see `read`."""
    if not text.strip():
        raise ConfigurationError(f"{name} is empty")
    try:
        return [Document(_value(text), name)]
    except ValueError as error:
        whole = error
    # A file of many lines is the one form or the other. The first line tells: in an indented
    # JSON file it is no value by itself.
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    out = []
    for number, line in lines:
        try:
            out.append(Document(_value(line), f"{name}:{number}"))
        except ValueError as error:
            if not out:
                raise ConfigurationError(f"{name} is not JSON: {whole}") from error
            raise ConfigurationError(f"{name}:{number} is not JSON: {error}") from error
    return out


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
