"""What may come next in a JSON text that has to fit a schema, in words.

Owns: putting the readings of a text (see `enforcer.budget.reading`) in words, with the paths of
the schema that they come from. Readings are a little wider than what an engine takes, which is
therefore asked about each name, value and bracket before it is said. Must not know: turns, ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.budget.frames import Begin, InArray, InName, InObject, Phase, Text, endings, rest_of
from enforcer.explain.cursor import locate
from enforcer.explain.outline import containers
from enforcer.explain.words import (
    DraftOption,
    Option,
    constants,
    kinds,
    number_of,
    numbers_in_words,
    quoted,
    strings_in_words,
    strings_of,
)
from enforcer.numbers.languages import number_texts
from enforcer.partial import Partial, spell
from enforcer.regex import ANY, NOTHING, both, either, inverse, literal
from enforcer.regex.derivative import derivative

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from enforcer.budget.frames import Frame, Thread
    from enforcer.budget.reading import Reading
    from enforcer.explain.cursor import Cursor
    from enforcer.explain.outline import Outline
    from enforcer.regex import Regex
    from enforcer.schema.grammar import Value, ValueId
    from enforcer.schema.provenance import Sources

_OTHER = ", unlike those before"
_ASKED = 200  # names and values about each of which the engine is asked


@dataclass(frozen=True, slots=True)
class Signs:
    """How the members of the outermost object are written.

    Attributes:
        another: another member, or the first.
        end: what ends them; empty where nothing of the text does.

    """

    another: str = ""
    end: str = "`}`"


def options(
    outline: Outline,
    reading: Reading,
    text: bytes,
    can: Callable[[bytes], bool],
    signs: Signs = Signs(),
) -> tuple[Option, ...]:
    """Say what may come next.

    Args:
        outline: of the schema.
        reading: of the text so far.
        text: the text so far.
        can: tells whether the engine lets these bytes follow.
        signs: what members are written with, where not as JSON.

    """
    view = _View(outline, locate(text), can, signs)
    for thread in reading.threads:
        view.read(thread)
    return tuple(draft.option(subject) for subject, draft in view.drafts.items())


class _View:
    """One place in one text."""

    def __init__(
        self, outline: Outline, cursor: Cursor, can: Callable[[bytes], bool], signs: Signs
    ) -> None:
        self._outline = outline
        self._plan = outline.plan
        self._provenance = outline.provenance
        self._cursor = cursor
        self._can = can
        self._signs = signs
        self.drafts: dict[str, DraftOption] = {}

    def read(self, thread: Thread) -> None:
        """Add what one reading lets follow."""
        inside = containers(thread)
        levels = self._outline.levels(self._cursor.path, inside)
        frame = thread.frame
        depth = len(inside)
        if isinstance(frame, Text):
            self._within(frame, *levels[-1])
            outer = None if thread.outer is None else thread.outer.frame
            if not frame.partial.quoted and frame.regex.nullable and outer is not None:
                self._between(outer, levels[: depth + 1], depth)
        elif isinstance(frame, Begin):
            self._value(self._outline.what, (frame.value,), levels[0][1])
        elif isinstance(frame, InName):
            self._names(frame.before, "the name of a property", levels[depth - 1][1], frame)
        elif frame is not None:
            self._between(frame, levels, depth)

    # What is spoken of.

    def _subject(self, path: tuple[str | int, ...]) -> str:
        if not path:
            return self._outline.what
        if isinstance(path[-1], str):
            return f"the value of {quoted(path[-1])}"
        return f"element {path[-1]} of {self._container(path[:-1])}"

    def _container(self, path: tuple[str | int, ...]) -> str:
        return quoted(path[-1]) if path and isinstance(path[-1], str) else self._subject(path)

    def _draft(self, subject: str, sources: Sources) -> DraftOption:
        draft = self.drafts.setdefault(subject, DraftOption())
        draft.paths.update(dict.fromkeys(sources.paths))
        return draft

    # Values.

    def _value(
        self, subject: str, numbers: Iterable[ValueId], sources: Sources, before: bytes = b""
    ) -> None:
        """Say what value is due, `before` it a comma, say."""
        for number in numbers:
            value = self._plan.grammar.definitions[number]
            listed = constants(value)
            if listed is None:
                if any(self._can(before + first) for first in _firsts(value)):
                    said = kinds(value, [place.schema for place in sources.places])
                    self._draft(subject, sources).kinds.update(dict.fromkeys(said))
                continue
            legal = self._legal(listed, lambda text: before + text.encode())
            if legal:
                self._draft(subject, sources).values.update(zip(legal, legal, strict=True))

    def _legal(self, listed: Sequence[str], spelled: Callable[[str], bytes]) -> list[str]:
        if len(listed) > _ASKED:
            return list(listed)
        return [text for text in listed if self._can(spelled(text))]

    def _within(self, frame: Text, numbers: Iterable[ValueId], sources: Sources) -> None:
        """Say how a string, a number or a word that has been begun goes on."""
        subject = self._subject(self._cursor.path)
        if frame.partial.quoted:
            self._string(subject, frame, sources)
            return
        begun = self._cursor.begun.decode()
        for number in numbers:
            value = self._plan.grammar.definitions[number]
            sets = [each for each in value.numbers if _goes_on(number_texts(each), begun)]
            words = [word for word in value.words if word.startswith(begun)]
            if not (sets or words):
                continue
            draft = self._draft(subject, sources)
            draft.values.update(zip(words, words, strict=True))
            for each in sets:
                single = number_of(each)
                if single is None:
                    draft.kinds[numbers_in_words(each)] = None
                else:
                    draft.values[single] = single

    def _string(self, subject: str, frame: Text, sources: Sources) -> None:
        typed = _typed(self._cursor.begun)
        tails = strings_of(frame.regex)
        if tails is None:
            schemas = [place.schema for place in sources.places]
            words = strings_in_words(ANY if frame.regex == ANY else frame.regex, schemas)
            ends = self._ends(frame)
            self._draft(subject, sources).kinds[words + ends] = None
            return
        rests = {tail: rest_of(frame.partial, tail) for tail in tails}
        legal = [
            quoted(typed + tail)
            for tail, rest in rests.items()
            if rest is not None and (len(rests) > _ASKED or self._can(rest))
        ]
        if legal:
            self._draft(subject, sources).values.update(zip(legal, legal, strict=True))

    def _ends(self, frame: Text) -> str:
        """Say whether a string may end here, and where only other elements keep it from that."""
        if not frame.regex.nullable:
            return ""
        inside = any(isinstance(key, int) for key in self._cursor.path)
        if not (self._outline.distinct and inside) or frame.partial.pending or self._can(b'"'):
            return " (which may end here)"
        return " (which may not end here: the elements have to differ)"

    # Objects and arrays.

    def _between(
        self, frame: Frame, levels: Sequence[tuple[tuple[ValueId, ...], Sources]], depth: int
    ) -> None:
        """Say what follows between the members of the container at a depth."""
        path = self._cursor.path[: depth - 1]
        _, sources = levels[depth - 1]
        if isinstance(frame, InArray):
            self._elements(frame, path, sources)
        elif isinstance(frame, InObject):
            if frame.phase is Phase.NAMED:
                self._draft("`:`, behind the name", sources)
            elif frame.phase is Phase.COLON and frame.pair is not None:
                self._value(self._subject(self._cursor.path), *levels[depth])
            else:
                self._properties(frame, path, sources)

    def _properties(self, frame: InObject, path: tuple[str | int, ...], sources: Sources) -> None:
        signs = Signs() if path else self._signs
        usual = "`,` and another" if frame.phase is Phase.MEMBER else "the name of a"
        self._names(frame, signs.another or f"{usual} property", sources)
        if frame.phase is not Phase.COMMA and signs.end and self._can(b"}"):
            self._draft(f"{signs.end}, the end of {self._subject(path)}", sources)

    def _names(
        self, frame: InObject, subject: str, sources: Sources, begun: InName | None = None
    ) -> None:
        """Say which names may follow, or those that a name that has been begun may be."""
        plan = frame.plan
        before = b"," if frame.phase is Phase.MEMBER else b""
        typed = "" if begun is None else begun.text

        def spelled(name: str) -> bytes | None:
            if begun is not None:
                return rest_of(begun.partial, name[len(typed) :])
            return before + b'"' + spell(name, quoted=True) + b'"'

        def is_legal(name: str) -> bool:
            data = spelled(name)
            return data is not None and self._can(data)

        # Names that are there come last: not every engine's grammar keeps them from repeating.
        left = sorted(
            (name for name, _ in plan.names if name.startswith(typed)),
            key=lambda name: frame.seen >> plan.index[name] & 1,
        )
        legal = [name for name in left if is_legal(name)] if len(left) <= _ASKED else left
        if legal:
            draft = self._draft(subject, sources)
            for name in legal:
                note = " (required)" if name in plan.shape.required else ""
                note = " (again)" if frame.seen >> plan.index[name] & 1 else note
                draft.values[quoted(name)] = quoted(name) + note
        taken = plan.declared | frame.extras
        tails = frozenset(name[len(typed) :] for name in taken if name.startswith(typed))
        partial = Partial() if begun is None else begun.partial
        opened = before + b'"' if begun is None else b""
        for regex, _ in plan.classes:
            rest = _without(_after(regex, typed), tails)
            if any(self._can(opened + end) for end in endings(partial, rest)):
                words = "any other name" if regex == ANY else "another name"
                self._draft(subject, sources).kinds[words] = None

    def _elements(self, frame: InArray, path: tuple[str | int, ...], sources: Sources) -> None:
        values = tuple(dict.fromkeys(value for value, _ in frame.plan.steps(frame.at)))
        if frame.phase is Phase.MEMBER:
            if self._can(b","):
                differs = _OTHER if self._outline.differs(frame.plan) else ""
                subject = f"`,` and another element of {self._container(path)}{differs}"
                here = self._cursor.here
                after = here + 1 if isinstance(here, int) else 0
                inner = self._provenance.below(sources, after, values)
                self._value(subject, values, inner, b",")
        else:
            key = self._cursor.path[len(path)]
            inner = self._provenance.below(sources, key, values)
            differs = _OTHER if key and self._outline.differs(frame.plan) else ""
            self._value(self._subject((*path, key)) + differs, values, inner)
        if frame.phase is not Phase.COMMA and self._can(b"]"):
            self._draft(f"`]`, the end of {self._subject(path)}", sources)


def _firsts(value: Value) -> list[bytes]:
    """Give bytes of which one at least begins any value that fits."""
    found = [word.encode() for word in value.words]
    if value.numbers:
        found.extend(bytes([byte]) for byte in b"-0123456789")
    if value.strings is not None:
        found.append(b'"')
    if value.arrays:
        found.append(b"[")
    if value.objects:
        found.append(b"{")
    return found


def _after(regex: Regex, text: str) -> Regex:
    for char in text:
        regex = derivative(regex, char)
    return regex


def _without(regex: Regex, texts: frozenset[str]) -> Regex:
    return both(regex, inverse(either(*map(literal, sorted(texts))))) if texts else regex


def _goes_on(regex: Regex, text: str) -> bool:
    return _after(regex, text) != NOTHING


def _typed(begun: bytes) -> str:
    """Read the whole characters of a JSON string that has been begun."""
    partial, text = Partial(), ""
    for byte in begun[1:]:
        read = partial.read(byte)
        if read is None:
            break  # the engine has let it through, so there is no such byte
        partial, char = read
        text += char or ""
    return text
