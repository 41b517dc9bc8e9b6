"""Where in a JSON text that is being written one stands.

Owns: the path of names and indices to the value that is being written, and the part of a
scalar that has been begun. Takes for granted that the text is a beginning of JSON: an engine
has let it through. Must not know: schemas, grammars.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce

from enforcer.schema.reading.document import step

_BLANK = frozenset(b" \t\r\n")
_QUOTE, _BACKSLASH = 0x22, 0x5C
_OPENERS: dict[int, str | int] = {ord("{"): "", ord("["): 0}
_STRUCTURE = frozenset(b"{}[],:")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a text.

    Attributes:
        path: names and indices of the containers that are open, each the one that leads on; the
            last of them leads to the value that is due or has been begun, if one is.
        here: name or index that was last written in the innermost container; None outside.
        begun: what has been written of a string or of a bare word, its quote included.

    """

    path: tuple[str | int, ...]
    here: str | int | None
    begun: bytes


def locate(text: bytes) -> Cursor:
    """Read the beginning of a JSON text."""
    # For each open container: the name or the index, and whether a value is due or begun.
    keys: list[str | int] = []
    due: list[bool] = []
    at, begun = 0, b""
    while at < len(text):
        byte = text[at]
        if byte in _BLANK:
            at += 1
        elif byte in _STRUCTURE:
            _structure(byte, keys, due)
            at += 1
        else:
            end = _end(text, at)
            if end is None:
                begun = text[at:]
                break
            if keys and isinstance(keys[-1], str) and not due[-1]:
                keys[-1] = json.loads(text[at:end])
            elif due:
                due[-1] = False
            at = end
    path = [key for key, leads in zip(keys[:-1], due[:-1], strict=True) if leads]
    if keys and due[-1]:
        path.append(keys[-1])
    return Cursor(tuple(path), keys[-1] if keys else None, begun)


def _structure(byte: int, keys: list[str | int], due: list[bool]) -> None:
    if byte in _OPENERS:
        keys.append(_OPENERS[byte])
        due.append(byte == ord("["))
    elif byte == ord(":"):
        due[-1] = True
    elif byte == ord(","):
        key = keys[-1]
        if isinstance(key, int):
            keys[-1] = key + 1
        due[-1] = isinstance(key, int)
    else:
        keys.pop()
        due.pop()
        if due:
            due[-1] = False


def _end(text: bytes, at: int) -> int | None:
    """Find the end of the scalar that begins there; None if it may go on."""
    if text[at] != _QUOTE:
        for i in range(at, len(text)):
            if text[i] in _BLANK or text[i] in _STRUCTURE:
                return i
        return None
    i = at + 1
    while i < len(text):
        if text[i] == _QUOTE:
            return i + 1
        i += 2 if text[i] == _BACKSLASH else 1
    return None


def written(path: tuple[str | int, ...]) -> str:
    """Write a path as `$.a[0]`."""
    return reduce(step, path, "$")
