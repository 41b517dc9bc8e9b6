"""Texts that an engine follows and that keep their token ids, for words about them.

Must not know: turns, how words are found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.errors import SchemaError
from enforcer.layouts import ID, BoundLayout, LayoutKind
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import OnUnsupported, trace_schema
from enforcer.tools.explain.arguments import declared_rests, options
from enforcer.tools.explain.cursor import written
from enforcer.tools.explain.outline import Outline
from enforcer.tools.explain.questions import JsonQuestions, PairQuestions, PythonQuestions
from enforcer.tools.explain.words import Option, quoted

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.request.options import Options
    from enforcer.tools.explain.questions import Can, Questions
    from enforcer.vocabulary import Vocabulary


class Inside(NamedTuple):
    """What may come next inside of a text.

    Attributes:
        at: path of the value that is due or has been begun; None where there are no paths.
        begun: the part of a string, a number or a name that has been written.
        options: what may come.
        rests: what is left of the declared names, where one has been begun in a closed object.

    """

    at: str | None
    begun: str
    options: tuple[Option, ...]
    rests: tuple[str, ...] | None = None


@dataclass(eq=False)
class FollowedGrammar:
    """A grammar whose texts remember their token ids.

    Attributes:
        vocabulary: of the model.
        options: what holds for the request.
        layout: of the arguments of calls.
        compile: as `Grammars.compiled`.
        grammar: the engine's.
        wanted: the format that the texts fit.
        tool: whose arguments they are; None for a response format.

    """

    vocabulary: Vocabulary
    options: Options
    layout: BoundLayout
    compile: Callable[[ResponseFormat, Options], CompiledGrammar]
    grammar: CompiledGrammar
    wanted: ResponseFormat
    tool: str | None = None

    def matcher(self) -> FollowedText:
        """Start a new text."""
        return FollowedText(self.grammar.matcher(), self)

    @property
    def is_json(self) -> bool:
        """Whether the texts fit a schema."""
        return self.wanted.kind is FormatKind.JSON_SCHEMA

    @property
    def what(self) -> str:
        """Such a text in words."""
        if self.tool is not None:
            return f"the arguments of {quoted(self.tool)}"
        return "the text" if self.is_json else f"text that fits the {self.wanted.kind.value}"

    @cached_property
    def schema(self) -> Any:
        """The schema as JSON."""
        return json.loads(self.wanted.source)

    @cached_property
    def outline(self) -> Outline:
        """The schema, compiled once more with its sources when words are first wanted."""
        limits, how = self.options.limits, self.options.on_unsupported
        root = self.wanted.root
        usual = self.options.conventions_of(root)
        try:
            found = trace_schema(
                self.schema, limits=limits, on_unsupported=how, root=root, conventions=usual
            )
        except SchemaError:
            if how is not OnUnsupported.ISOLATE:
                raise
            found = trace_schema({}, limits=limits, root=root)
        return Outline(self.what, *found)

    @cached_property
    def opened(self) -> CompiledGrammar | None:
        """The grammar without the convention `closed_objects`; None where it makes no difference.

        Nor where the schema cannot be enforced without it.
        """
        if not (self.is_json and self.options.conventions_of(self.wanted.root).closed_objects):
            return None
        options = self.options.changed(closed_objects=False, closed_text=False)
        try:
            return self.compile(self.wanted, options)
        except SchemaError:
            return None


class FollowedText:
    """An `ArgumentMatcher` around another one, which remembers the token ids."""

    def __init__(self, engine: Any, subject: FollowedGrammar) -> None:
        self.engine = engine
        self._vocabulary = subject.vocabulary
        self.subject = subject
        self.fill = engine.fill
        self.is_accepting = engine.is_accepting
        self._ids: list[int] = []
        self._start = 0  # of the first one's bytes

    def accept(self, token_id: int) -> bool:
        """Advance by one id."""
        if not self.engine.accept(token_id):
            return False
        self._ids.append(token_id)
        return True

    def accept_rest(self, token_id: int, start: int) -> bool:
        """Advance by the bytes of an id from one on; the text begins with them."""
        if not self.engine.accept_rest(token_id, start):
            return False
        self._ids.append(token_id)
        self._start = start
        return True

    @property
    def is_done(self) -> bool:
        """Whether the text has ended by itself."""
        return bool(self.engine.is_done)

    @property
    def left(self) -> int:
        """Bytes of the last id behind the end of the text."""
        return int(self.engine.left)

    def rollback(self, count: int) -> None:
        """Take back the last `count` ids."""
        self.engine.rollback(count)
        del self._ids[len(self._ids) - count :]

    def ahead(self, symbols: Iterable[int]) -> int:
        """Count how many bytes, and control tokens, the engine lets follow, one by one."""
        with self._gone_on(symbols) as count:
            return count

    def is_closed_to(self, data: bytes) -> bool:
        """Return whether `closed_objects` alone forbids bytes that may not follow."""
        opened = self.subject.opened
        if opened is None:
            return False
        other = FollowedText(opened.matcher(), self.subject)
        return all(map(other.accept, self._ids)) and other.ahead(data) > self.ahead(data)

    def _can(self, symbols: Sequence[int]) -> bool:
        """Return whether all of them may follow."""
        return self.ahead(symbols) == len(symbols)

    @contextmanager
    def _gone_on(self, symbols: Iterable[int]) -> Iterator[int]:
        """Advance the engine by the longest legal prefix of symbols; yield its length; undo."""
        count = 0
        for symbol in symbols:
            token_id = self._vocabulary.find(bytes([symbol])) if symbol < ID else symbol - ID
            if token_id is None or not self.engine.accept(token_id):
                break
            count += 1
        try:
            yield count
        finally:
            if count:
                self.engine.rollback(count)

    def expected(self, beyond: bytes = b"") -> Inside:
        """Return what may come next after the text and the legal part of `beyond`."""
        if not self.subject.is_json:
            return Inside(None, "", (Option(f"more of {self.subject.what}"),))
        found = list[Option]()
        with self._gone_on(beyond) as taken:
            symbols = (*self._symbols(), *beyond[:taken])
            ask = self._questions(symbols, self._can)
            path, begun, rests = ask.path, ask.begun, None
            for cursor in ask.cursors():
                inner = JsonQuestions(symbols, self._can) if len(cursor.inside) > 1 else ask
                if isinstance(inner, JsonQuestions):
                    path, begun = cursor.path, cursor.begun.decode("utf-8", "replace")
                found += options(self.subject.outline, cursor, inner)
                rests = declared_rests(self.subject.outline, cursor)
            found += ask.own()
        if not found and path and not isinstance(ask, JsonQuestions):
            # It cannot end, or that would be known, and no text is let through that cannot.
            found = [Option(f"more of {ask.subject}")]
        listed = tuple({each.what: each for each in found}.values())
        return Inside(written(path), begun, listed, rests)

    def _questions(self, symbols: Sequence[int], can: Can) -> Questions:
        layout = self.subject.layout
        if self.subject.tool is None or layout.layout.kind is LayoutKind.JSON:
            return JsonQuestions(symbols, can)
        kind = PythonQuestions if layout.layout.kind is LayoutKind.PYTHON else PairQuestions
        return kind(layout, self.subject.schema, symbols, can, self._vocabulary.token_bytes)

    def _symbols(self) -> Iterator[int]:
        skipped = self._start
        for token_id in self._ids:
            if skipped:
                yield from self._vocabulary.token_bytes(token_id)[skipped:]
                skipped = 0
            elif token_id in self._vocabulary.control_ids:
                yield ID + token_id
            else:
                yield from self._vocabulary.token_bytes(token_id)
