"""Loader of the dialect files `grammars/NAME.toml`, each of which describes a tool-call format.

Owns: finding the files, by their names or those of vLLM's parsers; their form; their checks. Must
not know: token ids, tools, or any format in particular.

A new format is a file and no code (docs/formats.md), unless it needs a new member of `Ids`,
`Names`, `Guard`, `Segment` or `LayoutKind`: ids of calls from another source, another rule for
names, a transition under another condition, text of another kind, or arguments that are neither
JSON nor pairs nor Python. Only `vllm/native/` has code for formats by their names: it reads the
structural tags that vLLM itself builds, of Kimi's formats alone. A short file, whose keys
docs/formats.md explains:

```toml
name = "example"
ids = "random"
header = "{name}"
start = "TEXT"
final = "END"
markers = { begin = ["<call>"], args = ["<args>"], close = ["</call>"], end = ["<end>"] }
turn = { begin = "<assistant>", state = "TEXT" }
[states.TEXT]
segment = "content"
on = { begin = { to = "NAME", when = "call" }, end = { to = "END", when = "finish" } }
[states.NAME]
segment = "header"
on = { args = { to = "ARGUMENTS" } }
[states.ARGUMENTS]
segment = "arguments"
on = { close = { to = "TEXT" } }
[states.END]
segment = "none"
on = { end = { to = "END" } }
```
"""

from __future__ import annotations

import tomllib
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from enforcer.errors import UnknownDialect, brief
from enforcer.layouts import Layout
from enforcer.layouts.layout import one_of
from enforcer.turn import pattern
from enforcer.turn.dialect import (
    FREE_TEXT,
    Dialect,
    DialectState,
    Guard,
    Ids,
    Names,
    Segment,
    Tokens,
    Transition,
    TurnOpening,
    closure,
    targets,
)
from enforcer.turn.pattern import INDEX, MADE, NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class _Closed(Enum):
    """Meaning of a marker whose guard is not met."""

    TEXT = "text"
    ILLEGAL = "illegal"


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
    if not isinstance(name, str):
        raise _unknown(name)
    return _load(name)  # a server asks at each request: without looking into a folder


def _unknown(name: object) -> UnknownDialect:
    known = ", ".join(available()) or "none"
    return UnknownDialect(f"unknown dialect {brief(name)}{_as_path(name)}; known are: {known}")


def _as_path(name: object) -> str:
    """Return advice for a path given as a name: server processes find a dialect by its name."""
    if not (isinstance(name, str) and (name.endswith(".toml") or "/" in name)):
        return ""
    return (
        f" (a dialect goes by its name, and not by a path: put the file into {_folder()}, and name "
        f"it {brief(Path(name).stem)})"
    )


@cache
def of_parser(parser: str) -> tuple[Dialect, ...]:
    """Return the dialects that a parser of vLLM's reads, those that need most tokens first.

    A model's is the first whose tokens its tokenizer has.

    Raises:
        UnknownDialect: a file is not a valid dialect.

    """
    found = [dialect for dialect in map(load, available()) if parser in dialect.parsers]
    return tuple(sorted(found, key=lambda dialect: -len(dialect.tokens.needed or ())))


def fitting(several: Sequence[Dialect], controls: Collection[str]) -> Dialect:
    """Return the first of some dialects whose tokens a tokenizer has; the last if it has none's."""
    has = set(controls)
    return next((one for one in several if has.issuperset(one.tokens.needed or ())), several[-1])


def named(name: str, controls: Collection[str] | None = None) -> Dialect:
    """Return the dialect of that name, or of that parser of vLLM's.

    Args:
        name: as `available` or `parsers` give it.
        controls: names of the tokenizer's control tokens, which tell the dialects of one
            parser apart; None takes the first.

    Raises:
        UnknownDialect: there is none, or a file is not a valid dialect.

    """
    several = () if name in available() else of_parser(name)
    if several:
        return several[0] if controls is None else fitting(several, controls)
    if name not in available():
        known = ", ".join(sorted({*available(), *parsers()}))
        raise UnknownDialect(
            f"unknown dialect or parser {brief(name)}{_as_path(name)}; known are: {known}"
        )
    return load(name)


def parsers() -> tuple[str, ...]:
    """Name the parsers of vLLM's whose formats are known.

    Raises:
        UnknownDialect: a file is not a valid dialect.

    """
    return tuple(sorted({name for one in map(load, available()) for name in one.parsers}))


@cache
def _load(name: str) -> Dialect:
    if name not in available():
        raise _unknown(name)
    file = _folder() / f"{name}.toml"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UnknownDialect(f"{file} cannot be read: {error}") from error
    dialect = parse(text, str(file))
    if dialect.name != name:
        raise UnknownDialect(
            f"{file} says `name = {brief(dialect.name)}`, but a dialect is named as its file: "
            f'write `name = "{name}"`, or rename the file'
        )
    return dialect


def parse(text: str, source: str = "the text") -> Dialect:
    """Read a dialect from the text of its file, and check it.

    Args:
        text: TOML.
        source: what messages call it, such as the path of its file.

    Raises:
        UnknownDialect: not TOML, an unknown or missing key, a value of another type, a
            token with two roles, a transition on an unknown marker or to an unknown state,
            a state that cannot be reached or left.

    """
    try:
        dialect = _build(tomllib.loads(text))
        _read_patterns(dialect)
        _check(dialect)
    except KeyError as error:
        raise UnknownDialect(f"{source} is no dialect: the key {error} is missing") from error
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UnknownDialect(f"{source} is no dialect: {error}") from error
    return dialect


