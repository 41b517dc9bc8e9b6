"""The machine and the engine beside it over the same texts, for tests: any difference is a failure.

But one: the engine beside it lets names come twice. An id is left out of its rows, and refused in
its place, by which a name of an object is written a second time, as a reader of the text itself
finds; where only so many names may come (`few`), also one behind which a name that the object has
is begun, or a further one has to come.

Owns: comparing their rows and answers. Must not know: how either works. `ENFORCER_ENGINE=compared`
runs a server with it; a mask takes as long as both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.choice import ChosenEngine
from enforcer.errors import EngineFailure
from enforcer.request.response_format import FormatKind
from enforcer.schema.finishing.infinite import stays_infinite
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_MARK = "\0both "
_SHOWN = 8
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\],:]', re.DOTALL)
_CUT = re.compile(r"\\(u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(\\(u[0-9a-fA-F]{0,3})?)?)?$")


class ComparedEngine(ChosenEngine):
    """Both engines for what the machine holds, the other one for everything else."""

    @property
    def name(self) -> str:
        """The name by which `load` finds it."""
        return "compared"

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise `UnsupportedSchema` if either cannot hold a grammar."""
        super().check(grammar, layout)
        self.engine.check(grammar, layout)

    def write(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> str:
        """Write a grammar for both."""
        chosen = super().write(grammar, layout, quick=quick)
        other = self.engine.write(grammar, layout, quick=quick)
        return other if chosen == other else _MARK + json.dumps([chosen, other, _has_few(grammar)])

    def read(self, written: str) -> CompiledGrammar:
        """Compile for both."""
        if not written.startswith(_MARK):
            return super().read(written)
        chosen, other, few = json.loads(written.removeprefix(_MARK))
        both = super().read(chosen), self.engine.read(other)
        return _Compared(*both, self.vocabulary, few=few)

    def compile(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> CompiledGrammar:
        """Compile for both."""
        return self.read(self.write(grammar, layout, quick=quick))

    @property
    def written_formats(self) -> frozenset[FormatKind]:
        """None, for both compile formats of text in place."""
        return frozenset()

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a format of text for both."""
        chosen = super().compile_text(wanted)
        if wanted.kind is FormatKind.GRAMMAR:
            return chosen
        return _Compared(chosen, self.engine.compile_text(wanted), self.vocabulary, few=False)


class _Compared:
    """A grammar compiled by both."""

    def __init__(
        self, one: CompiledGrammar, other: CompiledGrammar, words: Vocabulary, *, few: bool
    ) -> None:
        self._both = one, other
        self._vocabulary = words
        self._few = few

    @property
    def weight(self) -> int:
        """Bytes of both."""
        return sum(each.weight for each in self._both)

    @property
    def is_ready(self) -> bool:
        """Whether both are."""
        return all(each.is_ready for each in self._both)

    def renew(self) -> None:
        """Renew both."""
        for each in self._both:
            each.renew()

    def matcher(self) -> _ComparedText:
        """Start a text of both."""
        one, other = self._both
        return _ComparedText(one.matcher(), other.matcher(), self._vocabulary, few=self._few)


class _ComparedText:
    """A text that both follow; each method raises `EngineFailure` where they differ."""

    def __init__(
        self, one: ArgumentMatcher, other: ArgumentMatcher, words: Vocabulary, *, few: bool
    ) -> None:
        self._one, self._other = one, other
        self._few = few
        self._row = np.zeros(words.words, np.int32)
        self._vocabulary = words
        self._ids: list[int] = []

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Fill by both, and compare."""
        self._one.fill(row)
        self._other.fill(self._row)
        if np.array_equal(row, self._row):
            return
        left_out = np.unpackbits((self._row & ~row).view(np.uint8), bitorder="little")
        for i in np.flatnonzero(left_out).tolist():
            if self._repeats(i):
                self._row[i // 32] ^= np.uint32(1 << i % 32).view(np.int32)
        if not np.array_equal(row, self._row):
            differ = np.unpackbits((row ^ self._row).view(np.uint8), bitorder="little")
            ids = np.flatnonzero(differ)[:_SHOWN].tolist()
            added = [i for i in ids if row[i // 32] >> i % 32 & 1]
            self._fail(f"the machine allows {self._texts(added)} of {self._texts(ids)}")

    def accept(self, token_id: int) -> bool:
        """Advance both."""
        taken = self._one.accept(token_id)
        also = self._other.accept(token_id)
        if also and not taken and self._repeats(token_id):
            self._other.rollback(1)
        elif also is not taken:
            self._fail(f"the machine answers {taken} for {self._texts([token_id])}")
        if taken:
            self._ids.append(token_id)
        return taken

    def rollback(self, count: int) -> None:
        """Roll both back."""
        self._one.rollback(count)
        self._other.rollback(count)
        del self._ids[len(self._ids) - count :]

    def is_accepting(self) -> bool:
        """Return whether the text is complete for both."""
        found = self._one.is_accepting()
        if self._other.is_accepting() is not found:
            self._fail(f"the machine says {found} for whether the text is complete")
        return found

    def _repeats(self, token_id: int) -> bool:
        """Return whether a name comes twice by a token id."""
        return _is_repeated(b"".join(self._texts([*self._ids, token_id])), few=self._few)

    def _texts(self, ids: list[int]) -> list[bytes]:
        return [self._vocabulary.token_bytes(i) for i in ids]

    def _fail(self, how: str) -> None:
        text = b"".join(self._texts(self._ids))
        raise EngineFailure(f"engines differ behind {text!r}: {how}")


def _has_few(grammar: ArgumentGrammar) -> bool:
    """Return whether the undeclared names of some object may come to an end."""
    return not all(
        child == NEVER or stays_infinite(names)
        for value in grammar.definitions.values()
        for shape in value.objects
        for names, child in shape.classes
    )


def _is_repeated(text: bytes, *, few: bool) -> bool:
    """Return whether an object of a text that is begun has a name twice, or begins one again.

    Args:
        text: its bytes.
        few: whether a beginning counts, and a comma behind which another name has to come.

    """
    objects: list[set[str] | None] = []  # the names of each open object; None of an array
    is_name = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in (b"{", b"["):
            objects.append(set() if token == b"{" else None)
        elif token in (b"}", b"]"):
            objects.pop()
        elif token[:1] == b'"' and is_name:
            names = objects[-1] or set()
            if len(token) == 1 or not token.endswith(b'"') or _is_open(token):
                begun = json.loads(f'"{_CUT.sub("", token[1:].decode(errors="ignore"))}"')
                return few and any(name.startswith(begun) for name in names)
            name = json.loads(token)
            if name in names:
                return True
            names.add(name)
            objects[-1] = names
        is_name = token in (b"{", b",") and bool(objects) and objects[-1] is not None
    return few and is_name and bool(objects[-1])


def _is_open(token: bytes) -> bool:
    """Return whether the last quote of a string is escaped."""
    return re.fullmatch(rb'"(?:[^"\\]|\\.)*"', token, re.DOTALL) is None
