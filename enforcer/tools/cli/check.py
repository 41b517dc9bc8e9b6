"""The command `enforcer check`: which schemas can be enforced, before any server runs.

`declarations` finds the schemas of files, `verdicts` checks each, `check_report` shows the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enforcer import documents, engines
from enforcer.checking.work import warm
from enforcer.request.options import Options
from enforcer.schema import Conventions, OnUnsupported
from enforcer.schema.bundling import Documents, read_documents
from enforcer.tools.cli import declarations, flags
from enforcer.tools.cli.check_report import Tally, as_json, complaints, row, summary
from enforcer.tools.cli.flags import named
from enforcer.tools.cli.output import complain, say, say_json
from enforcer.tools.cli.verdicts import Judge, oversized
from enforcer.turn import dialects
from enforcer.vllm.config import names
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import argparse

    from enforcer.tools.cli.declarations import Declaration

_DESCRIPTION = """\
Tells for every schema whether it is enforced exactly, and if not, why and what to write
instead; notes name common mistakes in it, with the cure of each. FILE holds JSON Schemas, tools or
requests of any API, or an MCP server's answer to tools/list.

Exit status: 0 if all are exact (or, with --relax, relaxed), 1 if a schema or request is refused
or, with --fail-on-notes, has a note, 2 if something cannot be read or there is nothing to check."""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    told = "tell which schemas can be enforced"
    parser = flags.add_command(commands, run, "check", told, _DESCRIPTION)
    add = parser.add_argument
    file_help = "JSON or JSON Lines, or a folder of such files; - is stdin"
    add("files", nargs="+", type=named, metavar="FILE", help=file_help)
    add("--relax", action="store_true", help="enforce the nearest superset of what is not exact")
    add("--fail-on-notes", action="store_true", help="exit with 1 if a schema has a note")
    flags.add_schemas(parser)
    flags.add_dialect(parser, "kimi_k2")
    flags.add_engine(parser)
    flags.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        UnknownEngine: the engine's package is not installed.

    """
    dialect = dialects.named(names.stock(options.dialect))
    vocabulary = Vocabulary.of_bytes(dialect.controls)
    engine = engines.load(options.engine, vocabulary)
    asked = Options(
        OnUnsupported.RELAX if options.relax else OnUnsupported.REFUSE,
        conventions=Conventions(closed_objects=options.closed_objects),
    )
    layout = dialect.layout(vocabulary.controls)
    judge = Judge(engine, asked, dialect, layout)
    warm(engine, layout)
    provided = read_documents(options.documents)
    tally = Tally()
    for record in _records(options.files):
        if isinstance(record, documents.Unreadable):
            tally.unreadable.append(record.message)
            continue
        found = declarations.find(record)
        tally.add(found, oversized(found.declared, asked.limits))
        whole = [_bundled(one, provided) for one in found.declared]
        tally.repeated += len(whole)
        # Recorded requests declare the same tools over and over.
        for one in judge.check(whole):
            tally.repeated -= 1
            tally.checked.append(one)
            if not options.json:
                say(*row(one))
    if options.json:
        say_json(as_json(tally))
    else:
        complain(*complaints(tally))
        say(*summary(tally))
    if tally.unreadable or tally.is_empty:
        return 2
    return int(tally.has_refused or (options.fail_on_notes and tally.noted > 0))


def _records(given: Sequence[str]) -> Iterator[documents.Document | documents.Unreadable]:
    """Read what was given, one file after the other."""
    for each in given:
        files = documents.files(each)
        if not files:
            yield documents.Unreadable(f"{each} has no .json, .jsonl or .ndjson file")
        for file in files:
            yield from documents.records(file)


def _bundled(one: Declaration, provided: Documents) -> Declaration:
    """Bundle the documents that a schema refers to into it."""
    if not provided or one.schema is None:
        return one
    return replace(one, schema=json.loads(provided.bundle(json.dumps(one.schema))))
