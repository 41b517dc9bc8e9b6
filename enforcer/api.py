"""The library's front door: one object per served model, one matcher per turn.

Owns: wiring a vocabulary, a dialect and an engine together, and when a schema is compiled (how, and
what is kept: `compiling`). Must not know: hosts, threads (it takes a way to have something done
ahead of time).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

import numpy as np

import enforcer.machine  # noqa: F401 - first: it says in words that the kernel is not compiled
from enforcer import engines
from enforcer.cache import Cache
from enforcer.client import python_tools
from enforcer.compiling import Grammars
from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar, Startable
from enforcer.engines.machine import MachineEngine
from enforcer.errors import (
    BudgetTooSmall,
    ConfigurationError,
    Problem,
    SchemaError,
    UnsupportedSchema,
    brief,
)
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.options import Options, OptionWords
from enforcer.request.spec import Spec, bundled, read_fields, refuse_large
from enforcer.schema.bundling import Documents
from enforcer.turn import dialects
from enforcer.turn.completions import Completions, Shortest
from enforcer.turn.deadline import Deadline
from enforcer.turn.matcher import Matcher
from enforcer.turn.parser import Parser
from enforcer.turn.request_envelope import envelope, refuse_names
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary

_ENDLESS = (
    "no completion of such a text was found, which `finish_within_budget` needs: leave that out, "
    "or allow shorter texts"
)

if TYPE_CHECKING:
    from enforcer.machine.grammar import MachineGrammar
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.events import Turn
    from enforcer.types import Messages, ResponseFormat, ToolChoice, Tools

    Follow = Callable[[CompiledGrammar, formats.ResponseFormat, str | None], Startable]
    Ahead = Callable[[Callable[[], object]], object]


CACHE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Prepared:
    """What turns of a spec share, whatever their prompts; a turn keeps it.

    Attributes:
        options: the options that hold for the turns.
        envelope: what may stand around the calls.
        arguments: by tool name, the grammars that are compiled before a turn.

    """

    options: Options
    envelope: Envelope
    arguments: Mapping[str, CompiledGrammar]

    @property
    def has_grammars(self) -> bool:
        """Whether it holds compiled grammars, which are the cache's to keep or to drop."""
        return bool(self.arguments) or self.envelope.text_format is not None


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
        **words: fields of `Options` and `Conventions` by name, such as `closed_objects=True`;
            they overrule `options`.

    Attributes:
        vocabulary: as given.
        dialect: the format; its `final` is the state of a turn that has ended.
        table: the format bound to the vocabulary, which a `Parser` reads by.
        engine: what masks the arguments.
        options: the settings of requests that bring none.

    Raises:
        UnknownDialect: no dialect of that name.
        UnknownEngine: no engine of that name, or its package is not installed.
        InvalidVocabulary: the tokenizer lacks the dialect's control tokens.
        ConfigurationError: the engine was built for another vocabulary, or cannot tell where the
            format's arguments end; or something is of another type.

    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        dialect: str = "kimi_k2",
        engine: str | ArgumentEngine = engines.MACHINE,
        options: Options | None = None,
        *,
        documents: Documents | None = None,
        cache: Cache | None = None,
        on_compile: Callable[[int], None] | None = None,
        write: Callable[[formats.ResponseFormat, Options], bytes] | None = None,
        **words: Unpack[OptionWords],
    ) -> None:
        _require(
            "vocabulary",
            vocabulary,
            Vocabulary,
            "; of a tokenizer, or the folder with its "
            "files, `Enforcer.from_tokenizer(...)` makes one",
        )
        for name, given, kind in (
            ("options", options, Options),
            ("documents", documents, Documents),
            ("cache", cache, Cache),
        ):
            if given is not None:
                _require(name, given, kind)
        self.vocabulary = vocabulary
        self.dialect = dialects.load(dialect)
        if not isinstance(engine, ArgumentEngine):
            engine = engines.load(engine, vocabulary)
        if not engine.vocabulary.is_same(vocabulary):
            raise ConfigurationError(
                f"engine {engine.name!r} was built for another vocabulary, {engine.vocabulary}: "
                "load it for the one that is given"
            )
        self.engine = engine
        any_text = (lambda: engine.any_text) if isinstance(engine, MachineEngine) else None
        self.table = Table(self.dialect, vocabulary, any_text)
        self.table.refuse_engine(engine.name)
        self.options = (Options() if options is None else options).changed(**words)
        if self.options.identical_calls is not None and engine.name != engines.MACHINE:
            raise ConfigurationError(
                f"the engine {engine.name} does not support `identical_calls`: leave it out, or "
                f"use the engine {engines.MACHINE}"
            )
        self._documents = Documents({}) if documents is None else documents
        self._grammars = Grammars(
            vocabulary,
            self.engine,
            self.table.layout,
            cache=Cache(CACHE_BYTES) if cache is None else cache,
            on_compile=on_compile,
            write=write,
        )

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: object,
        dialect: str = "kimi_k2",
        engine: str = engines.MACHINE,
        options: Options | None = None,
        *,
        documents: Documents | None = None,
        cache: Cache | None = None,
        **words: Unpack[OptionWords],
    ) -> Self:
        """Build an enforcer for a tokenizer; see `Vocabulary.from_tokenizer`.

        Args:
            tokenizer: a tokenizer of transformers, a folder with a model's tokenizer files, or a
                `tokenizer.json`.
            dialect: as for `Enforcer`.
            engine: as for `Enforcer`.
            options: as for `Enforcer`.
            documents: as for `Enforcer`.
            cache: as for `Enforcer`.
            **words: as for `Enforcer`.

        Raises:
            InvalidVocabulary: the tokenizer cannot be read exactly, or lacks the dialect's
                special tokens.

        """
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        return cls(vocabulary, dialect, engine, options, documents=documents, cache=cache, **words)

    @property
    def documents(self) -> Documents:
        """What schemas may refer to. For others make another enforcer: bundles are kept."""
        return self._documents

    @property
    def cache(self) -> Cache:
        """Where compiled grammars are kept."""
        return self._grammars.cache

    def warm(self) -> None:
        """Build what the first turn would wait for: one to three seconds for a real vocabulary.

        Raises:
            ConfigurationError: the engine cannot write the arguments of this format.

        """
        self.table.warm()
        if not self.dialect.is_simple:
            row = np.zeros(self.vocabulary.words, dtype=np.int32)
            any_object = tools_.Tool("", "{}", 0).arguments
            self._grammars.compiled(any_object, self.options).matcher().fill(row)
        self.engine.warm(self.table.layout)

    def matcher(
        self,
        tools: Tools,
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool | None = True,  # noqa: FBT001, FBT002 - the request's own field
        messages: Messages = None,
        prompt_ids: Sequence[int] | None = None,
        *,
        response_format: ResponseFormat = None,
        budget: int | None = None,
    ) -> Matcher:
        """Start the turn that answers a chat request.

        Args:
            tools: as the request carries them, or functions and models; see `enforcer.tool`.
            tool_choice: as the request carries it.
            parallel_tool_calls: as the request carries it.
            messages: the dialog so far, also as models of OpenAI's client; its calls are counted,
                so that the next index continues the dialog's counter.
            prompt_ids: ids of the rendered prompt, whose tail tells whether the turn starts
                inside a think. None means a turn that starts behind any think, with nothing said
                yet (`SILENT`); `Parser`, which reads what a model without a mask wrote too, takes
                a whole turn as well, with a think.
            response_format: what text must fit; the turn is such a text, or calls. Known are
                the forms of `enforcer.request.response_format.parse`.
            budget: how many ids the turn may have, its end among them; only asked for where
                `Options.finish_within_budget` is set. None if unknown.

        Raises:
            InvalidTools: a field is not what a chat request carries.
            UnsupportedSchema: a tool's schema cannot be enforced exactly. `UnsatisfiableSchema`
                is one, where nothing fits it, and `SchemaLimit`, where it, or all schemas
                together, are over a limit.
            InvalidSchema: a tool's schema is not one.
            IllegalPrefix: the prompt has begun a turn that the tools do not allow.
            BudgetTooSmall: what is demanded does not fit into the budget.
            ConfigurationError: the prompt's ids are no whole numbers, or there is a budget and
                turns are not to end within it.

        """
        if budget is not None and not self.options.finish_within_budget:
            raise ConfigurationError(
                "`budget` needs `Options(finish_within_budget=True)`: set it, or leave out the "
                "budget"
            )
        spec = self.read_request(
            tools, tool_choice, parallel_tool_calls, messages, response_format=response_format
        )
        try:
            return self.start(spec, prompt_ids, budget)
        except BudgetTooSmall as error:
            raise error.at(lambda _: "$.budget") from None

    def read_request(
        self,
        tools: Tools,
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool | None = True,  # noqa: FBT001, FBT002 - the request's own field
        messages: Messages = None,
        *,
        response_format: ResponseFormat = None,
    ) -> Spec:
        """Read the fields of a chat request, as `matcher` takes them, and check it.

        Raises:
            InvalidTools: see `matcher`.
            UnsupportedSchema: see `matcher`.
            InvalidSchema: see `matcher`.

        """
        declared = python_tools.declared(tools)
        spec = read_fields(declared, tool_choice, parallel_tool_calls, messages, response_format)
        bundle = partial(self._grammars.bundle, documents=self.documents, options=self.options)
        spec = bundled(spec, bundle, self.options.limits.size)
        self.check(spec)
        return spec

    def check(self, spec: Spec) -> None:
        """Refuse a request any of whose schemas cannot be enforced.

        Every declared tool is checked, even if the tool choice leaves it out.

        Raises:
            InvalidTools: the dialect cannot write a tool's name.
            UnsupportedSchema: a schema or format cannot be enforced exactly.
            InvalidSchema: a schema or format is invalid.
            SchemaLimit: one schema, or all schemas together, are over a limit.

        """
        refuse_names(self.dialect, spec.toolset, self.vocabulary)
        options = spec.resolve(self.options)
        refuse_large(spec, options.limits)
        doubtful = self._grammars.doubtful(spec.toolset.tools, options)
        for wanted in (*(tool.arguments for tool in doubtful), spec.response_format):
            if wanted is not None:
                with _under(wanted.path):
                    self._grammars.check(wanted, options)

    def prepare(self, spec: Spec) -> Generator[None, None, Prepared]:
        """Compile what a turn must not wait for later: all that may take long.

        A schema that is small and plain is compiled when the header of a call has left no other
        tool, unless it is the only one that a demanded call can be to.

        Yields:
            Before each compilation, so that the caller can let other work go first.

        Returns:
            What `start` takes. Turns of the same spec may share it. If it `has_grammars`, they
            stay in memory as long as it does.

        Raises:
            UnsupportedSchema, InvalidSchema: nothing had checked the request before.
            InvalidTools: text with a format could not be told from a call.

        """
        toolset, options = spec.toolset, spec.resolve(self.options)
        alone = len(toolset.allowed) == 1 and toolset.choice is tools_.ToolChoice.REQUIRED
        wanted = spec.response_format
        if wanted is not None and not self._grammars.is_compiled(wanted, options):
            yield
        allowed = self._envelope(spec, options)
        slow = toolset.tools if alone else self._grammars.slow(toolset.tools, options)
        arguments = {}
        for name in filter(slow.__contains__, toolset.allowed if slow else ()):
            its = toolset.tools[name].arguments
            if not self._grammars.is_compiled(its, options):
                yield
            with _under(its.path):
                arguments[name] = self._grammars.compiled(its, options)
        return Prepared(options, allowed, arguments)

    def compiled(self, wanted: formats.ResponseFormat, options: Options) -> CompiledGrammar:
        """Compile a schema or text format, or return its grammar from the cache.

        Raises:
            UnsupportedSchema, InvalidSchema: it cannot be enforced; see `check`.

        """
        return self._grammars.compiled(wanted, options)

    def _envelope(self, spec: Spec, options: Options, follow: Follow | None = None) -> Envelope:
        text: Callable[[], ArgumentMatcher] | None = None
        wanted = spec.response_format
        if wanted is not None:
            with _under(wanted.path):
                found = self._grammars.compiled(wanted, options)
            text = (found if follow is None else follow(found, wanted, None)).matcher
        return envelope(self.table, spec, options, text)

    def start(
        self,
        spec: Spec,
        prompt_ids: Sequence[int] | None,
        budget: int | None = None,
        *,
        prepared: Prepared | None = None,
        ahead: Ahead | None = None,
        rollback: int | None = None,
        kind: type[Matcher] = Matcher,
        follow: Follow | None = None,
    ) -> Matcher:
        """Start a turn of a request that has been checked.

        The cost is flat in its number of tools, but for formats in which a token of text may reach
        into a call: there the first mask is computed, a few tenths of a millisecond.

        Args:
            spec: what the request allows.
            prompt_ids: ids of the rendered prompt; see `matcher`.
            budget: see `matcher`.
            prepared: what `prepare` returned for this spec, for a turn without `follow`; without
                it, each schema is compiled when a call to its tool begins.
            ahead: has something done soon on another thread: compiling the schema of a tool
                once a header can only be that tool's.
            rollback: how many of the last ids the host may take back; None for all.
            kind: the class of the matcher.
            follow: wraps each compiled grammar; takes it, its schema or text format, and the name
                of the tool, which is None for a response format.

        Raises:
            IllegalPrefix: the prompt has begun a turn that the tools do not allow.
            BudgetTooSmall: what is demanded does not fit into the budget.
            UnsupportedSchema: a budget is given, and no end of a tool's arguments or of a
                response is found.

        """
        if prepared is None:
            options = spec.resolve(self.options)
            prepared = Prepared(options, self._envelope(spec, options, follow), {})
        grammar, expect = self._compiling(spec, prepared, ahead, follow)
        deadline = self._deadline(prepared, spec, budget)
        matcher = kind(
            prepared.envelope,
            grammar,
            prompt_ids,
            expect=expect,
            deadline=deadline,
            rollback=rollback,
        )
        matcher.begin()
        return matcher

    def _compiling(
        self, spec: Spec, prepared: Prepared, ahead: Ahead | None, follow: Follow | None
    ) -> tuple[Callable[[str], Startable], Callable[[str], None]]:
        """Return what compiles the arguments of a tool by its name, and what does so ahead."""
        tools = spec.toolset.tools
        held: dict[str, Startable] = {**prepared.arguments}

        def grammar(name: str) -> Startable:
            if name not in held:
                its = tools[name].arguments
                own = self._grammars.compiled(its, prepared.options)
                held[name] = own if follow is None else follow(own, its, name)
            return held[name]

        def expect(name: str) -> None:
            if ahead is not None and name not in held:
                ahead(lambda: grammar(name))

        return grammar, expect

    def _deadline(self, prepared: Prepared, spec: Spec, budget: int | None) -> Deadline | None:
        allowed, options = prepared.envelope, prepared.options
        if budget is None or not options.finish_within_budget:
            return None
        if self.engine.name != engines.MACHINE:
            raise ConfigurationError(
                f"the engine {self.engine.name} does not support `finish_within_budget`: leave it "
                f"out, or use the engine {engines.MACHINE}"
            )
        tools, wanted = spec.toolset.tools, spec.response_format

        def shortest(its: formats.ResponseFormat) -> Shortest:
            with _under(its.path):
                text = cast("MachineGrammar", self._grammars.compiled(its, options)).matcher()
                (_, growth, _, _), found = text.end_growth(), text.end_cost()
                if found < 0 or growth < 0:
                    raise UnsupportedSchema((Problem("$", "", _ENDLESS),))
                return Shortest(found, growth, text.end_start)

        least = inf if wanted is None else shortest(wanted).cost
        completions = Completions(allowed, lambda name: shortest(tools[name].arguments), least)
        return Deadline(completions, budget)

    def parse(
        self,
        token_ids: Sequence[int],
        prompt_ids: Sequence[int] | None = None,
        names: Collection[str] | None = None,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        tools: Tools = None,
    ) -> Turn:
        """Read a generated turn.

        Args:
            token_ids: the turn, up to and with its end. Padding behind it, which `generate` gives
                the shorter rows of a batch, is no part of it: `Turn.stray` would be the place of
                the first one.
            prompt_ids: as in `parser`.
            names: as in `parser`.
            schemas: as in `parser`.
            tools: as in `parser`.

        Raises:
            InvalidTools: `tools` are not what a chat request carries.
            ConfigurationError: some ids are no whole numbers.

        """
        parser = self.parser(tools, prompt_ids, names, schemas)
        parser.feed(token_ids)
        return parser.turn()

    def parser(
        self,
        tools: Tools = None,
        prompt_ids: Sequence[int] | None = None,
        names: Collection[str] | None = None,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Parser:
        """Build a parser that reads a turn while it is generated.

        Args:
            tools: as `matcher` takes them; they give `names` and `schemas` if these are left
                out. None keeps every call.
            prompt_ids: ids of the rendered prompt; see `Parser`.
            names: the tools that may be called; calls to others are dropped.
            schemas: the tools' parameters by name; formats that do not write the types of
                values are read by them.

        Raises:
            InvalidTools: `tools` are not what a chat request carries.
            ConfigurationError: some ids are no whole numbers.

        """
        if tools is not None:
            declared = tools_.parse(python_tools.declared(tools), "auto", True).tools
            names = declared.keys() if names is None else names
            if schemas is None:
                schemas = {name: json.loads(tool.schema) for name, tool in declared.items()}
        known = schemas or {}
        return Parser(self.table, prompt_ids, names, known.get)


@contextmanager
def _under(path: str) -> Iterator[None]:
    """Have the errors of a schema lead into the request, where it stands at a path."""
    try:
        yield
    except SchemaError as error:
        raise error.under(path) from error


def _require(name: str, given: object, kind: type, hint: str = "") -> None:
    if not isinstance(given, kind):
        raise ConfigurationError(f"{name} is {brief(given)}, but must be `{kind.__name__}`{hint}")
