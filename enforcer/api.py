"""The library's front door: one object per served model, one matcher per turn.

Owns: wiring a vocabulary, a dialect and an engine together, and when a schema is compiled.
Must not know: hosts, threads (it takes a way to have something done ahead of time).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from enforcer import engines
from enforcer.budget.least import Unbounded
from enforcer.budget.pieces import Pieces
from enforcer.budget.shortest import NoShortestEnd, Shortest
from enforcer.cache import Cache
from enforcer.engines import ArgumentEngine
from enforcer.errors import Problem, SchemaError, UnknownLength, UnsupportedSchema
from enforcer.explain.request import Words
from enforcer.explain.turn import ExplainedMatcher
from enforcer.layouts import Kind
from enforcer.request import history
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.options import Options
from enforcer.request.spec import Spec, bundled
from enforcer.schema import Limits, OnUnsupported, Root, compile_schema
from enforcer.schema.bundling import Documents
from enforcer.schema.reading.plain import is_plain_object
from enforcer.turn import dialects
from enforcer.turn.deadline import Deadline
from enforcer.turn.envelope import Table
from enforcer.turn.matcher import Matcher
from enforcer.turn.parser import Parser, Turn
from enforcer.turn.requested import envelope, refuse_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence

    from enforcer.engines import ArgumentMatcher, CompiledGrammar, Startable
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.turn.envelope import Envelope
    from enforcer.vocabulary import Vocabulary


_T = TypeVar("_T")
CACHE_BYTES = 256 << 20
_SWITCH_OFF = "switch off `finish_within_budget`, or simplify it"

_ARGUMENTS = "arguments"

# Characters of a schema that, being plain, compiles in a few milliseconds at most.
_QUICK = 2_000
# Small schemas of which it is remembered whether they are plain: a megabyte or a few. An agent's
# hundred tools come with every turn.
_SEEN = 2_048


@dataclass(frozen=True, slots=True)
class Prepared:
    """What has been compiled for a turn before it starts; the turn keeps it.

    Attributes:
        arguments: grammars by the name of the tool.
        text_format: the grammar of the response format, if the request has one.

    """

    arguments: Mapping[str, CompiledGrammar]
    text_format: CompiledGrammar | None


class Enforcer:
    """Compiles what requests declare, for one vocabulary, dialect and engine.

    Thread-safe; build one for each served model and keep it.

    Args:
        vocabulary: what the model's ids stand for.
        dialect: the format, a file in `grammars/`.
        engine: what masks the arguments, of `enforcer.engines.ENGINES`; or one that has been
            built for this vocabulary.
        options: the settings of requests that bring none.
        documents: what schemas may refer to outside of themselves; of requests that come by
            `matcher`. A `Spec` that is passed has it in it.
        cache: where compiled grammars are kept; several enforcers may share one. By default
            one of 256 MiB.
        on_compile: told how many nanoseconds each compilation took.
        write: writes a schema for the engine as `ArgumentEngine.write` does, in another
            process, say; small and plain ones are written here all the same.

    Raises:
        UnknownDialect: no dialect of that name.
        UnknownEngine: no engine of that name, or its package is not installed.
        InvalidVocabulary: the tokenizer lacks the dialect's control tokens.

    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        dialect: str = "kimi_k2",
        engine: str | ArgumentEngine = "llguidance",
        options: Options | None = None,
        *,
        documents: Documents | None = None,
        cache: Cache | None = None,
        on_compile: Callable[[int], None] | None = None,
        write: Callable[[str, Options, Root], str] | None = None,
    ) -> None:
        self._write = write or self._write_here
        self.vocabulary = vocabulary
        self.dialect = dialects.load(dialect)
        self.table = Table(self.dialect, vocabulary)
        if isinstance(engine, ArgumentEngine):
            self.engine = engine
        else:
            self.engine = engines.load(engine, vocabulary)
        self.options = options or Options()
        self.documents = documents or Documents({})
        self.cache = Cache(CACHE_BYTES) if cache is None else cache
        # In its keys; an `id` would be another enforcer's once this one is gone.
        self._own = object()
        self._on_compile = on_compile

    def warm(self) -> None:
        """Build what the first turn would wait for: up to a second for a real vocabulary.

        Raises:
            ConfigurationError: the engine cannot write the arguments of this format.

        """
        if self.dialect.is_simple:
            return
        self.table.warm()
        row = np.zeros(self.vocabulary.words, dtype=np.int32)
        self._compiled("{}", self.options).matcher().fill(row)

    def matcher(
        self,
        tools: object,
        tool_choice: object = "auto",
        parallel_tool_calls: object = True,  # noqa: FBT002 - the request's own field
        messages: object = None,
        prompt_ids: Sequence[int] | None = None,
        *,
        response_format: object = None,
        budget: int | None = None,
    ) -> ExplainedMatcher:
        """Start the turn that answers a chat request.

        Args:
            tools, tool_choice, parallel_tool_calls: as the request carries them.
            messages: the dialog so far; its calls are counted, so that the next index
                continues the dialog's counter.
            prompt_ids: ids of the rendered prompt, whose tail tells whether the turn starts
                inside a think. None means a turn that starts in content.
            response_format: what text must fit; the turn is such a text, or calls. Known are
                the forms of `enforcer.request.response_format.parse`.
            budget: as in `start`.

        Raises:
            InvalidTools: a field is not what a chat request carries.
            UnsupportedSchema: a tool's schema cannot be enforced exactly.
            InvalidSchema: a tool's schema is not one.
            IllegalPrefix: the prompt has begun a turn that the tools do not allow.

        """
        if tool_choice == "auto" and not tools:
            tool_choice = None
        spec = Spec(
            tools_.parse(tools, tool_choice, parallel_tool_calls),
            history.count_calls(messages),
            formats.parse(response_format),
        )
        spec = bundled(spec, self._bundle, self.options.limits.size)
        self.check(spec)
        return cast("ExplainedMatcher", self.start(spec, prompt_ids, budget, explained=True))

    def check(self, spec: Spec) -> None:
        """Refuse a request any of whose schemas cannot be enforced.

        Every declared tool is checked, also those that the tool choice leaves out.

        Raises:
            InvalidTools: the dialect has no call to a tool of such a name.
            UnsupportedSchema: a schema or format cannot be enforced exactly.
            InvalidSchema: it is none.

        """
        refuse_names(self.dialect, spec.toolset)
        options = spec.resolve(self.options)
        for tool in spec.toolset.tools.values():
            try:
                self._check(tool.schema, options)
            except SchemaError as error:
                raise error.under(tool.path) from error
        if spec.response_format is not None:
            self._format(spec.response_format, options)

    def prepare(self, spec: Spec) -> Generator[None, None, Prepared]:
        """Compile what a turn must not wait for later: all that may take long.

        A schema that is small and plain is compiled when the header of a call has left no other
        tool, unless it is the only one that a demanded call can be to.

        Yields:
            Before each compilation, so that whoever drives it can let others go first.

        Returns:
            What has been compiled.

        """
        toolset, options = spec.toolset, spec.resolve(self.options)
        alone = len(toolset.allowed) == 1 and toolset.choice is tools_.ToolChoice.REQUIRED
        text_format = None
        wanted = spec.response_format
        if wanted is not None:
            if not self._has(wanted.kind.value, wanted.source, options):
                yield
            text_format = _ready(self._format(wanted, options))
        arguments = {}
        for name in toolset.allowed:
            schema = toolset.tools[name].schema
            if alone or not self._is_quick(schema, options):
                if not self._has(_ARGUMENTS, schema, options):
                    yield
                arguments[name] = _ready(self._compiled(schema, options))
        return Prepared(arguments, text_format)

    def start(
        self,
        spec: Spec,
        prompt_ids: Sequence[int] | None,
        budget: int | None = None,
        *,
        prepared: Prepared | None = None,
        ahead: Callable[[Callable[[], object]], object] | None = None,
        rollback: int | None = None,
        explained: bool = False,
    ) -> Matcher:
        """Start a turn of a request that has been checked; cost flat in its number of tools.

        Args:
            spec: what the request allows.
            prompt_ids: ids of the rendered prompt; see `matcher`.
            budget: how many ids the turn may have, its end among them; only asked for where
                `Options.finish_within_budget` is set. None if nobody knows.
            prepared: what `prepare` gave for this spec; without it, each schema is compiled
                when a call to its tool begins.
            ahead: has something done soon on another thread: compiling the schema of a tool
                once a header can only be that tool's.
            rollback: how many of the last ids the host may take back; None for all.
            explained: make an `ExplainedMatcher`, which remembers the texts of calls, so that
                it has words for what is inside them.

        Raises:
            IllegalPrefix: the prompt has begun a turn that the tools do not allow.
            BudgetTooSmall: what is demanded does not fit into the budget.
            UnknownLength: turns of this format cannot be finished within a budget.
            UnsupportedSchema: how short a text can be is not known, and a budget is given.

        """
        toolset, options = spec.toolset, spec.resolve(self.options)
        ready = prepared or Prepared({}, None)
        text_format = ready.text_format
        if text_format is None and spec.response_format is not None:
            text_format = _ready(self._format(spec.response_format, options))
        words = None
        if explained:
            words = Words(self.vocabulary, lambda: self._pieces, spec, options)
        text: Callable[[], ArgumentMatcher] | None = None
        if text_format is not None:
            text = text_format.matcher if words is None else partial(words.text, text_format)
        allowed = envelope(self.table, spec, options, text)

        held: dict[str, CompiledGrammar] = {}

        def grammar(name: str) -> CompiledGrammar:
            found = ready.arguments.get(name) or held.get(name)
            if found is None:
                found = held[name] = self._compiled(toolset.tools[name].schema, options)
            return _ready(found)

        def arguments(name: str) -> Startable:
            found = grammar(name)
            return found if words is None else words.arguments(name, found)

        def expect(name: str) -> None:
            if ahead is not None and name not in ready.arguments:
                ahead(lambda: grammar(name))

        deadline = None
        if options.finish_within_budget and not self.dialect.is_simple:
            raise UnknownLength("$.finish_within_budget", self.dialect.name)
        if budget is not None and options.finish_within_budget:
            deadline = self._deadline(allowed, spec, options, budget)
        made = ExplainedMatcher if explained else Matcher
        return made(
            allowed, arguments, prompt_ids, expect=expect, deadline=deadline, rollback=rollback
        )

    def _deadline(self, allowed: Envelope, spec: Spec, options: Options, budget: int) -> Deadline:
        tools, wanted = spec.toolset.tools, spec.response_format

        def plan(name: str) -> Shortest:
            return self._shortest(tools[name].schema, options, Root.OBJECT, tools[name].path)

        text = None
        if wanted is not None:
            path = f"$.response_format.{wanted.kind.value}"
            if wanted.kind is not formats.FormatKind.JSON_SCHEMA:
                reason = "how short such a text can be is not known: " + _SWITCH_OFF
                raise UnsupportedSchema((Problem(path, wanted.kind.value, reason),))
            text = self._shortest(wanted.source, options, Root.ANY, f"{path}.schema")
        return Deadline(allowed, self._pieces, budget, plan, text)

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.vocabulary)

    def _shortest(self, schema: str, options: Options, root: Root, path: str) -> Shortest:
        def make() -> Shortest:
            try:
                grammar = self._grammar(schema, options, root)
            except SchemaError:
                if options.on_unsupported is not OnUnsupported.ISOLATE:
                    raise
                grammar = self._grammar("{}", options, root)
            return Shortest(grammar, self._pieces)

        try:
            return self._kept(f"shortest {root.value}", schema, options, make, _weight)
        except (NoShortestEnd, Unbounded) as error:
            raise UnsupportedSchema((Problem(path, "", f"{error}; {_SWITCH_OFF}"),)) from error
        except SchemaError as error:
            raise error.under(path) from error

    def parse(
        self,
        token_ids: Sequence[int],
        prompt_ids: Sequence[int] | None = None,
        names: Collection[str] | None = None,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Turn:
        """Read a generated turn.

        Args:
            token_ids: the turn, up to and with its end. Padding behind it, which `generate` gives
                the shorter rows of a batch, is no part of it: `Turn.stray` would be the place of
                the first one.
            prompt_ids, names: as in `enforcer.turn.parser.Parser`.
            schemas: the tools' parameters by name; formats that do not write the types of
                values are read by them.

        """
        known = schemas or {}
        parser = Parser(self.table, prompt_ids, names, known.get)
        parser.feed(token_ids)
        return parser.turn()

    def _bundle(self, schema: str) -> str:
        if not self.documents.may_concern(schema):
            return schema
        bundle = self.documents.bundle
        return self._kept("bundle", schema, self.options, lambda: bundle(schema), len)

    def _grammar(self, schema: str, options: Options, root: Root = Root.OBJECT) -> ArgumentGrammar:
        return compile_schema(
            json.loads(schema),
            limits=options.limits,
            on_unsupported=options.on_unsupported,
            root=root,
            conventions=options.conventions,
        )

    def _trusts_plain(self, options: Options) -> bool:
        if self.dialect.arguments.kind is not Kind.JSON:
            return False  # its names may not be ones that the format can write
        return self.engine.capacity.holds_plain and options.limits == Limits()

    def _is_quick(self, schema: str, options: Options) -> bool:
        quick = self._trusts_plain(options) and len(schema) <= _QUICK
        return quick and _is_plain(schema)

    def _check(self, schema: str, options: Options) -> None:
        if self._trusts_plain(options) and is_plain_object(schema):
            return
        if options.on_unsupported is OnUnsupported.ISOLATE:
            return  # whatever it is, there is something to hold the arguments to
        self._kept(
            "checked",
            schema,
            options,
            lambda: self.engine.check(self._grammar(schema, options), self.table.layout),
            _nothing,
        )

    def _compiled(self, schema: str, options: Options) -> CompiledGrammar:
        return self._kept(
            _ARGUMENTS,
            schema,
            options,
            lambda: self._timed(lambda: self._compile_arguments(schema, options)),
            _weight,
        )

    def _compile_arguments(self, schema: str, options: Options) -> CompiledGrammar:
        try:
            return self._compile(schema, options, Root.OBJECT)
        except SchemaError:
            if options.on_unsupported is not OnUnsupported.ISOLATE:
                raise
            return self._compile("{}", options, Root.OBJECT)

    def _compile(self, schema: str, options: Options, root: Root) -> CompiledGrammar:
        if root is Root.OBJECT and self._is_quick(schema, options):
            written = self._write_here(schema, options, root)
            return self.engine.read(written, quick=True)
        return self.engine.read(self._write(schema, options, root))

    def _write_here(self, schema: str, options: Options, root: Root) -> str:
        layout = self.table.layout if root is Root.OBJECT else None
        return self.engine.write(self._grammar(schema, options, root), layout)

    def _format(self, wanted: ResponseFormat, options: Options) -> CompiledGrammar:
        return self._kept(
            wanted.kind.value,
            wanted.source,
            options,
            lambda: self._timed(lambda: self._compile_format(wanted, options)),
            _weight,
        )

    def _kept(
        self,
        kind: str,
        source: str,
        options: Options,
        make: Callable[[], _T],
        weigh: Callable[[_T], int],
    ) -> _T:
        """Give what is made of a source, and keep it."""
        return self.cache.get(self._key(kind, source, options), make, weigh)

    def _has(self, kind: str, source: str, options: Options) -> bool:
        grammar: CompiledGrammar | None = self.cache.peek(self._key(kind, source, options))
        return grammar is not None and grammar.is_ready

    def _key(self, kind: str, source: str, options: Options) -> Hashable:
        # A digest, for a source may be large.
        digest = sha256(source.encode("utf-8", "surrogatepass")).digest()
        settings = (options.on_unsupported, options.limits, options.conventions)
        return (kind, digest, *settings, self._own)

    def _timed(self, make: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        begun = perf_counter_ns()
        try:
            return make()
        finally:
            if self._on_compile is not None:
                self._on_compile(perf_counter_ns() - begun)

    def _compile_format(self, wanted: ResponseFormat, options: Options) -> CompiledGrammar:
        if wanted.kind is not formats.FormatKind.JSON_SCHEMA:
            return self.engine.compile_text(wanted)
        try:
            return self._compile(wanted.source, options, Root.ANY)
        except SchemaError as error:
            raise error.under("$.response_format.json_schema.schema") from error


@lru_cache(_SEEN)
def _is_plain(schema: str) -> bool:
    return is_plain_object(schema)


def _ready(grammar: CompiledGrammar) -> CompiledGrammar:
    grammar.renew()
    return grammar


def _nothing(_: object) -> int:
    return 0


def _weight(grammar: CompiledGrammar | Shortest) -> int:
    return grammar.weight
