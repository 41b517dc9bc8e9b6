"""`enforcer check`: tells which schemas can be enforced, before any server runs.

Owns: the command's options, what is asked of each schema, and the exit status. Must not know:
how files declare schemas (that is `declarations`), what is printed (`check_report`), or how schemas
are compiled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING, Any

from enforcer import documents, engines
from enforcer.budget.pieces import Pieces
from enforcer.budget.shortest import Untimed, shortest, unknown_text, untimed
from enforcer.checking.work import LOOK, SECONDS, TOO_SLOW, warm
from enforcer.cli import declarations
from enforcer.cli.check_report import Checked, Status, Tally, as_json, complaints, row, summary
from enforcer.cli.options import add_command, add_documents, add_engine, named
from enforcer.cli.output import complain, say, say_json
from enforcer.cli.request_limits import oversized
from enforcer.cli.time_limit import TooLong, at_most
from enforcer.errors import (
    ConfigurationError,
    InvalidTools,
    Problem,
    RequestError,
    SchemaError,
    SchemaLimit,
    UnknownLength,
    UnsupportedSchema,
)
from enforcer.request import response_format
from enforcer.request.options import Options
from enforcer.request.tools import read_name
from enforcer.schema import Conventions, OnUnsupported, Root, compile_schema
from enforcer.schema.bundling import read_documents
from enforcer.schema.grammar import NEVER
from enforcer.schema.reading.document import step
from enforcer.schema.reading.surprises import surprises
from enforcer.turn import dialects
from enforcer.turn.request_envelope import refuse_name
from enforcer.vllm import names
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from enforcer.cli.declarations import Declaration
    from enforcer.engines import ArgumentEngine
    from enforcer.layouts import BoundLayout
    from enforcer.schema.bundling import Documents
    from enforcer.schema.grammar import ArgumentGrammar
    from enforcer.turn.dialect import Dialect

_DESCRIPTION = """\
Tells for every schema whether it is enforced exactly, and if not, why and what to write
instead; and what in it may not mean what its author thinks. FILE is JSON or JSON Lines (- is
the standard input), or a folder of such files: a JSON Schema, a tool or list of tools (OpenAI
Chat Completions or Responses, Anthropic), a request, with or without tools, or an MCP server's
answer to tools/list. Of a request, the format that it demands of its text is checked as well.
What comes again with the same schema, as in recorded requests, is told once.

Exit status: 0 if all are exact (or, with --relax, relaxed), 1 if one is refused, or a request for
all of its schemas together, 2 if a file or record cannot be read or is none of these (the others
are checked all the same), or if there is nothing to check at all."""
_MILLI = 1000
_OTHER_CONSTRAINT = (
    "the server enforces tool calls itself: a `structural_tag` of the client's own cannot be "
    "combined with that; leave it out"
)
_FORMAT = "$.response_format"  # where errors about formats lead
_NEVER_GIVEN = "nothing fits this property, so that it can never be given; is that meant?"
# Times that a server has. To know how far off a schema is helps; nobody waits minutes for it.
_STOPPED = 5
_SLOW = (
    "it counts as slow on a server, which checks it after all others, and answers 503 where too "
    "many of these wait; here it took {seconds:.1f} s of processor time"
)


@dataclass(frozen=True, slots=True)
class Format:
    """What calls are written in: a dialect, its layout of arguments, and ids for shortest ends.

    Attributes:
        pieces: of the vocabulary, where texts are to be finished within a budget.

    """

    dialect: Dialect
    layout: BoundLayout
    pieces: Pieces | None = None


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = add_command(commands, run, "check", "tell which schemas can be enforced", _DESCRIPTION)
    parser.add_argument(
        "files",
        nargs="+",
        type=named,
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
    parser.add_argument(
        "--finish-within-budget", action="store_true",
        help="refuse what a server with ENFORCER_FINISH_WITHIN_BUDGET=on does: schemas of which it "
        "is not known how soon a text can end; with --relax such a tool is enforced, and its calls "
        "may be cut off",
    )  # fmt: skip
    add_documents(parser)
    parser.add_argument(
        "--dialect", default="kimi_k2", metavar="NAME",
        help="the model's format, which may have no way to write a name or a value: a dialect, or "
        "the name of vLLM's parser for it (%(default)s)",
    )  # fmt: skip
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        UnknownEngine: the engine's package is not installed.

    """
    dialect = dialects.named(names.stock(options.dialect))
    vocabulary = Vocabulary.of_bytes(dialect.controls)
    engine = engines.load(options.engine, vocabulary)
    if options.finish_within_budget and not dialect.is_simple:
        raise UnknownLength("--finish-within-budget", dialect.name)
    pieces = Pieces(vocabulary) if options.finish_within_budget else None
    format_ = Format(dialect, dialect.layout(vocabulary.controls), pieces)
    warm(engine, format_.layout)
    asked = Options(
        OnUnsupported.RELAX if options.relax else OnUnsupported.REFUSE,
        conventions=Conventions(closed_objects=options.closed_objects),
    )
    provided = read_documents(options.documents)
    tally = Tally()
    told: set[object] = set()
    for record in _records(options.files):
        if isinstance(record, documents.Unreadable):
            tally.unreadable.append(record.message)
            continue
        found = declarations.find(record)
        tally.without_tools += found.without_tools
        tally.functions += found.functions
        tally.unreadable += [each.message for each in found.unreadable]
        tally.add_oversized(oversized(found.declared, asked.limits))
        whole = list(_whole(found.declared, provided, tally))
        before = len(tally.checked)
        # Recorded requests declare the same tools over and over.
        for one in check(whole, engine, asked, told, format_):
            tally.checked.append(one)
            if not options.json:
                say(*row(one))
        tally.repeated += len(whole) - (len(tally.checked) - before)
    if options.json:
        say_json(as_json(tally))
    else:
        complain(*complaints(tally))
        say(*summary(tally))
    if tally.unreadable or tally.is_empty:
        return 2
    return int(tally.has_refused)


