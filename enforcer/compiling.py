"""Compiler of schemas and response formats for one engine, with cached results."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from functools import lru_cache
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeVar

from enforcer.engines import MACHINE, ArgumentEngine, CompiledGrammar, Wanted
from enforcer.errors import Problem, SchemaError
from enforcer.layouts import BoundLayout, LayoutKind
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import ArgumentGrammar, OnUnsupported, Root, trace_schema
from enforcer.schema.limits import USUAL
from enforcer.schema.reading.plain import is_quick

if TYPE_CHECKING:
    from enforcer.cache import Cache
    from enforcer.request.options import Options
    from enforcer.request.tools import Tool, Tools
    from enforcer.schema.bundling import Documents
    from enforcer.schema.provenance import Provenance
    from enforcer.vocabulary import Vocabulary


_T = TypeVar("_T", bound="CompiledGrammar | tuple[Problem, ...]")
_COMPILED = "compiled"
_PROBLEM = 1_000  # bytes, roughly
# Different settings in use at one time: the server's, and a few of clients.
_SETTINGS = 64


class Grammars:
    """Compiles for one vocabulary, engine and layout of arguments; thread-safe.

    Sources are JSON texts; equal ones are compiled once.

    Args:
        vocabulary: the model's vocabulary.
        engine: the engine that masks the texts.
        layout: the layout of a call's arguments.
        cache: holds the results; several `Grammars` may share one.
        on_compile: called with the nanoseconds of each compilation.
        write: does the work of `ArgumentEngine.write`, in another process, say; not used for small,
            plain schemas.

    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        engine: ArgumentEngine,
        layout: BoundLayout,
        *,
        cache: Cache,
        on_compile: Callable[[int], None] | None = None,
        write: Callable[[ResponseFormat, Options], bytes] | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._engine = engine
        self._layout = layout
        # Another layout may have no way to write a name.
        is_json = layout.layout.kind is LayoutKind.JSON
        self._holds_plain = is_json and engine.name == MACHINE
        self.cache = cache
        if engine.memory is not None:
            cache.count(engine.memory)
        self._on_compile = on_compile
        self._write = write or self._write_here
        # In its keys; an `id` would be another's once this one is gone.
        self._own = object()
        self._settings: tuple[Options | None, str] = None, ""  # of the last key

    def check(self, wanted: ResponseFormat, options: Options) -> None:
        """Raise if a format cannot be enforced; an isolated tool's always can.

        Args:
            wanted: the format of arguments, or of a response.
            options: the request's options.

        Raises:
            UnsupportedSchema, InvalidSchema: with paths below a schema.

        """
        if wanted.root is Root.OBJECT and options.on_unsupported is OnUnsupported.ISOLATE:
            return  # arguments can be any object
        self.cache.get(
            self._key("checked", wanted, options),
            lambda: self._engine.check(*self._asked(wanted, options)),
            lambda _: 0,
        )

    def is_quick(self, schema: str, options: Options) -> bool:
        """Return whether a schema of arguments is small and plain, and so compiled on demand."""
        return self._trusts_plain(options) and is_quick(schema)

    def doubtful(self, tools: Tools, options: Options) -> Collection[Tool]:
        """Return the tools whose schemas `check` may refuse."""
        return tools.doubtful if self._trusts_plain(options) else tools.values()

    def slow(self, tools: Tools, options: Options) -> Collection[str]:
        """Return the names of the tools whose schemas are not `is_quick`."""
        return tools.slow if self._trusts_plain(options) else tools

    def compiled(self, wanted: ResponseFormat, options: Options) -> CompiledGrammar:
        """Return the compiled grammar of a format; cached. Raises as `check` does."""
        return self._made(_COMPILED, wanted, options, lambda it: self._compile(it, options))

    def is_compiled(self, wanted: ResponseFormat, options: Options) -> bool:
        """Return whether the compiled grammar of a format is cached."""
        return self.cache.peek(self._key(_COMPILED, wanted, options)) is not None

    def bundle(self, schema: str, documents: Documents, options: Options) -> str:
        """Return a schema bundled with the documents that it refers to; cached."""
        if not documents.may_concern(schema):
            return schema
        key = self._key("bundle", ResponseFormat(FormatKind.JSON_SCHEMA, schema), options)
        return self.cache.get(key, lambda: documents.bundle(schema), len)

    def _trusts_plain(self, options: Options) -> bool:
        return self._holds_plain and (options.limits is USUAL or options.limits == USUAL)

    def _compile(self, wanted: ResponseFormat, options: Options) -> CompiledGrammar:
        if wanted.kind is FormatKind.JSON_SCHEMA:
            is_here = wanted.root is Root.OBJECT and self.is_quick(wanted.source, options)
        else:  # grammars cannot be written, and other formats depend on an incomplete vocabulary
            is_here = wanted.kind is FormatKind.GRAMMAR or not self._vocabulary.is_complete
        if is_here:
            return self._engine.compile(*self._asked(wanted, options))
        return self._engine.read(self._write(wanted, options))

    def _write_here(self, wanted: ResponseFormat, options: Options) -> bytes:
        return self._engine.write(*self._asked(wanted, options))

    def _asked(self, wanted: ResponseFormat, options: Options) -> tuple[Wanted, BoundLayout | None]:
        if wanted.kind is not FormatKind.JSON_SCHEMA:
            return wanted, None
        return grammar_of(wanted, options), options.laid_out(self._layout, wanted.root)

    def _made(
        self,
        what: str,
        wanted: ResponseFormat,
        options: Options,
        make: Callable[[ResponseFormat], _T],
    ) -> _T:
        """Return a cached result for a format; if an isolated tool fails, that of any object."""

        def timed() -> _T:
            begun = perf_counter_ns()
            try:
                return make(wanted)
            except SchemaError:
                is_response = wanted.root is Root.ANY
                if is_response or options.on_unsupported is not OnUnsupported.ISOLATE:
                    raise
                return make(replace(wanted, source="{}"))
            finally:
                if self._on_compile is not None:
                    self._on_compile(perf_counter_ns() - begun)

        return self.cache.get(self._key(what, wanted, options), timed, _weight)

    def _key(self, what: str, wanted: ResponseFormat, options: Options) -> Hashable:
        """Return the cache key of a result: all settings and the source that it depends on."""
        known, settings = self._settings
        if known is not options:  # to hash them takes longer than all else here
            settings = _settings(
                *(options.on_unsupported, options.limits, options.conventions),
                *(options.compact_text, options.closed_text),
                *(options.plain_spelling, options.second_space),
            )
            self._settings = options, settings
        return (what, wanted.digest, settings, self._own)


def grammar_of(wanted: ResponseFormat, options: Options) -> ArgumentGrammar:
    """Return the grammar of a JSON Schema under a request's options; see `traced`."""
    return traced(wanted, options)[0]


def traced(wanted: ResponseFormat, options: Options) -> tuple[ArgumentGrammar, Provenance]:
    """Return the grammar of a JSON Schema under a request's options, and its values' sources.

    Raises:
        UnsupportedSchema, InvalidSchema: with paths below the schema.

    """
    return trace_schema(
        json.loads(wanted.source),
        limits=options.limits,
        on_unsupported=options.on_unsupported,
        root=wanted.root,
        conventions=options.conventions_of(wanted.root),
    )


@lru_cache(_SETTINGS)
def _settings(*settings: Hashable) -> str:
    """Return settings as text for keys, since the hash of a string is computed once."""
    return repr(settings)


def _weight(found: CompiledGrammar | tuple[Problem, ...]) -> int:
    return _PROBLEM * len(found) if isinstance(found, tuple) else found.weight
