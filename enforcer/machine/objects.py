"""The part of a node that is about objects: shapes, names, and classes of undeclared names.

A *shape* is one bit of a frame; a property leaves those shapes that allow its value.

Owns: which shapes there are and what their bits say. Must not know: strings, arrays, files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from enforcer.machine.lengths import FAR_COUNT
from enforcer.machine.parts import Origin, check_bits, check_words
from enforcer.regex import ANY, both, either, fullmatch, inverse, literal
from enforcer.regex.derivative import is_surely_empty
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.machine.automata import Automaton
    from enforcer.machine.parts import TableBuilder
    from enforcer.regex import Regex
    from enforcer.schema.grammar import Mark, ObjectShape, ValueId

_Fits = dict["ValueId", int]  # which shapes allow each value, as bits


class _Shape(NamedTuple):
    """A shape of a node.

    Attributes:
        value: the index in the node of the value that it belongs to.
        shape: itself.
        mask: its bit.

    """

    value: int
    shape: ObjectShape
    mask: int


class Keys(Protocol):
    """How the names of an object are written."""

    def text(self, name: str) -> str:
        """Return the characters of a name, with all that is needed to end it."""
        ...

    def node(self, name: str | None, values: tuple[ValueId, ...], origin: Origin) -> int:
        """Return the number of the node of a property's value; no name: it is not declared."""
        ...

    def automaton(self, names: tuple[Regex, ...]) -> tuple[int, Automaton]:
        """Return the automaton of the undeclared names of some classes, and its number."""
        ...

    def never_run_out(self, names: tuple[Regex, ...]) -> bool:
        """Return whether whatever a name begins with, infinitely many of its class do."""
        ...


class JsonKeys:
    """Names as JSON has them: strings."""

    def __init__(self, parts: TableBuilder) -> None:
        self._parts = parts

    def text(self, name: str) -> str:
        """Return the name."""
        return name

    def node(self, name: str | None, values: tuple[ValueId, ...], origin: Origin) -> int:  # noqa: ARG002 - all are alike
        """Return the number of the node of a property's value."""
        return self._parts.node(values, origin)

    def automaton(self, names: tuple[Regex, ...]) -> tuple[int, Automaton]:
        """Return the automaton of the undeclared names of some classes, and its number."""
        return self._parts.automaton(names)

    def never_run_out(self, names: tuple[Regex, ...]) -> bool:
        """Return whether whatever a name begins with, infinitely many of its class do."""
        return self.automaton(names)[1].never_runs_out


