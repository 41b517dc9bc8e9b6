"""`enforcer check`: tells which schemas can be enforced, before any server runs.

Owns: the command's options, what it prints and its exit status. Must not know: how files
declare schemas (that is `declarations`), or how schemas are compiled.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from enforcer import documents, engines
from enforcer.cli import declarations
from enforcer.cli.options import add_documents
from enforcer.errors import (
    ConfigurationError,
    InvalidTools,
    Problem,
    SchemaError,
    SchemaLimit,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from enforcer.request.options import Options
from enforcer.request.tools import read_name
from enforcer.schema import Conventions, OnUnsupported, Root, compile_schema
from enforcer.schema.bundling import read_documents
from enforcer.schema.reading.surprises import surprises
from enforcer.turn import dialects
from enforcer.turn.requested import refuse_name
from enforcer.vllm import names
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.cli.declarations import Declaration
    from enforcer.engines import ArgumentEngine
    from enforcer.layouts import BoundLayout
    from enforcer.schema.bundling import Documents
    from enforcer.turn.dialect import Dialect

_DESCRIPTION = """\
Tells for every schema whether it is enforced exactly, and if not, why and what to write
instead; and what in it may not mean what its author thinks. FILE is JSON or JSON Lines (- is
the standard input), or a folder of such files: a JSON Schema, a tool or list of tools (OpenAI
Chat Completions or Responses, Anthropic), a chat request, or an MCP server's answer to
tools/list. A tool that comes again with the same schema, as in recorded requests, is told once.

