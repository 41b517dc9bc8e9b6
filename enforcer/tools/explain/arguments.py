"""Options for the next part of a JSON text that has to fit a schema, in words.

The grammar tells what may be due at a place, which is a little wider than what an engine takes.
So the engine is asked about each name, value and bracket before it is said. Must not know: turns,
ids, layouts.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING

from enforcer.numbers.languages import number_texts
from enforcer.regex import ANY, NOTHING, Regex, RegexBudget, both, either, example, inverse, literal
from enforcer.regex.derivative import derivative
from enforcer.schema.grammar import NEVER, ArrayShape, ObjectShape, Value
from enforcer.tools.explain.cursor import Cursor, JsonDue
from enforcer.tools.explain.words import DraftOption, Option, constants, kinds, quoted

if TYPE_CHECKING:
    from enforcer.schema.provenance import Sources
    from enforcer.tools.explain.outline import Outline
    from enforcer.tools.explain.questions import Questions

_ASKED = 200  # names and values about each of which the engine is asked
_DIGITS = [bytes([byte]) for byte in b"-0123456789"]


def options(outline: Outline, cursor: Cursor, ask: Questions) -> tuple[Option, ...]:
    """Return what may come next."""
    view = _View(outline, ask)
    view.read(cursor)
    behind = cursor.ended() if cursor.word and cursor.inside else None
    if behind is not None:
        view.read(behind)
    return tuple(draft.option(subject) for subject, draft in view.drafts.items())


def declared_rests(outline: Outline, cursor: Cursor) -> tuple[str, ...] | None:
    """Return what is left of the declared names, where one has been begun and no other may be.

    None where there is no such name, and in objects that are not closed.
    """
    if cursor.due is not JsonDue.NAME or cursor.string is None or cursor.string[1]:
        return None
    typed, _ = cursor.string
    found = [shape for shape, _ in outline.shapes(cursor.inside) if isinstance(shape, ObjectShape)]
    if any(child != NEVER for shape in found for _, child in shape.classes):
        return None
    names = (name for shape in found for name, child in shape.names if child != NEVER)
    return tuple(name[len(typed) :] for name in names if name.startswith(typed))


class _View:
    """A place in a text, and the one behind it where a word is whole."""

    _cursor: Cursor

    def __init__(self, outline: Outline, ask: Questions) -> None:
        self._outline = outline
        self._ask = ask
        self.drafts: dict[str, DraftOption] = {}

    def read(self, cursor: Cursor) -> None:
        """Add what may follow."""
        self._cursor = cursor
        if not cursor.inside:
            if cursor.due is JsonDue.VALUE:
                self._values(self._outline.what, self._outline.whole)
            return
        shapes = self._outline.shapes(cursor.inside)
        arrays = [(shape, sources) for shape, sources in shapes if isinstance(shape, ArrayShape)]
        objects = [(shape, sources) for shape, sources in shapes if isinstance(shape, ObjectShape)]
        if cursor.due is JsonDue.COLON:
            for _, sources in shapes:
                self._draft("`:`, behind the name", sources)
        elif cursor.due is JsonDue.VALUE:
            key = cursor.inside[-1].key
            differs = self._differs(arrays) if key and not cursor.begun else ""
            self._values(self._subject(cursor.path) + differs, self._outline.values(shapes, key))
        elif objects:
            self._names(objects)
        elif arrays:
            here = f"`,` and another element of {self._container(cursor.path)}"
            values = self._outline.values(shapes, len(cursor.inside[-1].members))
            self._values(here + self._differs(arrays), values)
        if cursor.due is JsonDue.MORE or cursor.opened:
            end = "`]`" if arrays else self._ask.end
            path = cursor.path[: len(cursor.inside) - 1]
            for _, sources in shapes if end and self._ask.can_close(cursor) else ():
                self._draft(f"{end}, the end of {self._subject(path)}", sources)

    # What is spoken of.

    def _subject(self, path: tuple[str | int, ...]) -> str:
        if not path:
            return self._outline.what
        if isinstance(path[-1], str):
            return f"the value of {quoted(path[-1])}"
        return f"element {path[-1]} of {self._container(path[:-1])}"

    def _container(self, path: tuple[str | int, ...]) -> str:
        return quoted(path[-1]) if path and isinstance(path[-1], str) else self._subject(path)

    def _differs(self, arrays: Iterable[tuple[ArrayShape, Sources]]) -> str:
        differs = any(shape.unique and not shape.choices for shape, _ in arrays)
        return ", unlike those before" if differs else ""

    def _draft(self, subject: str, sources: Sources) -> DraftOption:
        draft = self.drafts.setdefault(subject, DraftOption())
        draft.paths.update(dict.fromkeys(sources.paths))
        return draft

    # Values.

    def _values(self, subject: str, values: Iterable[tuple[Value, Sources]]) -> None:
        """Add the value that is due, or how the one that has been begun goes on."""
        typed, _ = self._cursor.string or ("", b"")
        for whole, sources in values:
            value = self._going_on(whole) if self._cursor.begun else self._beginning(whole)
            listed = constants(value, typed)
            if listed is None:
                schemas = [place.schema for place in sources.places]
                for each in kinds(value, schemas):
                    self._draft(subject, sources).kinds[each + self._ends(value)] = None
            elif legal := self._legal(listed):
                self._draft(subject, sources).values.update(zip(legal, legal, strict=True))

    def _legal(self, texts: Iterable[str]) -> list[str]:
        listed = list(texts)
        if len(listed) > _ASKED:
            return listed
        return [text for text in listed if self._ask.can_be(self._cursor, text)]

    def _beginning(self, value: Value) -> Value:
        """Leave out the kinds of values that may not begin here."""
        ask, cursor = self._ask, self._cursor
        digits = map(ask.can_begin, repeat(cursor), _DIGITS)
        return value._replace(
            null=value.null and ask.can_be(cursor, "null"),
            booleans=frozenset(x for x in value.booleans if ask.can_be(cursor, str(x).lower())),
            numbers=value.numbers if value.numbers and any(digits) else (),
            strings=value.strings if ask.can_begin(cursor, b'"') else None,
            arrays=value.arrays if ask.can_begin(cursor, b"[") else (),
            objects=value.objects if ask.can_begin(cursor, b"{") else (),
        )

    def _going_on(self, value: Value) -> Value:
        """Restrict a value to what can continue the string or word that has been begun."""
        if self._cursor.string is not None:
            rest = None if value.strings is None else _after(value.strings, self._cursor.string[0])
            return Value(strings=None if rest == NOTHING else rest)
        begun = self._cursor.word
        return Value(
            null=value.null and "null".startswith(begun),
            booleans=frozenset(x for x in value.booleans if str(x).lower().startswith(begun)),
            numbers=tuple(x for x in value.numbers if _after(number_texts(x), begun) != NOTHING),
        )

    def _ends(self, value: Value) -> str:
        """Describe whether a string may end here, or whether only other elements forbid it."""
        if self._cursor.string is None or value.strings is None or not value.strings.nullable:
            return ""
        typed, part = self._cursor.string
        if part or self._ask.can_be(self._cursor, quoted(typed)):
            return " (which may end here)"
        inside = any(isinstance(key, int) for key in self._cursor.path)
        return " (which may not end here: the elements have to differ)" if inside else ""

    # Names.

    def _names(self, shapes: Iterable[tuple[ObjectShape, Sources]]) -> None:
        """Add the names that may follow, or those that a name that has been begun may be."""
        cursor, ask = self._cursor, self._ask
        usual = "`,` and another" if cursor.due is JsonDue.MORE else "the name of a"
        subject = ("" if cursor.begun else ask.another) or f"{usual} property"
        seen = [*map(str, cursor.inside[-1].members)]
        typed, part = cursor.string or ("", b"")
        for shape, sources in shapes:
            valid = (x for x, child in shape.names if child != NEVER and x.startswith(typed))
            # Names that are there come last: not every engine keeps them from being repeated.
            names = {quoted(name): name for name in sorted(valid, key=seen.__contains__)}
            for text in self._legal(names):
                note = " (required)" if names[text] in shape.required else ""
                note = " (again)" if names[text] in seen else note
                self._draft(subject, sources).values[text] = text + note
            taken = sorted(x for x in {*dict(shape.names), *seen} if x.startswith(typed))
            others = inverse(either(*(literal(x[len(typed) :]) for x in taken)))
            for regex, child in shape.classes:
                left = both(_after(both(regex, ask.names), typed), others)
                some = None if child == NEVER else _example(left)
                if some is not None and (part or ask.can_be(cursor, quoted(typed + some))):
                    words = "any other name" if regex == ANY else "another name"
                    self._draft(subject, sources).kinds[words] = None


def _after(regex: Regex, text: str) -> Regex:
    return reduce(derivative, text, regex)


def _example(regex: Regex) -> str | None:
    try:
        return example(regex)
    except RegexBudget:
        return None
