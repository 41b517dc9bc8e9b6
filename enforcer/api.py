"""The library's front door: one object per served model, one matcher per turn.

Owns: wiring a vocabulary, a dialect and an engine together, and the cache of
compiled grammars. Must not know: hosts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer import dialect as dialects
from enforcer import engines, history
from enforcer import response_format as formats
from enforcer import tools as tools_
from enforcer.envelope import Due, Envelope, Table
from enforcer.errors import SchemaError
from enforcer.matcher import Matcher
from enforcer.parser import Parser, Turn
from enforcer.schema import Limits, OnUnsupported, Root, compile_schema
from enforcer.schema.plain import is_plain_object
from enforcer.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of an `Enforcer`; every one has a default that suits production.

    Attributes:
        on_unsupported: refuse a schema that cannot be enforced exactly, or relax it.
        limits: bounds on schemas.
        max_calls: how many calls a turn may have; ends loops of calls.
        preamble_ids: how many ids of text may precede a demanded call, outside a think.
        allow_empty_turns: whether a turn may end though it has neither text nor call.
        cached_grammars: how many compiled grammars are kept, the least recently used go.

    """

    on_unsupported: OnUnsupported = OnUnsupported.REFUSE
    limits: Limits = field(default_factory=Limits)
    max_calls: int = 128
    preamble_ids: int = 32
    allow_empty_turns: bool = False
    cached_grammars: int = 4096


class Enforcer:
    """Compiles what requests declare, for one vocabulary, dialect and engine.

    Thread-safe; build one for each served model and keep it.

    Raises:
        UnknownDialect: no dialect of that name.
        UnknownEngine: no engine of that name, or its package is not installed.
        InvalidVocabulary: the tokenizer lacks the dialect's control tokens.

    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        dialect: str = "kimi_k2",
        engine: str = "llguidance",
        options: Options | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.dialect = dialects.load(dialect)
        self.table = Table(self.dialect, vocabulary)
        self.engine = engines.load(engine, vocabulary)
        self.options = options or Options()
        self._trusts_plain = self.engine.holds_plain and self.options.limits == Limits()
        keep = self.options.cached_grammars
        self._checked = lru_cache(keep)(self._check)
        self._compiled = lru_cache(keep)(self._compile)
        self._format = lru_cache(keep)(self._compile_format)

    def matcher(
        self,
        tools: object,
        tool_choice: object = "auto",
        parallel_tool_calls: object = True,  # noqa: FBT002 - the request's own field
        messages: object = None,
        prompt_ids: Sequence[int] | None = None,
        *,
        response_format: object = None,
    ) -> Matcher:
        """Start the turn that answers a chat request.

        Args:
            tools, tool_choice, parallel_tool_calls: as the request carries them.
            messages: the dialog so far; its calls are counted, so that the next index
                continues the dialog's counter.
            prompt_ids: ids of the rendered prompt, whose tail tells whether the turn starts
                inside a think. None means a turn that starts in content.
            response_format: what text must fit; the turn is such a text, or calls. Known are
                the forms of `enforcer.response_format.parse`.

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
        self.check(spec)
        return self.start(spec, prompt_ids)

    def check(self, spec: Spec) -> None:
        """Refuse a request any of whose schemas cannot be enforced.

        Every declared tool is checked, also those that the tool choice leaves out.

        Raises:
            UnsupportedSchema: a schema or format cannot be enforced exactly.
            InvalidSchema: it is none.

        """
        toolset = spec.toolset
        for tool in toolset.tools.values():
            try:
                self._checked(tool.schema, spec.on_unsupported)
            except SchemaError as error:
                raise error.under(tool.path) from error
        if spec.response_format is not None:
            self._format(spec.response_format, spec.on_unsupported)

    def start(
        self, spec: Spec, prompt_ids: Sequence[int] | None, *, rollback: int | None = None
    ) -> Matcher:
        """Start a turn of a request that has been checked; cost flat in its number of tools.

        Args:
            spec: what the request allows.
            prompt_ids: as in `matcher`.
            rollback: how many of the last ids the host may take back; None for all.

        Raises:
            IllegalPrefix: the prompt has begun a turn that the tools do not allow.

        """
        toolset = spec.toolset
        text_format = None
        if spec.response_format is not None:
            text_format = self._format(spec.response_format, spec.on_unsupported).matcher
        due = Due.NOTHING if self.options.allow_empty_turns else Due.WORD
        envelope = Envelope(
            self.table,
            toolset.allowed,
            due=Due.CALL if toolset.choice is tools_.Choice.REQUIRED else due,
            most=self.options.max_calls if toolset.parallel else 1,
            first=spec.first_index,
            preamble=self.options.preamble_ids,
            text_format=text_format,
        )

        def arguments(name: str) -> ArgumentMatcher:
            return self._begin(toolset.tools[name].schema, spec.on_unsupported)

        return Matcher(envelope, arguments, prompt_ids, rollback=rollback)

    def parse(
        self,
        token_ids: Sequence[int],
        prompt_ids: Sequence[int] | None = None,
        names: Collection[str] | None = None,
    ) -> Turn:
        """Read a generated turn; see `enforcer.parser.Parser` for the arguments."""
        parser = Parser(self.table, prompt_ids, names)
        parser.feed(token_ids)
        return parser.turn()

    def _grammar(
        self, schema: str, on_unsupported: OnUnsupported | None, root: Root = Root.OBJECT
    ) -> ArgumentGrammar:
        return compile_schema(
            json.loads(schema),
            limits=self.options.limits,
            on_unsupported=on_unsupported or self.options.on_unsupported,
            root=root,
        )

    def _begin(self, schema: str, on_unsupported: OnUnsupported | None) -> ArgumentMatcher:
        return self._compiled(schema, on_unsupported).matcher()

    def _check(self, schema: str, on_unsupported: OnUnsupported | None) -> None:
        if self._trusts_plain and is_plain_object(schema):
            return
        self.engine.check(self._grammar(schema, on_unsupported))

    def _compile(self, schema: str, on_unsupported: OnUnsupported | None) -> CompiledGrammar:
        return self.engine.compile(self._grammar(schema, on_unsupported))

    def _compile_format(
        self, wanted: ResponseFormat, on_unsupported: OnUnsupported | None
    ) -> CompiledGrammar:
        if wanted.kind is not formats.Kind.JSON_SCHEMA:
            return self.engine.compile_text(wanted)
        try:
            grammar = self._grammar(wanted.source, on_unsupported, Root.ANY)
            return self.engine.compile(grammar)
        except SchemaError as error:
            raise error.under("$.response_format.json_schema.schema") from error
