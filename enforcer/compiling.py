"""What schemas and formats of text become for one engine, and what is kept of it.

Owns: keys in the cache, and what is compiled here at once or may be written in another process.
Must not know: turns, what a request carries beside schemas, hosts.
"""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from hashlib import blake2b
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeVar

from enforcer.budget.pieces import Pieces
from enforcer.budget.shortest import Shortest, Untimed, shortest, unknown_text, untimed
from enforcer.engines import MACHINE
from enforcer.errors import SchemaError
from enforcer.layouts import LayoutKind
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import OnUnsupported, Root, compile_schema
from enforcer.schema.limits import USUAL
from enforcer.schema.reading.plain import is_plain, is_quick

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable

    from enforcer.cache import Cache
    from enforcer.engines import ArgumentEngine, CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.request.options import Options
    from enforcer.request.tools import Tools
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.bundling import Documents
    from enforcer.vocabulary import Vocabulary


_T = TypeVar("_T")
_ARGUMENTS = "arguments"
_UNTIMED = 1_000  # bytes, roughly

# Settings that requests have at one time, at most: those of the server, and a few of clients.
_SETTINGS = 64


class Grammars:
    """Compiles for one vocabulary, engine and layout of arguments. Thread-safe.

    Sources are JSON texts; equal ones are compiled once, whoever asks.

    Args:
        vocabulary: what the model's ids stand for.
        engine: what masks the texts.
        layout: how a call's arguments are written.
        cache: where all is kept; several may share one.
        on_compile: told how many nanoseconds each compilation took, and each search for the
            shortest texts.
        write: writes a schema as `ArgumentEngine.write` does, or another format of text as
            `write_text`, in another process, say; small
            and plain ones are written here all the same.

    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        engine: ArgumentEngine,
        layout: BoundLayout,
        *,
        cache: Cache,
        on_compile: Callable[[int], None] | None = None,
        write: Callable[[ResponseFormat, Options, Root], str] | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._engine = engine
        self._layout = layout
        # Another layout may have no way to write a name.
        is_json = layout.layout.kind is LayoutKind.JSON
        self._holds_plain = is_json and engine.name == MACHINE
        self.cache = cache
        self._on_compile = on_compile
        self._write = write or self._write_here
        # In its keys; an `id` would be another's once this one is gone.
        self._own = object()

    # What may be asked

    def check(self, schema: str, options: Options) -> None:
        """Refuse the schema of arguments if it cannot be enforced.

        Raises:
            UnsupportedSchema, InvalidSchema: with paths below the schema.

        """
        if self._trusts_plain(options) and is_plain(schema):
            return
        if options.on_unsupported is OnUnsupported.ISOLATE:
            return  # whatever it is, there is something to hold the arguments to
        self._kept(
            "checked",
            schema,
            options,
            lambda: self._engine.check(self._grammar(schema, options), self._layout),
            _nothing,
        )

    def is_quick(self, schema: str, options: Options) -> bool:
        """Tell whether arguments may be compiled when they begin: small and plain ones."""
        return self._trusts_plain(options) and is_quick(schema)

    def slow(self, tools: Tools, options: Options) -> Collection[str]:
        """Return the names of the tools whose schemas are not `is_quick`."""
        return tools.slow if self._trusts_plain(options) else tools

    def arguments(self, schema: str, options: Options) -> CompiledGrammar:
        """Give the grammar of arguments.

        Raises:
            UnsupportedSchema, InvalidSchema: with paths below the schema.

        """
        return self._kept(
            _ARGUMENTS,
            schema,
            options,
            lambda: self._timed(lambda: self._compile_arguments(schema, options)),
            _weight,
        )

    def has_arguments(self, schema: str, options: Options) -> bool:
        """Tell whether `arguments` compiles nothing."""
        return self._has(_ARGUMENTS, schema, options)

    def check_text(self, wanted: ResponseFormat, options: Options) -> None:
        """Refuse the format of a text if it cannot be enforced; raises as `text`."""
        if wanted.kind is FormatKind.JSON_SCHEMA:
            self.text(wanted, options)
            return
        kind = f"checked {wanted.kind.value}"
        self._kept(kind, wanted.source, options, lambda: self._engine.check_text(wanted), _nothing)

    def text(self, wanted: ResponseFormat, options: Options) -> CompiledGrammar:
        """Give the grammar of a text that has a format.

        Raises:
            UnsupportedSchema, InvalidSchema: with paths below the request.

        """
        return self._kept(
            wanted.kind.value,
            wanted.source,
            options,
            lambda: self._timed(lambda: self._compile_text(wanted, options)),
            _weight,
        )

    def has_text(self, wanted: ResponseFormat, options: Options) -> bool:
        """Tell whether `text` compiles nothing."""
        return self._has(wanted.kind.value, wanted.source, options)

    def shortest(self, schema: str, options: Options, root: Root) -> Shortest | Untimed:
        """Give the shortest texts that fit a schema, from wherever one stands.

        Returns:
            They; or why nobody can tell them, with its path below the schema.

        Raises:
            UnsupportedSchema, InvalidSchema: with paths below the schema.

        """

        def make() -> Shortest | Untimed:
            try:
                grammar = self._grammar(schema, options, root)
            except SchemaError:
                if options.on_unsupported is not OnUnsupported.ISOLATE:
                    raise
                grammar = self._grammar("{}", options, root)
            return shortest(grammar, self.pieces)

        kind = f"shortest {root.value}"
        return self._kept(kind, schema, options, lambda: self._timed(make), _weight_of_ends)

    def shortest_text(self, wanted: ResponseFormat, options: Options) -> Shortest:
        """Give the same for a text that has a format, which is all that such a turn promises.

        Raises:
            UnsupportedSchema, InvalidSchema: with paths below the request.

        """
        if wanted.kind is not FormatKind.JSON_SCHEMA:
            raise untimed(unknown_text(wanted.kind.value))
        try:
            found = self.shortest(wanted.source, options, Root.ANY)
            if isinstance(found, Untimed):
                raise untimed(*found.problems)
        except SchemaError as error:
            raise error.under("$.response_format.json_schema.schema") from error
        return found

    @cached_property
    def pieces(self) -> Pieces:
        """The vocabulary's ids for what a shortest text is written with."""
        return Pieces(self._vocabulary)

    def bundle(self, schema: str, documents: Documents, options: Options) -> str:
        """Put into a schema what it refers to of the documents; see `Documents.bundle`."""
        if not documents.may_concern(schema):
            return schema
        return self._kept("bundle", schema, options, lambda: documents.bundle(schema), len)

    # How it is made

    def _grammar(self, schema: str, options: Options, root: Root = Root.OBJECT) -> ArgumentGrammar:
        return compile_schema(
            json.loads(schema),
            limits=options.limits,
            on_unsupported=options.on_unsupported,
            root=root,
            conventions=options.conventions_of(root),
        )

    def _trusts_plain(self, options: Options) -> bool:
        return self._holds_plain and (options.limits is USUAL or options.limits == USUAL)

    def _compile_arguments(self, schema: str, options: Options) -> CompiledGrammar:
        try:
            return self._compile(schema, options, Root.OBJECT)
        except SchemaError:
            if options.on_unsupported is not OnUnsupported.ISOLATE:
                raise
            return self._compile("{}", options, Root.OBJECT)

    def _compile_text(self, wanted: ResponseFormat, options: Options) -> CompiledGrammar:
        if wanted.kind in self._engine.written_formats:
            return self._engine.read(self._write(wanted, options, Root.ANY))
        if wanted.kind is not FormatKind.JSON_SCHEMA:
            return self._engine.compile_text(wanted)
        try:
            return self._compile(wanted.source, options, Root.ANY)
        except SchemaError as error:
            raise error.under("$.response_format.json_schema.schema") from error

    def _compile(self, schema: str, options: Options, root: Root) -> CompiledGrammar:
        if root is Root.OBJECT and self.is_quick(schema, options):
            grammar = self._grammar(schema, options, root)
            return self._engine.compile(grammar, self._layout)
        wanted = ResponseFormat(FormatKind.JSON_SCHEMA, schema)
        return self._engine.read(self._write(wanted, options, root))

    def _write_here(self, wanted: ResponseFormat, options: Options, root: Root) -> str:
        if wanted.kind is not FormatKind.JSON_SCHEMA:
            return self._engine.write_text(wanted)
        layout = self._layout if root is Root.OBJECT else options.text_layout
        return self._engine.write(self._grammar(wanted.source, options, root), layout)

    def _timed(self, make: Callable[[], _T]) -> _T:
        begun = perf_counter_ns()
        try:
            return make()
        finally:
            if self._on_compile is not None:
                self._on_compile(perf_counter_ns() - begun)

    # How it is kept

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
        return self.cache.peek(self._key(kind, source, options)) is not None

    def _key(self, kind: str, source: str, options: Options) -> Hashable:
        # A digest, for a source may be large.
        digest = blake2b(source.encode("utf-8", "surrogatepass"), digest_size=32).digest()
        settings = _settings(
            *(options.on_unsupported, options.limits, options.conventions),
            *(options.compact_text, options.closed_text),
        )
        return (kind, digest, settings, self._own)


@lru_cache(_SETTINGS)
def _settings(*settings: Hashable) -> str:
    """Give what stands for settings in keys: a text, whose hash is worked out once."""
    return repr(settings)


def _nothing(_: object) -> int:
    return 0


def _weight(grammar: CompiledGrammar) -> int:
    return grammar.weight


def _weight_of_ends(found: Shortest | Untimed) -> int:
    return _UNTIMED if isinstance(found, Untimed) else found.weight