Exit status: 0 if all are exact (or, with --relax, relaxed), 1 if one is refused, 2 if a
file cannot be read or is none of these."""
_MILLI = 1000


class Status(Enum):
    """How a schema is enforced."""

    EXACT = "exact"
    RELAXED = "relaxed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found out about one declaration.

    Attributes:
        problems: why it is refused, or what is not enforced where it is relaxed; paths
            from the document's root.
        error: name of the error's class where it is refused.
        relaxable: refused, and `--relax` would enforce a superset.
        milliseconds: time to compile, with a vocabulary of single bytes.
        rules: number of distinct values that the compiled grammar defines; 0 if refused.
        surprises: what is enforced as the standard says, and may not be meant.

    """

    declaration: Declaration
    status: Status
    problems: tuple[Problem, ...] = ()
    error: str = ""
    relaxable: bool = False
    milliseconds: float = 0.0
    rules: int = 0
    surprises: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """What calls are written in: a dialect, and its layout of arguments."""

    dialect: Dialect
    layout: BoundLayout


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "check",
        help="tell which schemas can be enforced",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="JSON or JSON Lines, or a folder of such files; - is stdin",
    )
    parser.add_argument(
        "--relax", action="store_true",
        help="enforce the nearest superset of what cannot be exact, as on_unsupported='relax' does",
    )  # fmt: skip
    parser.add_argument(
        "--closed-objects", action="store_true",
        help="objects that declare properties and say nothing of others have no others, as with "
        "ENFORCER_CLOSED_OBJECTS=on",
    )  # fmt: skip
    add_documents(parser)
    parser.add_argument(
        "--dialect", default="kimi_k2", metavar="NAME",
        help="the model's format, which may have no way to write a name or a value: a dialect, or "
        "the name of vLLM's parser for it (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--engine", choices=engines.ENGINES, default=engines.ENGINES[0], help="(%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        UnknownEngine: the engine's package is not installed.

    """
    dialect = dialects.named(names.stock(options.dialect))
    vocabulary = Vocabulary.of_bytes(dialect.controls)
    engine = engines.load(options.engine, vocabulary)
    engine.compile(compile_schema({"type": "null"}))  # the first one pays for what all share
    format_ = Format(dialect, dialect.layout(vocabulary.controls))
    asked = Options(
        OnUnsupported.RELAX if options.relax else OnUnsupported.REFUSE,
        conventions=Conventions(closed_objects=options.closed_objects),
    )
    provided = read_documents(options.documents)
    checked: list[Checked] = []
    unreadable: list[str] = []
    told: set[object] = set()
    repeated = 0
    for file in options.files:
        for document in _documents(file, unreadable):
            try:
                found = [_whole(one, provided) for one in declarations.find(document)]
            except ConfigurationError as error:
                unreadable.append(str(error))
                continue
            # Recorded requests declare the same tools over and over.
            new = check(found, engine, asked, told, format_)
            repeated += len(found) - len(new)
            checked += new
    if options.json:
        _print_json(checked, unreadable, repeated)
    else:
        _print_text(checked, unreadable, repeated)
    if unreadable:
        return 2
    return int(any(one.status is Status.REFUSED for one in checked))


def _documents(file: str, unreadable: list[str]) -> list[documents.Document]:
    found: list[documents.Document] = []
    try:
        for each in documents.files(file):
            try:
                found += documents.read(each)
            except ConfigurationError as error:
                unreadable.append(str(error))
    except ConfigurationError as error:
        unreadable.append(str(error))
    return found


def _whole(declaration: Declaration, provided: Documents) -> Declaration:
    """Put what the schema refers to into it."""
    if not provided or declaration.schema is None:
        return declaration
    return replace(declaration, schema=json.loads(provided.bundle(json.dumps(declaration.schema))))


def check(
    declared: Sequence[Declaration],
    engine: ArgumentEngine,
    asked: Options,
    told: set[object],
    format_: Format,
) -> list[Checked]:
    """Check what one document declares, apart from tools that have been checked before.

    Args:
        declared: what it declares.
        engine: what would enforce it.
        asked: what to do with what cannot be enforced exactly, and how schemas are read.
        told: tools of earlier documents, with their schemas; those of this one are added.
        format_: what calls are written in.

    """
    seen: set[object] = set()
    checked = []
    before = frozenset(told)
    for declaration in declared:
        key = (repr(declaration.name), json.dumps(declaration.schema, sort_keys=True))
        is_tool = declaration.root is Root.OBJECT
        name = declaration.name
        if is_tool and key in before and isinstance(name, str) and name not in seen:
            seen.add(name)
            continue
        told.add(key)
        one = _check(declaration, engine, asked, format_.layout)
        if is_tool:
            if isinstance(declaration.name, str) and declaration.name in seen:
                problem = Problem(declaration.name_path, "", "the name is declared twice")
                one = _refused_too(one, problem)
            else:
                try:
                    seen.add(read_name(declaration.name, declaration.name_path))
                    refuse_name(format_.dialect, str(declaration.name), declaration.name_path)
                except InvalidTools as error:
                    one = _refused_too(one, Problem(error.path, "", error.reason))
        checked.append(one)
    return checked


def _refused_too(one: Checked, problem: Problem) -> Checked:
    """Refuse the tool for its name, whatever its schema is."""
    earlier = one.problems if one.status is Status.REFUSED else ()
    return replace(
        one,
        status=Status.REFUSED,
        problems=(problem, *earlier),
        error=one.error or InvalidTools.__name__,
        relaxable=False,
    )


def _check(
    declaration: Declaration, engine: ArgumentEngine, asked: Options, layout: BoundLayout
) -> Checked:
    schema = declaration.schema
    if declaration.root is Root.OBJECT and not isinstance(schema, Mapping | None):
        reason = f"a tool's schema must be an object, not {type(schema).__name__}"
        problem = Problem(declaration.path, "", reason)
        return Checked(declaration, Status.REFUSED, (problem,), InvalidTools.__name__)
    started = time.perf_counter()
    try:
        grammar = compile_schema(
            {} if schema is None else schema,
            root=declaration.root,
            on_unsupported=asked.on_unsupported,
            conventions=asked.conventions,
        )
        # A schema by itself may be of any text; arguments are laid out as the format has them.
        engine.compile(grammar, layout if declaration.root is Root.OBJECT else None)
    except SchemaError as error:
        return Checked(
            declaration,
            Status.REFUSED,
            error.under(declaration.path).problems,
            type(error).__name__,
            relaxable=asked.on_unsupported is OnUnsupported.REFUSE
            and _relaxable(declaration, error),
            milliseconds=(time.perf_counter() - started) * _MILLI,
        )
    relaxed = SchemaError(grammar.relaxed).under(declaration.path) if grammar.relaxed else None
    noted = surprises(schema, closed=asked.conventions.closed_objects)
    return Checked(
        declaration,
        Status.RELAXED if relaxed else Status.EXACT,
        relaxed.problems if relaxed else (),
        milliseconds=(time.perf_counter() - started) * _MILLI,
        rules=len(grammar.definitions),
        surprises=SchemaError(tuple(noted)).under(declaration.path).problems if noted else (),
    )


def _relaxable(declaration: Declaration, error: SchemaError) -> bool:
    """Tell whether the refused schema has a superset that can be enforced."""
    if not isinstance(error, UnsupportedSchema) or isinstance(
        error, UnsatisfiableSchema | SchemaLimit
    ):
        return False
    schema = {} if declaration.schema is None else declaration.schema
    try:
        compile_schema(schema, root=declaration.root, on_unsupported=OnUnsupported.RELAX)
    except SchemaError:
        return False
    return True


def _print_text(checked: Sequence[Checked], unreadable: Sequence[str], repeated: int) -> None:
    titles = [_title(one) for one in checked]
    width = max(map(len, titles), default=0)
    for one, title in zip(checked, titles, strict=True):
        cost = f"{one.milliseconds:8.1f} ms"
        rules = f"  {one.rules:5} rules" if one.rules else ""
        print(f"{one.status.value:<8} {title:<{width}} {cost}{rules}".rstrip())
        for problem in one.problems:
            print(f"         {problem}")
        for line in _notes(one.surprises):
            print(f"         note: {line}")
        if one.relaxable:
            print("         --relax would enforce the nearest superset")
    for message in unreadable:
        print(f"enforcer: {message}", file=sys.stderr)
    counts = Counter(one.status for one in checked)
    said = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
    again = f"; {repeated} more were the same tools again" if repeated else ""
    if not checked and not unreadable:
        print("enforcer: no tool was found in what was given", file=sys.stderr)
    print(f"{len(checked)} checked" + (f": {said}" if said else "") + again)


def _notes(surprises: Sequence[Problem]) -> Iterator[str]:
    """Give one line for all places of a schema that are surprising for one reason."""
    alike: dict[str, list[Problem]] = {}
    for problem in surprises:
        alike.setdefault(problem.reason, []).append(problem)
    for first, *others in alike.values():
        yield f"{first}, and in {len(others)} more places" if others else str(first)


def _title(one: Checked) -> str:
    declaration = one.declaration
    if declaration.root is Root.OBJECT:
        return f"{declaration.name}  {declaration.where}"
    inside = "" if declaration.path == "$" else f" {declaration.path}"
    return declaration.where + inside


def _print_json(checked: Sequence[Checked], unreadable: Sequence[str], repeated: int) -> None:
    counts = Counter(one.status for one in checked)
    value = {
        "checked": [_values(one) for one in checked],
        "counts": {status.value: counts[status] for status in Status},
        "repeated": repeated,
        "unreadable": list(unreadable),
    }
    print(json.dumps(value, indent=1, ensure_ascii=False))


def _values(one: Checked) -> dict[str, Any]:
    return {
        "name": one.declaration.name,
        "where": one.declaration.where,
        "path": one.declaration.path,
        "status": one.status.value,
        "error": one.error or None,
        "problems": [_problem(problem) for problem in one.problems],
        "surprises": [_problem(problem) for problem in one.surprises],
        "relaxable": one.relaxable,
        "milliseconds": round(one.milliseconds, 3),
        "rules": one.rules,
    }


def _problem(problem: Problem) -> dict[str, str]:
    return {"path": problem.path, "keyword": problem.keyword, "reason": problem.reason}