class Objects:
    """Writes the objects of nodes.

    Attributes:
        names: records of names, four numbers each; see `kernel.Name`.
        classes: where the bits of each class of undeclared names begin.
        limits: records of the counts of properties, one for each shape; see `kernel.Limit`.
        marks: records of the undeclared properties that count; see `kernel.Mark`.

    """

    def __init__(self, parts: TableBuilder) -> None:
        self.names: list[tuple[int, ...]] = []
        self.classes: list[int] = []
        self.limits: list[tuple[int, ...]] = []
        self.marks: list[tuple[int, ...]] = []
        self._parts = parts
        self._hits: dict[tuple[int, int, int], dict[int, int]] = {}  # of one node; see `_mark`
        self._keys: Keys = JsonKeys(parts)
        self._json_keys = self._keys

    def write(
        self,
        record: dict[str, int],
        values: int,
        found: Sequence[tuple[int, ObjectShape]],
        keys: Keys | None = None,
    ) -> None:
        """Set the fields of a node's record.

        Args:
            record: the node's fields.
            values: how many values the node has.
            found: shapes, each with the index of its value.
            keys: how its names are written; None for JSON.

        Raises:
            TooLargeError: there are too many shapes, or undeclared names are too many kinds.

        """
        shapes = [_Shape(value, shape, 1 << at) for at, (value, shape) in enumerate(found)]
        words = (len(shapes) + 63) >> 6
        self._hits = {}
        record["shapes"], record["shape_words"] = len(shapes), words
        of_values = [0] * values
        for each in shapes:
            of_values[each.value] |= each.mask
        record["shapes_of"] = self._parts.put(of_values, words)
        classes: dict[Regex, _Fits] = {}
        for each in shapes:
            for language, child in each.shape.classes:
                if child != NEVER:
                    fits = classes.setdefault(language, {})
                    fits[child] = fits.get(child, 0) | each.mask
            for mark in each.shape.marks:  # such a property fits a class as well
                fits = classes.setdefault(mark.names, {})
                fits[mark.value] = fits.get(mark.value, 0) | each.mask
        self._keys = keys or self._json_keys
        names = self._declared(record, shapes, words, is_open=bool(classes))
        classes = {each: fits for each, fits in classes.items() if _has_others(each, names)}
        if classes:
            self._undeclared(record, shapes, classes, names, words)
        self._counted(record, shapes, names)
        self._marked(record, shapes)

    def _declared(
        self, record: dict[str, int], shapes: Sequence[_Shape], words: int, *, is_open: bool
    ) -> list[str]:
        needs: dict[str, int] = {}
        for each in shapes:
            for name in each.shape.required:
                needs[name] = needs.get(name, 0) | each.mask
        put = self._parts.put
        names = []
        record["name0"] = len(self.names)
        keys = self._keys
        for name, declared, fits in sorted(_children(shapes), key=lambda each: keys.text(each[0])):
            if fits or is_open:
                names.append(name)
                marks = [*_marks(shapes, name, declared)]
                for each, mark in marks:
                    fits[mark.value] = fits.get(mark.value, 0) | each.mask
                children = tuple(sorted(fits))
                for each, mark in marks:
                    self._mark(each, mark, (len(names) - 1, 0, children.index(mark.value)))
                node = 0
                if fits:
                    node = keys.node(name, children, _origin(shapes, name))
                self.names.append(
                    (
                        *(node, len(children), put([fits[child] for child in children], words)),
                        put((needs.get(name, 0),), words),
                    )
                )
        record["names"] = len(names)
        needed = sum(1 << at for at, name in enumerate(names) if name in needs)
        record["required_names"] = put((needed,), (len(names) + 63) >> 6)
        record["name_trie"] = self._parts.tries.of_names([*map(keys.text, names)]) if names else -1
        return names

    def _undeclared(
        self,
        record: dict[str, int],
        shapes: Sequence[_Shape],
        classes: dict[Regex, _Fits],
        names: Sequence[str],
        words: int,
    ) -> None:
        check_bits(len(classes), "kinds of undeclared names")
        children = tuple(sorted({child for fits in classes.values() for child in fits}))
        origin = Origin(shapes[0].shape.path)
        record["class_node"], record["class_values"] = (
            self._keys.node(None, children, origin),
            len(children),
        )
        record["classes"], record["class0"] = len(classes), len(self.classes)
        self.classes += [
            self._parts.put([fits.get(child, 0) for child in children], words)
            for fits in classes.values()
        ]
        number, automaton = self._keys.automaton(tuple(classes))
        check_words(all(map(automaton.has_word, range(len(classes)))))
        record["names_end"] = not self._keys.never_run_out(tuple(classes))
        if names and record["names_end"]:
            # Where few undeclared names are left, all of them may be declared ones.
            left = tuple(_without(language, names) for language in classes)
            number, _ = self._keys.automaton(left)
        record["class_automaton"] = number
        keys = [*classes]
        for each in shapes:
            for mark in (mark for mark in each.shape.marks if mark.names in classes):
                self._mark(each, mark, (-1, keys.index(mark.names), children.index(mark.value)))

    def _mark(self, shape: _Shape, mark: Mark, key: tuple[int, int, int]) -> None:
        """Note that a name, or a class of names, with some value is a witness of a shape."""
        hits = self._hits.setdefault(key, {})
        hits[mark.witness] = hits.get(mark.witness, 0) | shape.mask

    def _marked(self, record: dict[str, int], shapes: Sequence[_Shape]) -> None:
        """Set the fields of undeclared properties that some shape wants."""
        witnesses = max(len(each.shape.witnesses) for each in shapes)
        if not witnesses:
            return
        check_bits(witnesses, "undeclared properties")
        words = record["shape_words"]
        wanted = [0] * witnesses
        for each in shapes:
            for number in range(len(each.shape.witnesses)):
                wanted[number] |= each.mask
        record["witnesses"], record["witnessed"] = witnesses, self._parts.put(wanted, words)
        record["marks"], record["mark0"] = len(self._hits), len(self.marks)
        for key, masks in self._hits.items():
            found = [masks.get(number, 0) for number in range(witnesses)]
            self.marks.append((*key, self._parts.put(found, words)))

    def _counted(
        self, record: dict[str, int], shapes: Sequence[_Shape], names: Sequence[str]
    ) -> None:
        """Set the fields of counted properties, if some shape has fewer or more than it takes."""
        record["room"] = -1
        if not any(each.shape.minimum or each.shape.maximum is not None for each in shapes):
            return
        numbers = {name: number for number, name in enumerate(names)}
        words = (len(names) + 63) >> 6
        record["limits"], record["limit0"] = record["shapes"], len(self.limits)
        record["least"] = min(max(each.shape.minimum for each in shapes), FAR_COUNT)
        rooms = []
        for each in shapes:
            least = min(each.shape.minimum, FAR_COUNT)
            most = -1 if each.shape.maximum is None else min(each.shape.maximum, FAR_COUNT)
            required = each.shape.required
            if most >= 0:
                rooms.append(most - len(required))
            bits = sum(1 << numbers[name] for name in required)
            self.limits.append((least, most, self._parts.put((bits,), words)))
        record["room"] = min(rooms, default=-1)