def _records(given: Sequence[str]) -> Iterator[documents.Document | documents.Unreadable]:
    """Read what was given, one file after the other."""
    for each in given:
        try:
            for file in documents.files(each):
                try:
                    yield from documents.records(file)
                except ConfigurationError as error:
                    yield documents.Unreadable(str(error))
        except ConfigurationError as error:
            yield documents.Unreadable(str(error))


def _whole(
    declared: Sequence[Declaration], provided: Documents, tally: Tally
) -> Iterator[Declaration]:
    """Put what the schemas refer to into them."""
    for one in declared:
        if not provided or one.schema is None:
            yield one
            continue
        try:
            schema = provided.bundle(json.dumps(one.schema))
        except ConfigurationError as error:
            tally.unreadable.append(str(error))
        else:
            yield replace(one, schema=json.loads(schema))


def check(
    declared: Sequence[Declaration],
    engine: ArgumentEngine,
    asked: Options,
    told: set[object],
    format_: Format,
) -> Iterator[Checked]:
    """Check what one document declares, apart from what requests before it have declared.

    Args:
        declared: what it declares.
        engine: what would enforce it.
        asked: what to do with what cannot be enforced exactly, and how schemas are read.
        told: tools and formats of earlier documents, with their schemas; those of this one
            are added.
        format_: what calls are written in.

    """
    seen: set[object] = set()
    before = frozenset(told)
    for declaration in declared:
        said = declaration.schema if declaration.form is None else declaration.form
        key = (repr(declaration.name), json.dumps(said, sort_keys=True))
        is_tool = declaration.root is Root.OBJECT
        name = declaration.name
        if declaration.form is not None:
            key = (declaration.path, key[1])
            if key in before:
                continue
        if is_tool and key in before and isinstance(name, str) and name not in seen:
            seen.add(name)
            continue
        told.add(key)
        one = _check(declaration, engine, asked, format_)
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
        yield one


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
    declaration: Declaration, engine: ArgumentEngine, asked: Options, format_: Format
) -> Checked:
    """Check one schema or format, and say what the time that it took means on a server."""
    begun = process_time()
    try:
        with at_most(_STOPPED * SECONDS):
            one = _enforced(declaration, engine, asked, format_)
    except TooLong:
        one = Checked(declaration, Status.REFUSED)
        return _too_slow(one, process_time() - begun, "it was stopped after")
    one = _timed(one, process_time() - begun)
    if declaration.form is not None and declaration.schema is None:
        return one
    if one.status is Status.REFUSED and asked.on_unsupported is OnUnsupported.REFUSE:
        one = replace(one, relaxable=_relaxable(one, asked, format_))
    if not isinstance(declaration.schema, Mapping | bool | None):
        return one
    noted = surprises(declaration.schema, closed=asked.conventions.closed_objects)
    found = SchemaError(tuple(noted)).under(declaration.path).problems if noted else ()
    return replace(one, surprises=(*one.surprises, *found))


def _timed(one: Checked, seconds: float) -> Checked:
    """Refuse what a server has no time for, whatever came of it, and note what is slow there."""
    if seconds > SECONDS:
        return _too_slow(one, seconds, "it took")
    one = replace(one, milliseconds=seconds * _MILLI)
    if seconds > LOOK and one.status is not Status.REFUSED:
        note = Problem(one.declaration.path, "", _SLOW.format(seconds=seconds))
        return replace(one, surprises=(*one.surprises, note))
    return one


