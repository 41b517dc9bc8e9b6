"""Results of `enforcer check`, as lines for people and as one JSON object for machines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from enforcer.checking.work import SECONDS
from enforcer.errors import InvalidSchema
from enforcer.schema import Root
from enforcer.tools.cli.output import number
from enforcer.tools.lint import OPEN

if TYPE_CHECKING:
    from enforcer.errors import Problem, RequestError
    from enforcer.tools.cli.declarations import Declaration, Declarations

_SHOWN = 20  # unreadable records that a report lists
_MOST_PROBLEMS = 20  # that a report lists for each schema
_MILLI = 1000
_PART = "a request that declares all of them is refused; it may declare a part"
_FUNCTIONS = (
    "note: vLLM does not read `functions`, so that nothing is declared there and nothing enforced: "
    "declare them in `tools`"
)
_HEAVY = (
    "the schemas of this request take {seconds:.1f} s of processor time "
    "together, more than a server gives one request: it may answer 503 at "
    "first. Send the request again then: schemas that passed are remembered"
)


class SchemaStatus(Enum):
    """The way in which a schema is enforced."""

    EXACT = "exact"
    RELAXED = "relaxed"
    REFUSED = "refused"


_INVALID = "invalid"
_SAID = (*(status.value for status in SchemaStatus), _INVALID)


@dataclass(slots=True)
class CheckedSchema:
    """The result of checking one declaration.

    Attributes:
        problems: reasons of a rejection, or parts that a relaxed schema does not enforce; paths
            from the document's root.
        error: class name of the error that rejects it; else None.
        relaxable: rejected, and `--relax` would enforce a superset.
        milliseconds: of processor time, with a vocabulary of single bytes.
        rules: number of distinct values that the compiled grammar defines; 0 if rejected.
        notes: the lint: mistakes that do not reject it, and what may not be meant.

    """

    declaration: Declaration
    status: SchemaStatus = SchemaStatus.EXACT
    problems: tuple[Problem, ...] = ()
    error: str | None = None
    relaxable: bool = False
    milliseconds: float = 0.0
    rules: int = 0
    notes: tuple[Problem, ...] = ()

    def refuse(self, error: RequestError) -> None:
        """Reject it; the reasons of an earlier rejection stay."""
        earlier = self.problems if self.status is SchemaStatus.REFUSED else ()
        self.status = SchemaStatus.REFUSED
        self.problems = (*error.problems, *earlier)
        self.error = self.error or type(error).__name__
        self.relaxable = False


@dataclass(frozen=True, slots=True)
class Oversized:
    """Declarations that together are over a limit of one request.

    Attributes:
        where: the file, and the line in JSON Lines.
        path: where the list of tools, or the only schema, stands there.
        reason: the limit, and the count that is over it.
        refused: whether they belong to one request; else to a list of tools, such as an MCP
            server's, of which a request may declare a part.

    """

    where: str
    path: str
    reason: str
    refused: bool


@dataclass(slots=True)
class Tally:
    """All results of one run.

    Attributes:
        checked: in the order of the files.
        unreadable: messages about records of no known kind, or that are no JSON.
        repeated: number of tools and formats that came again with the same schema.
        without_tools: number of requests that declare no tool that could be checked.
        functions: places of `functions`, which vLLM does not read.
        oversized: by its reason, each excess over a limit of one request.

    """

    checked: list[CheckedSchema] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    repeated: int = 0
    without_tools: int = 0
    functions: list[dict[str, str]] = field(default_factory=list)
    oversized: dict[str, Oversized] = field(default_factory=dict)

    def add(self, found: Declarations, oversized: Iterable[Oversized]) -> None:
        """Add the counts of a document, and its excesses over limits, each only once."""
        self.without_tools += found.without_tools
        self.functions += found.functions
        self.unreadable += found.unreadable
        for one in oversized:
            known = self.oversized.get(one.reason)
            if known is None or (one.refused and not known.refused):
                self.oversized[one.reason] = one

    @property
    def has_refused(self) -> bool:
        """Whether a server rejects a schema, or a request for all of its schemas together."""
        whole = any(one.refused for one in self.oversized.values())
        return whole or self.counts[SchemaStatus.REFUSED] > 0

    @property
    def noted(self) -> int:
        """The number of schemas with notes."""
        return sum(bool(one.notes) for one in self.checked)

    @property
    def is_empty(self) -> bool:
        """Whether there was neither a schema nor a request."""
        return not (self.checked or self.unreadable or self.without_tools)

    def heavy(self) -> list[dict[str, Any]]:
        """List the requests whose schemas together take more time than a server gives a request.

        A server checks equal schemas once, and none that it remembers of earlier requests.
        """
        spent: dict[tuple[str, str], dict[str, float]] = {}
        for one in self.checked:
            of = one.declaration
            if of.request is not None and one.status is not SchemaStatus.REFUSED:
                schema = json.dumps([of.root.value, of.schema, of.form], sort_keys=True)
                spent.setdefault((of.where, of.request), {})[schema] = one.milliseconds
        return [
            {"where": where, "path": path, "milliseconds": sum(each.values())}
            for (where, path), each in spent.items()
            if sum(each.values()) > SECONDS * _MILLI
        ]

    @property
    def counts(self) -> Counter[SchemaStatus]:
        """The number of schemas of each status."""
        return Counter(one.status for one in self.checked)


def _said(one: CheckedSchema) -> str:
    """Return the status as people read it; in JSON an invalid schema is one that is refused."""
    return _INVALID if one.error == InvalidSchema.__name__ else one.status.value


def row(one: CheckedSchema) -> Iterator[str]:
    """Yield the lines about one schema, in columns of fixed width."""
    rules = f"{one.rules:5} rules" if one.rules else " " * 11
    yield f"{_said(one):<8}{one.milliseconds:8.1f} ms  {rules}  {_title(one)}"
    for problem in one.problems[:_MOST_PROBLEMS]:
        yield f"         {problem}"
    if len(one.problems) > _MOST_PROBLEMS:
        more = len(one.problems) - _MOST_PROBLEMS
        yield f"         and {number(more, 'more problem')}; --json has them all"
    for line in _notes(one.notes):
        yield f"         note: {line}"
    if one.relaxable:
        yield "         --relax would enforce the nearest superset"


def summary(tally: Tally) -> Iterator[str]:
    """Yield the lines below the rows: common notes, requests over a limit, the counts."""
    # Nearly every tool has such objects, so that what they mean is said once, below the rows.
    if any(note.reason == OPEN for one in tally.checked for note in one.notes):
        yield f"open objects: {OPEN}"
    for one in tally.heavy():
        inside = "" if one["path"] == "$" else f" {one['path']}"
        yield f"{one['where']}{inside}: {_HEAVY.format(seconds=one['milliseconds'] / _MILLI)}"
    for large in tally.oversized.values():
        said_of = f"refused, {large.reason}" if large.refused else f"{large.reason}: {_PART}"
        yield f"{large.where} {large.path}: {said_of}"
    if tally.functions:
        first, *others = tally.functions
        more = f", and in {number(len(others), 'more request')}" if others else ""
        yield f"{first['where']} {first['path']}: {_FUNCTIONS}{more}"
    functions, unreadable = len(tally.functions), len(tally.unreadable)
    counts = Counter(map(_said, tally.checked))
    said = [f"{counts[status]} {status}" for status in _SAID if counts[status]]
    line = f"{len(tally.checked)} checked" + (": " if said else "") + ", ".join(said)
    if any(large.refused for large in tally.oversized.values()):
        line += " by themselves; a request that declares too much is refused"
    tails = (
        (tally.noted, f"{tally.noted} with notes"),
        (tally.repeated, f"{tally.repeated} more were the same again"),
        (tally.without_tools, f"{number(tally.without_tools, 'request')} without tools"),
        (functions, f"{number(functions, 'request')} with `functions`, which are not read"),
        (unreadable, f"{unreadable} could not be read"),
    )
    yield line + "".join(f"; {said}" for count, said in tails if count)


def complaints(tally: Tally) -> Iterator[str]:
    """Yield the lines about unreadable records, or that there was nothing to check."""
    yield from tally.unreadable[:_SHOWN]
    if len(tally.unreadable) > _SHOWN:
        yield f"and {len(tally.unreadable) - _SHOWN} more that cannot be read; --json has them all"
    if tally.is_empty:
        yield "nothing to check: what was given has no schema, no tool and no request"
    elif not tally.checked and not tally.unreadable:
        yield "no tool was found in what was given"


def as_json(tally: Tally) -> Any:
    """Return all results as JSON values."""
    counts = tally.counts
    return msgspec.to_builtins(
        {
            "checked": [_values(one) for one in tally.checked],
            "counts": {status.value: counts[status] for status in SchemaStatus},
            "repeated": tally.repeated,
            "without_tools": tally.without_tools,
            "functions": tally.functions,
            "unreadable": tally.unreadable,
            "heavy": tally.heavy(),
            "oversized": list(tally.oversized.values()),
        }
    )


def _notes(notes: Sequence[Problem]) -> Iterator[str]:
    """Yield one line for all places of a schema that have the same note."""
    alike: dict[str, list[Problem]] = {}
    for problem in notes:
        alike.setdefault(problem.reason, []).append(problem)
    for first, *others in alike.values():
        said = f"open objects (at `{first.path}`)" if first.reason == OPEN else str(first)
        yield f"{said}, and in {number(len(others), 'more place')}" if others else said


def _title(one: CheckedSchema) -> str:
    declaration = one.declaration
    if declaration.root is Root.OBJECT:
        return f"{declaration.name}  {declaration.where}"
    inside = "" if declaration.path == "$" else f" {declaration.path}"
    return declaration.where + inside


def _values(one: CheckedSchema) -> dict[str, Any]:
    place = {name: getattr(one.declaration, name) for name in ("name", "where", "path")}
    return place | {each.name: getattr(one, each.name) for each in fields(one)[1:]}