def _children(shapes: Sequence[_Shape]) -> Iterator[tuple[str, int, _Fits]]:
    """Yield each declared name, the shapes that declare it, and those that allow each value."""
    if len(shapes) == 1:
        ((_, shape, mask),) = shapes
        for name, child in sorted(shape.names):
            yield name, mask, {child: mask} if child != NEVER else {}
        return
    usual: _Fits = {}  # the value of a name that a shape does not declare
    uneven: list[_Shape] = []
    of_names: dict[str, _Fits] = {}
    for each in shapes:
        for name, child in each.shape.names:
            fits = of_names.setdefault(name, {})
            fits[child] = fits.get(child, 0) | each.mask
        if len(each.shape.classes) == 1:
            ((_, child),) = each.shape.classes
            usual[child] = usual.get(child, 0) | each.mask
        else:
            uneven.append(each)
    for name in sorted(of_names):
        fits = of_names[name]
        declared = 0
        for mask in fits.values():
            declared |= mask
        for child, mask in usual.items():
            if mask & ~declared:
                fits[child] = fits.get(child, 0) | mask & ~declared
        for each in uneven:
            if not each.mask & declared:
                child = each.shape.child(name)
                fits[child] = fits.get(child, 0) | each.mask
        fits.pop(NEVER, None)
        yield name, declared, fits


def _marks(shapes: Sequence[_Shape], name: str, declared: int) -> Iterator[tuple[_Shape, Mark]]:
    """Yield the shapes that do not declare a name, and what it counts as in them."""
    for each in shapes:
        if not each.mask & declared:
            for mark in each.shape.marks:
                if fullmatch(mark.names, name):
                    yield each, mark


def _origin(shapes: Sequence[_Shape], name: str) -> Origin:
    for each in shapes:
        if any(declared == name for declared, _ in each.shape.names):
            return Origin(each.shape.path, name)
    return Origin(shapes[0].shape.path)


def _has_others(language: Regex, names: Sequence[str]) -> bool:
    """Return whether a language may have more names than the declared ones."""
    left = _without(language, names)
    return left is language or not is_surely_empty(left)


def _without(language: Regex, names: Sequence[str]) -> Regex:
    """Leave the declared names out of a language."""
    if language == ANY:
        return language
    declared = [literal(name) for name in names if fullmatch(language, name)]
    return both(language, inverse(either(*declared))) if declared else language