def _build(data: dict[str, Any]) -> Dialect:
    markers = data.pop("markers")
    turn = data.pop("turn")
    tables = data.pop("states")
    states = {name: _state(name, table) for name, table in tables.items()}
    for name, table in tables.items():
        _nothing_left(table, f"states.{name}")
    tokens = data.pop("tokens", {})
    begin = turn.pop("begin")
    dialect = Dialect(
        name=_text(data.pop("name")),
        parsers=_texts(data.pop("parsers", [])),
        ids=one_of(Ids, data.pop("ids", "written"), "ids"),
        names=one_of(Names, data.pop("names", "any"), "names"),
        header=_text(data.pop("header")),
        start=_text(data.pop("start")),
        final=_text(data.pop("final")),
        markers=MappingProxyType({role: _texts(names) for role, names in markers.items()}),
        tokens=Tokens(
            needed=_texts(tokens.pop("needed")) if "needed" in tokens else None,
            optional=frozenset(_texts(tokens.pop("optional", []))),
            spelled=frozenset(_texts(tokens.pop("spelled", []))),
        ),
        arguments=Layout.read(data.pop("arguments", {})),
        turn=TurnOpening(
            begin=(begin,) if isinstance(begin, str) else _texts(begin),
            role=_text(turn.pop("role")) if "role" in turn else None,
            end=_text(turn.pop("end")) if "end" in turn else None,
            state=_text(turn.pop("state")),
        ),
        preamble_ids=_count(data.pop("preamble_ids", 0)),
        states=MappingProxyType(states),
        examples=tuple(data.pop("examples", ())),
    )
    _nothing_left(tokens, "tokens")
    _nothing_left(turn, "turn")
    _nothing_left(data, "the file")
    return dialect


def _state(name: str, table: dict[str, Any]) -> DialectState:
    text_to = _text(table.pop("text_to", name))
    return DialectState(
        segment=one_of(Segment, table.pop("segment"), f"states.{name}.segment"),
        text_to=text_to,
        blank_to=_text(table.pop("blank_to", text_to)),
        on=MappingProxyType(
            {
                marker: _transition(entry, f"states.{name}.on.{marker}")
                for marker, entry in table.pop("on", {}).items()
            }
        ),
        then=_text(table.pop("then")) if "then" in table else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{brief(value)} where a string is expected")
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{brief(value)} where a whole number from 0 on is expected")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{brief(value)} where a list of strings is expected")
    return tuple(_text(item) for item in value)


def _transition(entry: dict[str, str], where: str) -> Transition:
    transition = Transition(
        to=_text(entry.pop("to")),
        when=one_of(Guard, entry.pop("when", "always"), f"{where}.when"),
        else_text=one_of(_Closed, entry.pop("closed", "illegal"), f"{where}.closed")
        is _Closed.TEXT,
    )
    _nothing_left(entry, where)
    return transition


def _nothing_left(table: Mapping[str, object], where: str) -> None:
    if table:
        raise ValueError(f"unknown keys in {where}: {', '.join(table)}")


def _read_patterns(dialect: Dialect) -> None:
    fields = [piece for piece in dialect.header_pieces if piece in {NAME, INDEX}]
    counted = dialect.ids in {Ids.WRITTEN, Ids.MESSAGE}
    if fields != ([NAME, INDEX] if counted else [NAME]) or "{name}{index}" in dialect.header:
        raise ValueError(
            f"header {dialect.header!r}: it needs one {{name}}, and one {{index}} after some more "
            "text if calls are numbered, else none"
        )
    for patterns in dialect.markers.values():
        for each in patterns:
            pattern.pieces_of(each, (MADE.name,))


def _check(dialect: Dialect) -> None:
    tokens = [token for tokens in dialect.markers.values() for token in tokens]
    if twice := sorted({token for token in tokens if tokens.count(token) > 1}):
        raise ValueError(f"tokens with two roles: {', '.join(twice)}")
    if empty := [role for role, names in dialect.markers.items() if not names]:
        raise ValueError(f"markers without a token: {', '.join(empty)}")
    for name, state in dialect.states.items():
        for marker in state.on:
            if marker not in dialect.markers:
                raise ValueError(f"states.{name}.on names an unknown marker, {marker!r}")
        if state.then is not None and state.segment not in {Segment.HEADER, Segment.ARGUMENTS}:
            raise ValueError(
                f"states.{name}.then is for headers and arguments alone, whose text ends by itself"
            )
        if state.segment not in FREE_TEXT and {state.text_to, state.blank_to} != {name}:
            raise ValueError(
                f"states.{name}: text_to and blank_to are for free text, and only a marker "
                f"ends {state.segment.value}"
            )
        for target in targets(state):
            if target not in dialect.states:
                raise ValueError(f"states.{name} leads to an unknown state, {target!r}")
    for role in (dialect.start, dialect.final, dialect.turn_state):
        if role not in dialect.states:
            raise ValueError(f"there is no state {role!r}")
    reached = closure(dialect, {dialect.start, dialect.turn_state})
    if lost := [name for name in dialect.states if name not in reached]:
        raise ValueError(f"states that cannot be reached: {', '.join(lost)}")
    if stuck := [n for n in dialect.states if dialect.final not in closure(dialect, {n})]:
        raise ValueError(f"states without a way out: {', '.join(stuck)}")
