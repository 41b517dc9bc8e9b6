"""Options for the next part of an argument text, in words, for all layouts.

What is due or has been begun comes first; then what each delimiter of the layout leads to, which
the machine shows when it is tried. Must not know: turns, ids, the state of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from enforcer.layouts import LayoutKind, Types
from enforcer.layouts.texts import keys
from enforcer.numbers.languages import number_texts
from enforcer.regex import ANY, NOTHING, Regex
from enforcer.regex.derivative import derivative
from enforcer.schema.grammar import NEVER, ArrayShape, ObjectShape, Value
from enforcer.tools.explain.place import (
    IN_NAMES,
    IN_VALUES,
    NAMES_DUE,
    VALUES_DUE,
    Phase,
    TextPlace,
    fixed,
)
from enforcer.tools.explain.words import DraftOption, Option, constants, kinds, quoted

if TYPE_CHECKING:
    from enforcer.schema.provenance import Sources
    from enforcer.tools.explain.place import BytewiseText, Shapes, Values


class View:
    """A place in a text, in words.

    Args:
        text: which is asked, and left as it is.
        what: such a text is, as `the arguments of "get_weather"`.

    Attributes:
        place: the place.
        options: what may come next.

    """

    def __init__(self, text: BytewiseText, what: str) -> None:
        self._text, self._what = text, what
        self._layout = text.outline.layout
        self._drafts: dict[str, DraftOption] = {}
        self.place = TextPlace(text)
        self._read(self.place)
        found = tuple(draft.option(subject) for subject, draft in self._drafts.items())
        if not found and self.place.path:
            found = (Option(f"more of {self._subject(self.place.path)}"),)
        self.options: tuple[Option, ...] = found

    @property
    def rests(self) -> tuple[str, ...] | None:
        """The rests of the declared names, where one has been begun and no other may be.

        None where there is no such name, and in objects that are not closed.
        """
        typed = self.place.typed or ""
        shapes = [shape for shape, _ in self.place.shapes if isinstance(shape, ObjectShape)]
        is_open = any(child != NEVER for shape in shapes for _, child in shape.classes)
        if self.place.phase not in IN_NAMES or is_open:
            return None
        names = (name for shape in shapes for name, child in shape.names if child != NEVER)
        return tuple(name[len(typed) :] for name in names if name.startswith(typed))

    def _read(self, place: TextPlace) -> None:
        """Add what may follow."""
        if place.phase in IN_NAMES | NAMES_DUE:
            self._names("the name of a property", place)
        elif place.phase in VALUES_DUE | IN_VALUES:
            kind = "" if place.is_typed else "the type and "
            self._values(kind + self._subject(place.path), place)
        for delimiter, phase in self._delimiters:
            if rest := self._text.rest(delimiter, phase):
                with self._text.gone_on(rest):
                    self._behind(place, self._text.outline.show(rest), TextPlace(self._text))

    @property
    def _delimiters(self) -> Iterator[tuple[Sequence[int], int | None]]:
        """The delimiters of the layout, each with the phase that begins behind it, if it is one."""
        yield from ((bytes([byte]), None) for byte in b",]}:=)")
        if self._layout.layout.kind is LayoutKind.PAIRS:
            first = "type" if self._layout.layout.types is Types.WRITTEN else "value"
            yield fixed(self._layout.part(None, "key")), Phase.IN_KEY
            yield fixed(self._layout.part("key", first)), Phase.IN_VALUE
            yield self._layout.stop, Phase.BETWEEN
            yield fixed(self._layout.close), Phase.BETWEEN

    def _behind(self, place: TextPlace, sign: str, now: TextPlace) -> None:
        """Add what a delimiter that may come leads to.

        Args:
            place: before it.
            sign: the delimiter in words.
            now: behind it.

        """
        if place.phase in {Phase.IN_VALUE, Phase.BEHIND_NESTED}:
            self._add(
                f"{sign}, the end of {self._subject(place.path)}", place.values or place.shapes
            )
        elif now.is_complete or len(now.keys) < len(place.keys):
            self._add(f"{sign}, the end of {self._subject(place.keys[:-1])}", place.shapes)
        elif now.phase in IN_NAMES | NAMES_DUE:
            is_pair = place.phase == Phase.BETWEEN
            self._names(f"{sign} and {'the name of a' if is_pair else 'another'} property", now)
        elif isinstance(now.keys[-1], int):
            self._values(f"{sign} and another element of {self._container(now.keys[:-1])}", now)
        else:
            self._add(f"{sign}, behind the name {quoted(now.keys[-1])}", now.shapes)

    def _subject(self, path: Sequence[str | int]) -> str:
        if not path:
            return self._what
        if isinstance(path[-1], str):
            return f"the value of {quoted(path[-1])}"
        return f"element {path[-1]} of {self._container(path[:-1])}"

    def _container(self, path: Sequence[str | int]) -> str:
        return quoted(path[-1]) if path and isinstance(path[-1], str) else self._subject(path)

    def _add(self, subject: str, parts: Shapes | Values) -> None:
        for _, sources in parts:
            self._draft(subject, sources)

    def _draft(self, subject: str, sources: Sources) -> DraftOption:
        draft = self._drafts.setdefault(subject, DraftOption())
        draft.paths.update(dict.fromkeys(sources.paths))
        return draft

    def _names(self, subject: str, place: TextPlace) -> None:
        """Add the names that may follow, or those that a name that has been begun may be."""
        is_json = self._layout.layout.kind is LayoutKind.JSON
        every = ANY if is_json else keys(self._layout)
        for shape, sources in place.shapes:
            if not isinstance(shape, ObjectShape):
                continue
            for name, child in shape.names:
                if child != NEVER and name in place.names:
                    text = quoted(name)
                    note = " (required)" if name in shape.required else ""
                    self._draft(subject, sources).values[text] = text + note
            for regex, child in shape.classes if place.is_open else ():
                if child != NEVER and _after(regex, place.typed or "") != NOTHING:
                    words = "any other name" if regex in {ANY, every} else "another name"
                    self._draft(subject, sources).kinds[words] = None

    def _values(self, subject: str, place: TextPlace) -> None:
        """Add the values that may be meant, each listed if it can be."""
        arrays = (shape for shape, _ in place.shapes if isinstance(shape, ArrayShape))
        if any(x.unique and not x.choices for x in arrays) and place.keys[-1] and not place.begun:
            subject += ", unlike those before"
        for whole, sources in place.values:
            value = _going_on(place.readable(whole), place)
            listed = constants(value, place.typed or "")
            if listed is not None:
                legal = [*filter(place.is_read, listed)]
                if legal:
                    self._draft(subject, sources).values.update(zip(legal, legal, strict=True))
                continue
            schemas = [each.schema for each in sources.places]
            strings = Value(strings=value.strings)
            note = self._note(place) if value.strings and value.strings.nullable else ""
            said = [*kinds(value._replace(strings=None), schemas)]
            said += [each + note for each in kinds(strings, schemas)]
            self._draft(subject, sources).kinds.update(dict.fromkeys(said))

    def _note(self, place: TextPlace) -> str:
        """Describe whether a string may end here, or whether only other elements forbid it."""
        end = self._layout.stop if place.phase == Phase.IN_VALUE else place.begun[:1].encode()
        if place.part or not end:
            return ""
        if self._text.rest(end):
            return " (which may end here)"
        inside = any(isinstance(key, int) for key in place.path)
        return " (which may not end here: the elements have to differ)" if inside else ""


def _going_on(value: Value, place: TextPlace) -> Value:
    """Restrict a value to what can continue the string or word that has been begun."""
    rest = NOTHING if place.typed is None else _after(value.strings or NOTHING, place.typed)
    strings = None if rest == NOTHING else rest
    if place.word == "":
        return value._replace(strings=strings)
    word = "?" if place.word is None else place.word.lower()
    return Value(
        strings=strings,
        null=value.null and ("null".startswith(word) or "none".startswith(word)),
        booleans=frozenset(x for x in value.booleans if str(x).lower().startswith(word)),
        numbers=tuple(x for x in value.numbers if _after(number_texts(x), word) != NOTHING),
    )


def _after(regex: Regex, text: str) -> Regex:
    return reduce(derivative, text, regex)