def _too_slow(one: Checked, seconds: float, how: str) -> Checked:
    problem = Problem(one.declaration.path, "", f"{TOO_SLOW}; here {how} {seconds:.1f} s")
    return Checked(
        one.declaration,
        Status.REFUSED,
        (problem,),
        SchemaLimit.__name__,
        milliseconds=seconds * _MILLI,
    )


def _enforced(
    declaration: Declaration, engine: ArgumentEngine, asked: Options, format_: Format
) -> Checked:
    """Do what a server does before it takes a schema or format."""
    schema = declaration.schema
    if declaration.form is not None and schema is None:
        if format_.pieces is not None:
            kind = str((declaration.form or {}).get("type", ""))
            text = unknown_text(kind)
            return _late(declaration, [replace(text, path="$" + text.path.removeprefix(_FORMAT))])
        return _enforced_text(declaration, engine)
    if declaration.root is Root.OBJECT and not isinstance(schema, Mapping | None):
        reason = f"a tool's schema must be an object, not {type(schema).__name__}"
        problem = Problem(declaration.path, "", reason)
        return Checked(declaration, Status.REFUSED, (problem,), InvalidTools.__name__)
    try:
        grammar = compile_schema(
            {} if schema is None else schema,
            root=declaration.root,
            on_unsupported=asked.on_unsupported,
            conventions=asked.conventions,
        )
        # A schema by itself may be of any text; arguments are laid out as the format has them.
        engine.check(grammar, format_.layout if declaration.root is Root.OBJECT else None)
        ends = None if format_.pieces is None else shortest(grammar, format_.pieces)
    except SchemaError as error:
        problems = error.under(declaration.path).problems
        return Checked(declaration, Status.REFUSED, problems, type(error).__name__)
    late = ends.problems if isinstance(ends, Untimed) else ()
    may_be_late = asked.on_unsupported is not OnUnsupported.REFUSE and declaration.form is None
    if late and not may_be_late:
        return _late(declaration, late)
    relaxed = SchemaError(grammar.relaxed).under(declaration.path) if grammar.relaxed else None
    return Checked(
        declaration,
        Status.RELAXED if relaxed else Status.EXACT,
        relaxed.problems if relaxed else (),
        rules=len(grammar.definitions),
        surprises=tuple(_never_given(grammar, declaration)),
        untimed=tuple(each.under(declaration.path) for each in late),
    )


def _late(declaration: Declaration, late: Sequence[Problem]) -> Checked:
    """Refuse what cannot be finished within a budget, in the words of a server."""
    error = untimed(*late).under(declaration.path)
    return Checked(
        declaration,
        Status.REFUSED,
        error.problems,
        type(error).__name__,
        untimed=tuple(each.under(declaration.path) for each in late),
    )


def _never_given(grammar: ArgumentGrammar, declaration: Declaration) -> Iterator[Problem]:
    """Note the properties of the whole value that nothing fits, unless they are declared so."""
    schema = declaration.schema
    declared = schema.get("properties") if isinstance(schema, Mapping) else None
    shapes = grammar.definitions[grammar.root].objects
    if not isinstance(declared, Mapping) or not shapes:
        return
    never = [{name for name, value in shape.names if value == NEVER} for shape in shapes]
    for name in sorted(set.intersection(*never)):
        said = declared.get(name)
        if isinstance(said, Mapping) and "not" not in said:
            path = step(step(declaration.path, "properties"), name)
            yield Problem(path, "", _NEVER_GIVEN)


def _enforced_text(declaration: Declaration, engine: ArgumentEngine) -> Checked:
    """Do the same for a format of text that is no JSON Schema."""
    try:
        if declaration.form is not None and declaration.form.get("type") == "structural_tag":
            raise InvalidTools(_FORMAT, _OTHER_CONSTRAINT)
        wanted = response_format.parse(declaration.form)
        if wanted is not None:
            engine.check_text(wanted)
    except RequestError as error:
        problems = error.at(lambda path: declaration.path + path.removeprefix(_FORMAT)).problems
        return Checked(declaration, Status.REFUSED, problems, type(error).__name__)
    return Checked(declaration, Status.EXACT)


def _relaxable(one: Checked, asked: Options, format_: Format) -> bool:
    """Tell whether relaxing would have the refused schema enforced, or a superset of it."""
    if one.error != UnsupportedSchema.__name__:
        return False
    declaration = one.declaration
    schema = {} if declaration.schema is None else declaration.schema
    try:
        with at_most(_STOPPED * SECONDS):
            grammar = compile_schema(
                schema,
                root=declaration.root,
                on_unsupported=OnUnsupported.RELAX,
                conventions=asked.conventions,
            )
            if declaration.form is None or format_.pieces is None:
                return True  # of a tool, calls may then be cut off
            return not isinstance(shortest(grammar, format_.pieces), Untimed)
    except (SchemaError, TooLong):
        return False
