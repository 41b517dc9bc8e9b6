"""The texts of one request's calls, followed for words.

Owns: what each text of a request has to fit, and compiling its schema once more, with its
sources, when words about it are first wanted. Must not know: turns, hosts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

from enforcer.errors import SchemaError
from enforcer.explain.outline import Outline
from enforcer.explain.questions import LaidOut
from enforcer.explain.text import FollowedText, Subject
from enforcer.explain.words import quoted
from enforcer.layouts import LayoutKind
from enforcer.request.response_format import FormatKind
from enforcer.schema import OnUnsupported, Root, trace_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines import ArgumentMatcher, CompiledGrammar, Startable
    from enforcer.layouts import BoundLayout
    from enforcer.request.options import Options
    from enforcer.request.spec import Spec
    from enforcer.vocabulary import Vocabulary


@dataclass(eq=False)
class _Followed:
    """Starts texts that remember what they were given."""

    matcher: Callable[[], ArgumentMatcher]


@dataclass(eq=False, slots=True)
class Words:
    """Starts the texts of one request.

    Attributes:
        vocabulary: of the model.
        spec: what the request allows.
        options: what holds for it.
        layout: of the arguments of calls.

    """

    vocabulary: Vocabulary
    spec: Spec
    options: Options
    layout: BoundLayout
    _followed: dict[str, Startable] = field(default_factory=dict)

    def arguments(self, name: str, grammar: CompiledGrammar) -> Startable:
        """Give what starts the arguments of a tool, which is the same each time."""
        # What is kept of the beginnings of texts is kept by what starts them.
        if name not in self._followed:
            subject = self._arguments_of(name)
            self._followed[name] = _Followed(
                lambda: FollowedText(grammar.matcher(), self.vocabulary, subject)
            )
        return self._followed[name]

    def text(self, grammar: CompiledGrammar) -> ArgumentMatcher:
        """Start the text that fits the response format."""
        wanted = self.spec.response_format
        outline = None
        if wanted is not None and wanted.kind is FormatKind.JSON_SCHEMA:
            outline = cache(partial(self._outline, "the text", wanted.source, Root.ANY))
        what = "the text" if wanted is None else f"text that fits the {wanted.kind.value}"
        return FollowedText(grammar.matcher(), self.vocabulary, Subject(what, None, outline))

    def _arguments_of(self, name: str) -> Subject:
        what = f"the arguments of {quoted(name)}"
        schema = self.spec.toolset.tools[name].schema
        outline = cache(partial(self._outline, what, schema, Root.OBJECT))
        laid_out = None
        if self.layout.layout.kind is not LayoutKind.JSON:
            laid_out = LaidOut(self.layout, json.loads(schema), self.vocabulary.token_bytes)
        return Subject(what, name, outline, laid_out)

    def _outline(self, what: str, schema: str, root: Root) -> Outline:
        limits, on_unsupported = self.options.limits, self.options.on_unsupported
        try:
            grammar, provenance = trace_schema(
                json.loads(schema),
                limits=limits,
                on_unsupported=on_unsupported,
                root=root,
                conventions=self.options.conventions_of(root),
            )
        except SchemaError:
            if on_unsupported is not OnUnsupported.ISOLATE:
                raise
            grammar, provenance = trace_schema({}, limits=limits, root=root)
        return Outline(what, grammar, provenance)
