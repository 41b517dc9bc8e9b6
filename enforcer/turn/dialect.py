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

from enforcer.errors import UnknownDialect, brief

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


class Ids(Enum):
    """Where the id of a call comes from."""

    WRITTEN = "written"  # it is the header, whose index counts the dialog's calls
    MESSAGE = "message"  # the header's index counts the calls of its message; nothing renders ids
    RANDOM = "random"  # nothing of it is in the text: the server invents one
    RANDOM9 = "random9"  # likewise, of nine letters and digits, as Mistral's templates demand


class Guard(Enum):
    """When a transition is open."""

    ALWAYS = "always"
    CALL = "call"
    FINISH = "finish"
    EMPTY = "empty"


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
    blank_to: str
    on: Mapping[str, Transition]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A format. `states` and `markers` keep the order of the file.

    Attributes:
        markers: role to the names of the control tokens that play it.
        optional: names of control tokens that a tokenizer may lack.
        parsers: vLLM's names for the parsers of the format.
        told_by: control tokens that a tokenizer has if it is of this format, and not of
            another one with the same parsers.
        ids: where the ids of calls come from.
        header: template of a call's header, with `{name}` and `{index}`.
        start: state of a turn whose prompt is not known.
        final: state after the end of the turn.
        turn_begin, turn_end: control tokens around the role name that opens a turn.
        turn_state: state right after them.
        examples: the file's own examples, for the tests.

    """

    name: str
    parsers: tuple[str, ...]
    told_by: tuple[str, ...]
    ids: Ids
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
        head, between, tail = _split_header(self.header)
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
            if state.blank_to not in {name, state.text_to}:
                lines.append(f"    {name} --> {state.blank_to}: white space")
            for marker, transition in state.on.items():
                guard = "" if transition.when is Guard.ALWAYS else f" [{transition.when.value}]"
                lines.append(f"    {name} --> {transition.to}: {marker}{guard}")
        lines.append(f"    {self.final} --> [*]")
        return "\n".join(lines)


def _folder() -> Path:
    """Find the dialect files: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "grammars"
    return inside if inside.is_dir() else package.parent / "grammars"


def available() -> tuple[str, ...]:
    """Name the dialects that `load` knows."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def load(name: str) -> Dialect:
    """Read the dialect of that name.

    Raises:
        UnknownDialect: there is none, or its file is not a valid dialect.

    """
    if name not in available():
        raise UnknownDialect(
            f"unknown dialect {brief(name)}; known are: {', '.join(available()) or 'none'}"
        )
    return _load(name)


@cache
def of_parser(parser: str) -> tuple[Dialect, ...]:
    """Give the dialects that a parser of vLLM's reads, those with most to tell them by first.

    Raises:
        UnknownDialect: a file is not a valid dialect.

    """
    found = [dialect for dialect in map(load, available()) if parser in dialect.parsers]
    return tuple(sorted(found, key=lambda dialect: -len(dialect.told_by)))


def parsers() -> tuple[str, ...]:
    """Name the parsers of vLLM's whose formats are known.

    Raises:
        UnknownDialect: a file is not a valid dialect.

    """
    return tuple(sorted({name for one in map(load, available()) for name in one.parsers}))


@cache
def _load(name: str) -> Dialect:
    return parse((_folder() / f"{name}.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Dialect:
    """Read a dialect from the text of its file, and check it.

    Raises:
        UnknownDialect: not TOML, an unknown or missing key, a value of another type, a
            token with two roles, a transition on an unknown marker or to an unknown state,
            a state that cannot be reached or left.

    """
    try:
        dialect = _build(tomllib.loads(text))
        _split_header(dialect.header)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UnknownDialect(f"not a dialect file: {error!r}") from error
    _check(dialect)
    return dialect


def _build(data: dict[str, Any]) -> Dialect:
    markers = data.pop("markers")
    turn = data.pop("turn")
    tables = data.pop("states")
    states = {name: _state(name, table) for name, table in tables.items()}
    for name, table in tables.items():
        _nothing_left(table, f"states.{name}")
    optional = data.pop("optional", {"tokens": []})
    dialect = Dialect(
        name=_text(data.pop("name")),
        parsers=_texts(data.pop("parsers", [])),
        told_by=_texts(data.pop("told_by", [])),
        ids=Ids(data.pop("ids", "written")),
        header=_text(data.pop("header")),
        start=_text(data.pop("start")),
        final=_text(data.pop("final")),
        markers=MappingProxyType({role: _texts(names) for role, names in markers.items()}),
        optional=frozenset(_texts(optional.pop("tokens"))),
        turn_begin=_text(turn.pop("begin")),
        turn_end=_text(turn.pop("end")),
        turn_state=_text(turn.pop("state")),
        states=MappingProxyType(states),
        examples=tuple(data.pop("examples", ())),
    )
    _nothing_left(optional, "optional")
    _nothing_left(turn, "turn")
    _nothing_left(data, "the file")
    return dialect


def _state(name: str, table: dict[str, Any]) -> State:
    text_to = _text(table.pop("text_to", name))
    return State(
        segment=Segment(table.pop("segment")),
        text_to=text_to,
        blank_to=_text(table.pop("blank_to", text_to)),
        on=MappingProxyType(
            {marker: _transition(entry) for marker, entry in table.pop("on").items()}
        ),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{brief(value)} stands where a text should")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{brief(value)} stands where a list of texts should")
    return tuple(_text(item) for item in value)


def _transition(entry: dict[str, str]) -> Transition:
    transition = Transition(to=_text(entry.pop("to")), when=Guard(entry.pop("when", "always")))
    _nothing_left(entry, "a transition")
    return transition


def _nothing_left(table: Mapping[str, object], where: str) -> None:
    if table:
        raise ValueError(f"unknown keys in {where}: {', '.join(table)}")


def _split_header(header: str) -> tuple[str, str, str]:
    """Split a header's template into what stands before, between and after its two fields."""
    head, name, rest = header.partition("{name}")
    between, index, tail = rest.partition("{index}")
    if not (name and index and between) or {"{", "}"} & set(head + between + tail):
        raise ValueError(
            f"header {header!r}: it needs one {{name}} and then, after some text, one {{index}}"
        )
    return head, between, tail


def _check(dialect: Dialect) -> None:
    tokens = [token for tokens in dialect.markers.values() for token in tokens]
    if twice := sorted({token for token in tokens if tokens.count(token) > 1}):
        raise UnknownDialect(f"{dialect.name}: tokens with two roles: {', '.join(twice)}")
    if empty := [role for role, names in dialect.markers.items() if not names]:
        raise UnknownDialect(f"{dialect.name}: markers without a token: {', '.join(empty)}")
    for name, state in dialect.states.items():
        for marker in state.on:
            if marker not in dialect.markers:
                raise UnknownDialect(f"{dialect.name}: {name} leaves on unknown {marker!r}")
        if state.segment not in FREE_TEXT and {state.text_to, state.blank_to} != {name}:
            raise UnknownDialect(
                f"{dialect.name}: text leads out of {name}, whose {state.segment.value} only a "
                "marker ends"
            )
        for target in _targets(state):
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


def _targets(state: State) -> tuple[str, ...]:
    return (state.text_to, state.blank_to, *(found.to for found in state.on.values()))


def _closure(dialect: Dialect, names: set[str]) -> set[str]:
    todo = list(names)
    while todo:
        state = dialect.states[todo.pop()]
        for target in _targets(state):
            if target not in names:
                names.add(target)
                todo.append(target)
    return names
