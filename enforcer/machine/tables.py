"""Flat tables of grammars, raw text and text formats, as the kernel reads them.

Owns: which layout takes which records, and the errors about a format that cannot be held.
Must not know: vocabularies, bytes on a wire.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from enforcer import kernel
from enforcer.errors import InvalidSchema, SchemaLimit, UnsupportedSchema
from enforcer.layouts import JSON, LayoutKind, WhiteSpace
from enforcer.machine.builder import OF_JSON, RAW_ENDING, RAW_OPEN, int32_array
from enforcer.machine.cardinality import why_not_held
from enforcer.machine.layout_subset import LayoutSubset
from enforcer.machine.nodes import NodeWriter
from enforcer.machine.pairs import Pairs
from enforcer.regex import ANY, RegexError, both, either, is_surely_empty, literal, parse_rust
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.constructors import chars, repeat
from enforcer.request.response_format import FormatKind
from enforcer.schema import compile_schema
from enforcer.schema.grammar import NEVER, ArgumentGrammar, Value, ValueId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex
    from enforcer.request.response_format import ResponseFormat

_FORMATS = ("date-time", "date", "time", "email", "uri", "uuid", "ipv4", "hostname")
_USUAL: dict[str, Any] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "count": {"type": "integer", "minimum": 1, "maximum": 100},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "nullable": {"anyOf": [{"type": kind} for kind in ("integer", "null")]},
    "any": {},
    **{name: {"type": "string", "format": name} for name in _FORMATS},
}
_LEVELS = {each: level for level, each in enumerate(WhiteSpace)}
_LONGEST = 50_000  # characters of a regular expression


class DebugSection(NamedTuple):
    """The parts of a grammar from which tables were written, for explanations alone.

    Attributes:
        definitions: the values that the layout can write.
        root: the number of the whole value.
        nodes: for each node its values, whose shapes are the bits of a frame one after the other;
            and its declared names as they are written, in the order of a frame's bits.

    """

    definitions: Mapping[ValueId, Value]
    root: ValueId
    nodes: Sequence[tuple[tuple[ValueId, ...], tuple[str, ...]]]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTables:
    """The tables of a grammar; see `kernel.Tables` for the arrays.

    Attributes:
        arrays: int32 or int64, by name; see `builder.DTYPES`.
        wide_rows: number of wide rows that masks may need, the free ones included.
        white_space: the white space between two tokens of JSON, as `kernel.Tables` numbers it.
        is_python: whether texts are Python's keyword arguments.
        debug: the parts of the grammar, where they are wanted; no engine or wire has them.

    """

    arrays: Mapping[str, npt.NDArray[np.generic]]
    wide_rows: int
    white_space: int
    is_python: bool = False
    debug: DebugSection | None = None

    @property
    def is_raw(self) -> bool:
        """Whether some text is raw, so that any token may occur in it."""
        kinds = kernel.as_records(self.arrays["nodes"], kernel.NODE)["raw"]
        return bool(len(self.arrays["pairs"]) or (kinds != OF_JSON).any())


def tables_of(
    grammar: ArgumentGrammar, layout: BoundLayout | None, *, is_explained: bool = False
) -> CompiledTables:
    """Compile a grammar to tables.

    Args:
        grammar: a finished one.
        layout: of the arguments; None for JSON.
        is_explained: whether the tables have a debug section.

    Raises:
        UnsupportedSchema: the machine cannot hold the grammar, or the layout cannot write it.

    """
    refusal = why_not_held(grammar)
    if refusal is not None:
        raise refusal
    layout = JSON if layout is None else layout
    unescaped = [chr(code) in layout.unescaped for code in range(128)]
    own = {"unescaped": int32_array(unescaped if any(unescaped) else ())}
    white_space = _LEVELS[layout.layout.white_space] + (layout.second_space and layout.plain)
    is_python, pairs = layout.layout.kind is LayoutKind.PYTHON, None
    definitions, root = grammar.definitions, grammar.root
    if layout.layout.kind is LayoutKind.PAIRS:
        pairs = Pairs(grammar, layout)
        definitions, root = pairs.definitions, pairs.root
    elif is_python:
        definitions, root = LayoutSubset(grammar, layout).grammar()
    writer = NodeWriter(definitions, OF_JSON, pairs, is_python=is_python)
    arrays, wide_rows = writer.write(root)
    parts = [*writer.parts(arrays["nodes"])] if is_explained else []
    debug = DebugSection(definitions, root, parts) if parts else None
    return CompiledTables(arrays | own, wide_rows, white_space, is_python, debug)


def raw_tables(
    languages: Sequence[Regex], *, ends: bool = False, markers: Sequence[int] = ()
) -> CompiledTables:
    """Compile languages of raw text to tables.

    Args:
        languages: not empty; markers in them are made by `enforcer.regex.marker`.
        ends: whether nothing follows as soon as a text is complete; else it may go on.
        markers: the token id of each marker.

    Raises:
        UnsupportedSchema: the automaton is too large.

    """
    values = {ValueId(at): Value(strings=each) for at, each in enumerate(languages, NEVER + 1)}
    writer = NodeWriter(values, RAW_ENDING if ends else RAW_OPEN)
    arrays, wide_rows = writer.write(*values)
    own = {"markers": int32_array(markers), "unescaped": int32_array(())}
    return CompiledTables(arrays | own, wide_rows, _LEVELS[WhiteSpace.USUAL])


def free_tables(*, is_raw: bool = False, is_python: bool = False) -> CompiledTables:
    """Return the tables of all JSON strings, or of all raw text: one automaton of one state."""
    if is_raw:
        return raw_tables([ANY])
    root = ValueId(NEVER)
    tables = tables_of(ArgumentGrammar({root: Value(strings=ANY)}, root, ()), None)
    return replace(tables, is_python=is_python)


def make_usual(layout: BoundLayout | None = None) -> CompiledTables:
    """Return tables of the types that most grammars have, whose automata are then cached; 0.1 s."""
    usual = {
        name: schema for name, schema in _USUAL.items() if layout is None or name not in _FORMATS
    }
    return tables_of(compile_schema({"type": "object", "properties": usual}), layout)


def text_tables(wanted: ResponseFormat, writable: CharSet = ALL) -> CompiledTables:
    """Compile a text format, a regular expression or choices, to tables.

    Args:
        wanted: the format.
        writable: the characters that the model's vocabulary can write.

    Raises:
        InvalidSchema: the source is no regular expression, or no text fits it.
        SchemaLimit: its automaton takes too many states.

    """
    path, keyword = f"$.response_format.{wanted.kind.value}", wanted.kind.value
    if wanted.kind is FormatKind.CHOICE:
        language = _choices(wanted.source, writable)
    else:
        language = _expression(wanted.source, path)
        if writable != ALL:
            language = both(language, repeat(chars(writable), 0, None))
    if is_surely_empty(language):
        _fits_nothing(path, keyword, writable)
    try:
        return raw_tables([language])
    except UnsupportedSchema as error:
        reason = f"the machine cannot hold this {keyword}: {error.problems[0].reason}"
        raise SchemaLimit.of(path, keyword, reason) from error


def _choices(source: str, writable: CharSet) -> Regex:
    every = (choice for choice in json.loads(source) if all(c in writable for c in choice))
    return either(*map(literal, every))


def _expression(source: str, path: str) -> Regex:
    if len(source) > _LONGEST:
        reason = f"it has more than {_LONGEST:,} characters; use `choice` for a list of texts"
        raise SchemaLimit.of(path, "regex", reason)
    try:
        return parse_rust(source)
    except RegexError as error:
        raise InvalidSchema.of(path, "regex", str(error)) from error


def _fits_nothing(path: str, keyword: str, writable: CharSet) -> NoReturn:
    which = "no text" if writable == ALL else "no text that the model's tokenizer can write"
    raise InvalidSchema.of(path, keyword, f"{which} fits it")
