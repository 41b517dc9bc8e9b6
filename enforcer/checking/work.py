"""A check of one schema: what is asked, as data, and finding it out; no processes, no pipes."""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from enforcer.budget.untold import unknown_text, untold
from enforcer.checking.verdict import Verdict
from enforcer.compiling import grammar_of
from enforcer.errors import (
    EnforcerError,
    SchemaError,
    SchemaLimit,
    UnsupportedSchema,
    brief,
)
from enforcer.layouts import JSON
from enforcer.request.options import Options
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import Root, compile_schema
from enforcer.turn import dialects

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from enforcer.engines import ArgumentEngine, Wanted
    from enforcer.errors import Problem
    from enforcer.layouts import BoundLayout
    from enforcer.regex.charset import CharSet

LOOK = 0.25  # seconds of processor time until a check counts as slow
SECONDS = 2.0  # of one processor, for one check
# Seconds that a check may have of a processor before it is begun anew at the next level, and by how
# much its worker is less urgent than the server.
LEVELS = ((0.03, 3), (LOOK, 10), (SECONDS, 10))
TOO_SLOW = (
    f"checking this schema takes over {SECONDS:g} seconds of processor time; give it fewer "
    "alternatives, overlapping patterns or nested counts"
)
TOO_MUCH_MEMORY = (
    "checking this schema takes too much memory; give it fewer or shorter alternatives, "
    "patterns and values"
)
# A schema of 2 MB can have more problems than a message should.
_MOST_PROBLEMS = 100


_USUAL = Options()


@dataclass(frozen=True, slots=True)
class Check:
    """Asks whether an engine can enforce one schema, or one format of text.

    Attributes:
        kind: what `source` is; see `enforcer.request.response_format`.
        source: a schema as JSON text, or the source of a format.
        root: what a value must be, besides fitting the schema.
        options: what holds for the request. Where texts are to be finished within a budget, what
            cannot be is told.
        writes: whether the schema, which has been checked before, is to be written for the
            engine; see `ArgumentEngine.write`.
        dialect: whose layout arguments are written in; empty for JSON with the usual white space.
        controls: name and id of the control tokens that the layout may have, in the vocabulary
            that it is written for, which need not be the one that the worker checks for. None
            where only that one matters.
        writable: the characters that this vocabulary can write; None likewise.

    """

    kind: FormatKind
    source: str
    root: Root
    options: Options = _USUAL
    writes: bool = False
    dialect: str = ""
    controls: tuple[tuple[str, int], ...] | None = None
    writable: CharSet | None = None

    def key(self) -> Hashable:
        """Return what distinguishes it from others; small, however large the source is."""
        digest = sha256(self.source.encode("utf-8", "surrogatepass")).digest()
        own = self.options
        return (
            *(digest, self.kind, self.root, self.writes),
            *(self.dialect, self.controls, self.writable),
            *(own.on_unsupported, own.limits, own.conventions, own.finish_within_budget),
            *(own.compact_text, own.closed_text, own.plain_spelling, own.second_space),
        )

    @property
    def size(self) -> int:
        """Characters of the source."""
        return len(self.source)


def warm(engine: ArgumentEngine, layout: BoundLayout | None) -> None:
    """Check what has all that is built when it is first needed, lest a check pay for it.

    Args:
        engine: what checks.
        layout: whose texts are checked, besides JSON with the usual white space.

    """
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "b"}}}
    for each in {None, layout}:
        with suppress(EnforcerError):  # what the engine cannot do, each check is told
            engine.check(compile_schema(schema | {"additionalProperties": False}), each)


def perform(check: Check, engine: ArgumentEngine) -> Verdict:
    """Do a check in this process, without a bound."""
    try:
        return _done(check, engine)
    except SchemaError as error:
        return Verdict(error=type(error)(error.problems[:_MOST_PROBLEMS]))


def survived(do: Callable[[], Verdict]) -> Verdict:
    """Do something that may fail in any way; what it is done for is refused then."""
    try:
        return do()
    except (KeyboardInterrupt, SystemExit):
        raise
    except MemoryError:
        return Verdict(error=SchemaLimit.of("$", "", TOO_MUCH_MEMORY))
    except BaseException as error:  # noqa: BLE001 - a panic in an engine's Rust is no `Exception`
        # Into the server's log, since this is ours to mend; not the message: a client may have
        # written it.
        trace = traceback.format_tb(error.__traceback__)
        sys.stderr.writelines([*trace, type(error).__name__, "\n"])
        what = f"{type(error).__name__}: {brief(str(error))}"
        reason = (
            f"the compiler failed on this schema ({what}); please report it, and write it otherwise"
        )
        return Verdict(error=UnsupportedSchema.of("$", "", reason))


def _layout(check: Check, engine: ArgumentEngine) -> BoundLayout | None:
    own = JSON
    if check.dialect:
        known = engine.vocabulary
        controls = known.controls if check.controls is None else dict(check.controls)
        writable = known.writable if check.writable is None else check.writable
        own = dialects.load(check.dialect).layout(controls, writable)
    return check.options.laid_out(own, check.root)


def _done(check: Check, engine: ArgumentEngine) -> Verdict:
    layout = _layout(check, engine)
    wanted: Wanted = ResponseFormat(check.kind, check.source)
    grammar = None
    if check.kind is FormatKind.JSON_SCHEMA:
        wanted = grammar = grammar_of(check.source, check.options, check.root)
    if check.writes:
        return Verdict(written=engine.write(wanted, layout))
    engine.check(wanted, layout)
    untimed: tuple[Problem, ...] = ()
    if check.options.finish_within_budget:
        untimed = (unknown_text(check.kind.value),) if grammar is None else untold(grammar)
    relaxed = () if grammar is None else grammar.relaxed
    return Verdict(relaxed=relaxed[:_MOST_PROBLEMS], untimed=untimed[:_MOST_PROBLEMS])
