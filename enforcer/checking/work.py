"""The two tasks of the core: checking one schema, and starting one turn.

Both may take longer than a server's event loop can spare. A `SchemaCheck` finds out whether an
engine can enforce a schema or a response format. A `Beginning` finds out whether a turn that the
prompt has begun fits its schemas, and whether a demanded call fits into the token budget.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from enforcer.checking.task import TaskVerdict, WorkerState
from enforcer.compiling import grammar_of
from enforcer.errors import EnforcerError, IllegalPrefix, RequestError, SchemaError
from enforcer.layouts import JSON, BoundLayout
from enforcer.request import spec_text
from enforcer.request.options import Options
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import compile_schema
from enforcer.turn import dialects

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine, Wanted
    from enforcer.regex.charset import CharSet

LOOK = 0.25  # seconds of processor time until a check counts as slow
SECONDS = 2.0  # of processor time, for one check
# Levels of a check: the seconds of processor time after which it starts anew at the next level, and
# the difference between the `nice` values of its worker and of the server.
LEVELS = ((0.03, 3), (LOOK, 10), (SECONDS, 10))
TOO_SLOW = (
    f"checking this schema takes over {SECONDS:g} seconds of processor time; give it fewer "
    "alternatives, overlapping patterns or nested counts"
)
# A schema of 2 MB can have more problems than a message should.
_MOST_PROBLEMS = 100
_USUAL = Options()


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """A task that finds out whether an engine can enforce one schema, or one response format.

    Attributes:
        wanted: the format of arguments, or of a response.
        options: the request's options.
        writes: whether to return the grammar as written for the engine, of a schema that has been
            checked before; see `ArgumentEngine.write`.
        dialect: the tool-call format whose layout arguments have; empty for JSON with the usual
            white space.
        controls: name and id of the special tokens that the layout may have, in the vocabulary
            that the grammar is written for; None for the worker's own vocabulary.
        writable: the characters that this vocabulary can write; None for the worker's own.

    """

    wanted: ResponseFormat
    options: Options = _USUAL
    writes: bool = False
    dialect: str = ""
    controls: tuple[tuple[str, int], ...] | None = None
    writable: CharSet | None = None

    def key(self) -> Hashable:
        """Return a small key, however large the source is; equal checks share one verdict."""
        own, wanted = self.options, self.wanted
        digest = sha256(wanted.source.encode("utf-8", "surrogatepass")).digest()
        return (
            *(digest, wanted.kind, wanted.root, self.writes),
            *(self.dialect, self.controls, self.writable),
            *(own.on_unsupported, own.limits, own.conventions),
            *(own.compact_text, own.closed_text, own.plain_spelling, own.second_space),
        )

    @property
    def size(self) -> int:
        """The characters of the source."""
        return len(self.wanted.source)

    def perform(self, worker: WorkerState) -> TaskVerdict:
        """SchemaCheck the schema in this process, without a bound on time or memory."""
        try:
            return self._perform(worker.engine)
        except SchemaError as error:
            return TaskVerdict(error=type(error)(error.problems[:_MOST_PROBLEMS]))

    def _perform(self, engine: ArgumentEngine) -> TaskVerdict:
        layout = self._layout(engine)
        wanted: Wanted = self.wanted
        grammar = None
        if self.wanted.kind is FormatKind.JSON_SCHEMA:
            wanted = grammar = grammar_of(self.wanted, self.options)
        if self.writes:
            return TaskVerdict(written=engine.write(wanted, layout))
        engine.check(wanted, layout)
        relaxed = () if grammar is None else grammar.relaxed
        return TaskVerdict(relaxed=relaxed[:_MOST_PROBLEMS])

    def _layout(self, engine: ArgumentEngine) -> BoundLayout:
        own = JSON
        if self.dialect:
            known = engine.vocabulary
            controls = known.controls if self.controls is None else dict(self.controls)
            writable = known.writable if self.writable is None else self.writable
            own = dialects.load(self.dialect).layout(controls, writable)
        return self.options.laid_out(own, self.wanted.root)


@dataclass(frozen=True, slots=True)
class Beginning:
    """A task that finds out whether a turn can be started.

    Attributes:
        spec: the request's spec as text, with the server's settings (`Spec.settled`).
        skipped: how many token ids of the prompt come before `prompt_ids`.
        prompt_ids: the last token ids of the prompt, at least from the beginning of the turn.
        budget: how many token ids the turn may have; None if unknown.

    """

    spec: str
    skipped: int
    prompt_ids: tuple[int, ...]
    budget: int | None

    def key(self) -> Hashable:
        """Return a small key, however large the spec is; equal tasks share one verdict."""
        digest = sha256(array("q", self.prompt_ids).tobytes()).digest()
        return (_digest(self.spec), digest, self.skipped, self.budget)

    @property
    def size(self) -> int:
        """The characters of the spec."""
        return len(self.spec)

    def perform(self, worker: WorkerState) -> TaskVerdict:
        """Start the turn; paths of errors are those of the whole prompt.

        Raises:
            ValueError: no server has settled the spec.

        """
        spec = spec_text.read(self.spec)
        if spec.settled is None:
            raise ValueError("a spec that no server has settled")
        try:
            worker.enforcer(spec.settled.dialect).start(spec, self.prompt_ids, self.budget)
        except IllegalPrefix as error:
            return TaskVerdict(error=error.at(self._in_whole_prompt))
        except RequestError as error:
            return TaskVerdict(error=error)
        return TaskVerdict()

    def _in_whole_prompt(self, path: str) -> str:
        before, at = path.removesuffix("]").rsplit("[", 1)
        return f"{before}[{int(at) + self.skipped}]"


@lru_cache(maxsize=4)
def _digest(spec: str) -> bytes:
    # Each prompt of a list comes with the same text, of megabytes maybe.
    return sha256(spec.encode("utf-8", "surrogatepass")).digest()


def warm(engine: ArgumentEngine, layout: BoundLayout | None) -> None:
    """Compile a small schema, so that no check pays for lazily built tables.

    Args:
        engine: the engine to warm.
        layout: a layout of arguments to warm it for, besides JSON with the usual white space.

    """
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "b"}}}
    for each in {None, layout}:
        with suppress(EnforcerError):  # what the engine cannot do, each check is told
            engine.check(compile_schema(schema | {"additionalProperties": False}), each)
