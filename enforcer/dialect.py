"""A tool-call format as a frozen value, read from `grammars/NAME.toml`.

Owns: the form of a dialect file, its checks, and finding the file. Must not
know: token ids (that is `envelope`), tools, or any format in particular: a
format is data, never code.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from enforcer.errors import UnknownDialect

if TYPE_CHECKING:
    from collections.abc import Mapping


class Segment(Enum):
    """What the text of a state is."""

    REASONING = "reasoning"
    CONTENT = "content"
    HEADER = "header"
    ARGUMENTS = "arguments"
    NONE = "none"


FREE_TEXT = frozenset({Segment.REASONING, Segment.CONTENT})


class Guard(Enum):
    """When a transition is open."""

    ALWAYS = "always"
    CALL = "call"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Transition:
    """Where a marker leads, and when."""

    to: str
    when: Guard


@dataclass(frozen=True, slots=True)
class State:
    """One state: its text, and the markers that leave it."""

    segment: Segment
    text_to: str
    on: Mapping[str, Transition]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A format. `states` and `markers` keep the order of the file.

    Attributes:
        markers: role to the names of the control tokens that play it.
        optional: names of control tokens that a tokenizer may lack.
        header: template of a call's header, with `{name}` and `{index}`.
        start: state of a turn whose prompt is not known.
        final: state after the end of the turn.
        turn_begin, turn_end: control tokens around the role name that opens a turn.
        turn_state: state right after them.
        examples: the file's own examples, for the tests.

    """

    name: str
    header: str
    start: str
    final: str
    markers: Mapping[str, tuple[str, ...]]
    optional: frozenset[str]
    turn_begin: str
    turn_end: str
    turn_state: str
    states: Mapping[str, State]
    examples: tuple[Mapping[str, Any], ...]

    def header_text(self, name: str, index: int) -> str:
        """Header of the call number `index` of a dialog, to the tool `name`."""
        return self.header.format(name=name, index=index)

    def header_parts(self, text: str) -> tuple[str, int] | None:
        """Name and index that a header carries; None if it is not one."""
        head, rest = self.header.split("{name}")
        between, tail = rest.split("{index}")
        if not (text.startswith(head) and text.endswith(tail)):
            return None
        name, found, digits = text[len(head) : len(text) - len(tail)].rpartition(between)
        canonical = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
        # int() refuses thousands of digits; no dialog has a number of calls that long.
        if not found or not name or not canonical or len(digits) > 9:  # noqa: PLR2004
            return None
        return name, int(digits)

    def diagram(self) -> str:
        """Draw the table as a Mermaid state diagram."""
        lines = ["stateDiagram-v2", f"    [*] --> {self.turn_state}"]
        for name, state in self.states.items():
            if state.text_to != name:
                lines.append(f"    {name} --> {state.text_to}: text")
            for marker, transition in state.on.items():
                guard = "" if transition.when is Guard.ALWAYS else f" [{transition.when.value}]"
                lines.append(f"    {name} --> {transition.to}: {marker}{guard}")
        lines.append(f"    {self.final} --> [*]")
        return "\n".join(lines)


def _folder() -> Path:
    """Find the dialect files: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "grammars"
    return inside if inside.is_dir() else package.parent / "grammars"


def available() -> tuple[str, ...]:
    """Name the dialects that `load` knows."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


@cache
def load(name: str) -> Dialect:
    """Read the dialect of that name.

    Raises:
        UnknownDialect: there is none, or its file is not a valid dialect.

    """
    if name not in available():
        raise UnknownDialect(
            f"unknown dialect {name!r}; known are: {', '.join(available()) or 'none'}"
        )
    return parse((_folder() / f"{name}.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Dialect:
    """Read a dialect from the text of its file, and check it.

    Raises:
        UnknownDialect: not TOML, an unknown or missing key, a transition on an unknown
            marker or to an unknown state, a state that cannot be reached or left.

    """
    try:
        dialect = _build(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnknownDialect(f"not a dialect file: {error!r}") from error
    _check(dialect)
    return dialect


def _build(data: dict[str, Any]) -> Dialect:
    markers = data.pop("markers")
    turn = data.pop("turn")
    tables = data.pop("states")
    states = {
        name: State(
            segment=Segment(table.pop("segment")),
            text_to=table.pop("text_to", name),
            on=MappingProxyType(
                {marker: _transition(entry) for marker, entry in table.pop("on").items()}
            ),
        )
        for name, table in tables.items()
    }
    for name, table in tables.items():
        _nothing_left(table, f"states.{name}")
    dialect = Dialect(
        name=data.pop("name"),
        header=data.pop("header"),
        start=data.pop("start"),
        final=data.pop("final"),
        markers=MappingProxyType({role: tuple(names) for role, names in markers.items()}),
        optional=frozenset(data.pop("optional", {}).get("tokens", ())),
        turn_begin=turn.pop("begin"),
        turn_end=turn.pop("end"),
        turn_state=turn.pop("state"),
        states=MappingProxyType(states),
        examples=tuple(data.pop("examples", ())),
    )
    _nothing_left(turn, "turn")
    _nothing_left(data, "the file")
    return dialect


def _transition(entry: dict[str, str]) -> Transition:
    transition = Transition(to=entry.pop("to"), when=Guard(entry.pop("when", "always")))
    _nothing_left(entry, "a transition")
    return transition


def _nothing_left(table: Mapping[str, object], where: str) -> None:
    if table:
        raise ValueError(f"unknown keys in {where}: {', '.join(table)}")


def _check(dialect: Dialect) -> None:
    if dialect.header.count("{name}") != 1 or dialect.header.count("{index}") != 1:
        raise UnknownDialect(f"{dialect.name}: the header needs one {{name}} and one {{index}}")
    if dialect.header.index("{name}") > dialect.header.index("{index}"):
        raise UnknownDialect(f"{dialect.name}: the header's {{name}} must precede its {{index}}")
    for name, state in dialect.states.items():
        for marker in state.on:
            if marker not in dialect.markers:
                raise UnknownDialect(f"{dialect.name}: {name} leaves on unknown {marker!r}")
        for target in (state.text_to, *(transition.to for transition in state.on.values())):
            if target not in dialect.states:
                raise UnknownDialect(f"{dialect.name}: {name} leads to unknown {target!r}")
    for role in (dialect.start, dialect.final, dialect.turn_state):
        if role not in dialect.states:
            raise UnknownDialect(f"{dialect.name}: there is no state {role!r}")
    reached = _closure(dialect, {dialect.start, dialect.turn_state})
    if lost := [name for name in dialect.states if name not in reached]:
        raise UnknownDialect(f"{dialect.name}: states that cannot be reached: {', '.join(lost)}")
    if stuck := [n for n in dialect.states if dialect.final not in _closure(dialect, {n})]:
        raise UnknownDialect(f"{dialect.name}: states without a way out: {', '.join(stuck)}")


def _closure(dialect: Dialect, names: set[str]) -> set[str]:
    todo = list(names)
    while todo:
        state = dialect.states[todo.pop()]
        for target in (state.text_to, *(transition.to for transition in state.on.values())):
            if target not in names:
                names.add(target)
                todo.append(target)
    return names
