"""The place at which the beginning of a JSON text ends.

Takes for granted that the text is a beginning of JSON: an engine has let it through. Must not know:
schemas, grammars.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, reduce
from typing import Any

from enforcer.schema.reading.document import step

_TOKEN = re.compile(rb'[{}\[\],:]|"(?:[^"\\]|\\.?)*("?)|[^\s{}\[\],:"]+', re.DOTALL)


class JsonDue(Enum):
    """The next part of a text."""

    NAME = "the name of a property"
    COLON = "the colon behind it"
    VALUE = "a value"
    MORE = "a comma or a bracket, behind a member"
    NOTHING = "nothing, behind the whole text"


@dataclass(slots=True)
class Container:
    """An object or an array that is open.

    Attributes:
        members: those that are complete.
        key: name or index of the member that is being written, or of the last one.

    """

    members: dict[str, Any] | list[Any]
    key: str | int | None = None


@dataclass(frozen=True)
class Cursor:
    """A place in a text.

    Attributes:
        text: up to the place.
        inside: the containers that are open, the outermost first.
        due: the part that is due, or has been begun.
        begun: a string or a bare word that has been begun, with its quote.
        opened: whether the innermost container has been opened just now.

    """

    text: bytes
    inside: tuple[Container, ...]
    due: JsonDue
    begun: bytes = b""
    opened: bool = False

    @property
    def path(self) -> tuple[str | int, ...]:
        """Names and indices that lead to the value that is due or has been begun, if one is."""
        found = (each.key for each in self.inside[: None if self.due is JsonDue.VALUE else -1])
        return tuple(key for key in found if key is not None)

    @cached_property
    def string(self) -> tuple[str, bytes] | None:
        """The characters of a string that has been begun, and the bytes of a part of one."""
        if self.begun[:1] != b'"':
            return None
        for end in range(len(self.begun), 1, -1):
            try:
                text: str = json.loads(self.begun[:end] + b'"')
                text.encode()  # one half of a surrogate pair is no character
            except ValueError:
                continue
            return text, self.begun[end:]
        return "", self.begun[1:]

    @property
    def word(self) -> str:
        """A number or a word that has been begun."""
        return "" if self.string else self.begun.decode()

    def ended(self) -> Cursor | None:
        """Return the place behind the word that has been begun; None where it is not whole."""
        try:
            return locate(self.text + b" ")
        except ValueError:
            return None


def locate(text: bytes) -> Cursor:
    """Read the beginning of a JSON text.

    Raises:
        ValueError: it is none.

    """
    inside: list[Container] = []
    due, begun, opened = JsonDue.VALUE, b"", False
    for found in _TOKEN.finditer(text):
        token = found[0]
        opened = token in {b"{", b"["}
        if not inside and token in {b"}", b"]", b","}:
            raise ValueError("a bracket or a comma outside of all values")
        if opened:
            inside.append(Container({}) if token == b"{" else Container([], 0))
            due = JsonDue.NAME if token == b"{" else JsonDue.VALUE
        elif token == b":":
            due = JsonDue.VALUE
        elif token == b",":
            last = inside[-1]
            due = JsonDue.VALUE if isinstance(last.members, list) else JsonDue.NAME
            last.key = len(last.members) if isinstance(last.members, list) else last.key
        elif token not in {b"}", b"]"} and found.end() == len(text) and not found[1]:
            begun = token
        elif token not in {b"}", b"]"} and due is JsonDue.NAME:
            inside[-1].key = json.loads(token)
            due = JsonDue.COLON
        else:
            value = inside.pop().members if token in {b"}", b"]"} else json.loads(token)
            due = JsonDue.MORE if inside else JsonDue.NOTHING
            members = inside[-1].members if inside else []
            if isinstance(members, list):
                members.append(value)
            else:
                members[str(inside[-1].key)] = value
    return Cursor(text, tuple(inside), due, begun, opened)


def written(path: tuple[str | int, ...]) -> str:
    """Write a path as `$.a[0]`."""
    return reduce(step, path, "$")
