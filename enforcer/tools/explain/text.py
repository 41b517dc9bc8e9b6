"""Texts that an engine follows and that keep their token ids, for words about them.

Must not know: turns, how words are found.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.compiling import traced
from enforcer.errors import SchemaError
from enforcer.layouts import ID
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import OnUnsupported
from enforcer.schema.reading.document import step
from enforcer.tools.explain.arguments import View
from enforcer.tools.explain.place import BytewiseText, Outline
from enforcer.tools.explain.words import Option, quoted

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.request.options import Options
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
    def outline(self) -> Outline | None:
        """The schema, compiled once more with its sources when words are first wanted.

        None where the machine, which says what is open, cannot hold it.
        """
        layout = self.options.laid_out(self.layout, self.wanted.root)
        is_isolated = self.options.on_unsupported is OnUnsupported.ISOLATE
        for source in (self.wanted.source, "{}") if is_isolated else (self.wanted.source,):
            with suppress(SchemaError):
                found = traced(replace(self.wanted, source=source), self.options)
                return Outline(found, layout, self.vocabulary.controls)
        return None

    @cached_property
    def opened(self) -> CompiledGrammar | None:
        """The grammar without the convention `closed_objects`; None where it makes no difference.

        Nor where the schema cannot be enforced without it.
        """
        options = self.options.changed(closed_objects=False, closed_text=False)
        with suppress(SchemaError):
            if self.is_json and self.options.conventions_of(self.wanted.root).closed_objects:
                return self.compile(self.wanted, options)
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
        self._text: BytewiseText | None = None  # once words are wanted

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

    def ahead(self, data: bytes) -> int:
        """Count how many bytes the engine lets follow, one by one."""
        count = 0
        for byte in data:
            token_id = self._vocabulary.find(bytes([byte]))
            is_over = token_id is None or getattr(self.engine, "is_done", False)
            if is_over or not self.engine.accept(token_id):
                break
            count += 1
        self.engine.rollback(count)
        return count

    def is_closed_to(self, data: bytes) -> bool:
        """Return whether `closed_objects` alone forbids bytes that may not follow."""
        opened = self.subject.opened
        if opened is None:
            return False
        other = FollowedText(opened.matcher(), self.subject)
        first, *others = self._ids or (None,)
        is_read = first is None or (
            other.accept_rest(first, self._start) if self._start else other.accept(first)
        )
        return is_read and all(map(other.accept, others)) and other.ahead(data) > self.ahead(data)

    def expected(self, beyond: bytes = b"") -> Inside:
        """Return what may come next after the text and the legal part of `beyond`."""
        text = self._bytewise() if self.subject.is_json else None
        if text is None:
            return Inside(None, "", (Option(f"more of {self.subject.what}"),))
        with text.gone_on(beyond):
            view = View(text, self.subject.what)
            at = reduce(step, view.place.path, "$")
            return Inside(at, view.place.begun, view.options, view.rests)

    def _bytewise(self) -> BytewiseText | None:
        """Return the text as the machine follows it; None where it does not."""
        outline, controls = self.subject.outline, self._vocabulary.control_ids
        if outline is None:
            return None
        symbols = list[int]()
        for token_id in self._ids:
            data = self._vocabulary.token_bytes(token_id)
            name = data.decode() if token_id in controls else ""
            symbols += [ID + outline.vocabulary.control(name)] if name else data
        symbols = symbols[self._start :]
        if self._text is None:
            self._text = BytewiseText(outline)
        return self._text if self._text.become(symbols) else None
