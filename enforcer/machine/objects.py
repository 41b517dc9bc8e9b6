"""Records of a node's objects: shapes, names, and classes of undeclared names.

A *shape* is one alternative of an object, a bit of its frame. A property removes the shapes that do
not allow its value.

Owns: the shapes of a node, and the meaning of their bits. Must not know: strings, arrays, files.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.machine.builder import Origin, check_bits, check_words, word_count
from enforcer.machine.lengths import FAR_COUNT
from enforcer.regex import ANY, both, either, fullmatch, inverse, literal
from enforcer.regex.derivative import is_surely_empty
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.machine.automata import Automaton
    from enforcer.machine.builder import TableBuilder
    from enforcer.regex import Regex
    from enforcer.schema.grammar import Mark, ObjectShape, ValueId

_Fits = defaultdict["ValueId", int]  # the shapes that allow each value, as bits


class _Shape(NamedTuple):
    """A shape of a node.

    Attributes:
        value: the index in the node of the value that it belongs to.
        shape: the shape.
        mask: its bit.

    """

    value: int
    shape: ObjectShape
    mask: int


class Keys:
    """The spelling of an object's names: strings of JSON, unless a layout has another one."""

    def __init__(self, builder: TableBuilder) -> None:
        self.builder = builder

    def text(self, name: str) -> str:
        """Return the characters of a name, with all that is needed to end it."""
        return name

    def node(self, name: str | None, values: tuple[ValueId, ...], origin: Origin) -> int:  # noqa: ARG002 - for other layouts
        """Return the number of the node of a property's value.

        Args:
            name: of the property; None if it is undeclared.
            values: of which one has to be written.
            origin: their place in the schema.

        """
        return self.builder.node(values, origin)

    def automaton(self, names: tuple[Regex, ...]) -> tuple[int, Automaton]:
        """Return the number of the automaton of undeclared names, and the automaton.

        Args:
            names: a language for each class.

        """
        return self.builder.automaton(names)

    def never_run_out(self, names: tuple[Regex, ...]) -> bool:
        """Return whether each beginning of a name is one of infinitely many of its class."""
        return self.automaton(names)[1].never_runs_out


class ObjectWriter:
    """Writes the records of nodes' objects.

    Args:
        builder: of the grammar's tables.

    Attributes:
        names: records of declared names; see `kernel.NAME`.
        classes: the first word of the bits of each class of undeclared names.
        limits: records of the counts of properties, one for each shape; see `kernel.LIMIT`.
        marks: records of the undeclared properties that count; see `kernel.MARK`.

    """

    def __init__(self, builder: TableBuilder) -> None:
        self.names: list[tuple[int, ...]] = []
        self.classes: list[int] = []
        self.limits: list[tuple[int, ...]] = []
        self.marks: list[tuple[int, ...]] = []
        self._builder = builder
        # Of one node: the shapes of each witness, by name, class and value; see `_mark`.
        self._hits = defaultdict[tuple[int, int, int], defaultdict[int, int]](_no_bits)
        self._json_keys = self._keys = Keys(builder)

    def write(
        self,
        record: dict[str, int],
        values: int,
        found: Sequence[tuple[int, ObjectShape]],
        keys: Keys | None = None,
    ) -> None:
        """Set the fields of objects in a node's record, and append the records that it refers to.

        Args:
            record: the node's fields.
            values: number of the node's values.
            found: shapes, each with the index of its value.
            keys: the spelling of names; None for JSON.

        Raises:
            TooLargeError: there are too many shapes, or classes of undeclared names.

        """
        shapes = [_Shape(value, shape, 1 << at) for at, (value, shape) in enumerate(found)]
        words = word_count(len(shapes))
        self._hits.clear()
        record["shapes"], record["shape_words"] = len(shapes), words
        of_values = [0] * values
        for each in shapes:
            of_values[each.value] |= each.mask
        record["shapes_of"] = self._builder.put(of_values, words)
        found_classes = defaultdict["Regex", _Fits](_no_bits)
        for each in shapes:
            for language, child in each.shape.classes:
                if child != NEVER:
                    found_classes[language][child] |= each.mask
            for mark in each.shape.marks:  # such a property fits a class as well
                found_classes[mark.names][mark.value] |= each.mask
        self._keys = keys or self._json_keys
        names = self._declared(record, shapes, words, is_open=bool(found_classes))
        classes = {each: fits for each, fits in found_classes.items() if _has_others(each, names)}
        if classes:
            self._undeclared(record, shapes, classes, names, words)
        self._counted(record, shapes, names)
        self._marked(record, shapes)

    def _declared(
        self, record: dict[str, int], shapes: Sequence[_Shape], words: int, *, is_open: bool
    ) -> list[str]:
        """Set the fields of declared names, and return these in the order of their texts."""
        needs = defaultdict[str, int](int)
        for each in shapes:
            for name in each.shape.required:
                needs[name] |= each.mask
        put = self._builder.put
        names = []
        record["name0"] = len(self.names)
        keys = self._keys
        listed = dict.fromkeys(name for each in shapes for name, _ in each.shape.names)
        places = {name: place for place, name in enumerate(listed)}
        for name, declared, fits in sorted(_children(shapes), key=lambda each: keys.text(each[0])):
            if fits or is_open:
                names.append(name)
                marks = [*_marks(shapes, name, declared)]
                for each, mark in marks:
                    fits[mark.value] |= each.mask
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
                        places[name],
                    )
                )
        record["names"] = len(names)
        needed = sum(1 << at for at, name in enumerate(names) if name in needs)
        record["required_names"] = put((needed,), word_count(len(names)))
        record["name_trie"] = (
            self._builder.tries.of_names([*map(keys.text, names)]) if names else -1
        )
        return names

    def _undeclared(
        self,
        record: dict[str, int],
        shapes: Sequence[_Shape],
        classes: dict[Regex, _Fits],
        names: Sequence[str],
        words: int,
    ) -> None:
        """Set the fields of undeclared names, by their classes."""
        check_bits(len(classes), "kinds of undeclared names")
        children = tuple(sorted({child for fits in classes.values() for child in fits}))
        origin = Origin(shapes[0].shape.path)
        record["class_node"] = self._keys.node(None, children, origin)
        record["class_values"] = len(children)
        record["classes"], record["class0"] = len(classes), len(self.classes)
        self.classes += [
            self._builder.put([fits.get(child, 0) for child in children], words)
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
        """Add a name or a class of names, with a value, to the witnesses of a shape.

        Args:
            shape: the shape.
            mark: the mark of the shape that the property meets.
            key: the index of the name (-1 for a class), of the class, and of the value.

        """
        self._hits[key][mark.witness] |= shape.mask

    def _marked(self, record: dict[str, int], shapes: Sequence[_Shape]) -> None:
        """Set the fields of the undeclared properties that some shape requires."""
        witnesses = max(len(each.shape.witnesses) for each in shapes)
        if not witnesses:
            return
        check_bits(witnesses, "undeclared properties")
        words = record["shape_words"]
        wanted = [
            reduce(or_, (each.mask for each in shapes if number < len(each.shape.witnesses)))
            for number in range(witnesses)
        ]
        record["witnesses"], record["witnessed"] = witnesses, self._builder.put(wanted, words)
        record["marks"], record["mark0"] = len(self._hits), len(self.marks)
        for key, masks in self._hits.items():
            found = [masks[number] for number in range(witnesses)]
            self.marks.append((*key, self._builder.put(found, words)))

    def _counted(
        self, record: dict[str, int], shapes: Sequence[_Shape], names: Sequence[str]
    ) -> None:
        """Set the fields of the numbers of properties, if some shape bounds them."""
        record["room"] = -1
        if not any(each.shape.minimum or each.shape.maximum is not None for each in shapes):
            return
        numbers = {name: number for number, name in enumerate(names)}
        words = word_count(len(names))
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
            self.limits.append((least, most, self._builder.put((bits,), words)))
        record["room"] = min(rooms, default=-1)


def _no_bits() -> defaultdict[Any, int]:
    return defaultdict(int)


def _children(shapes: Sequence[_Shape]) -> Iterator[tuple[str, int, _Fits]]:
    """Yield each declared name, the shapes that declare it, and those that allow each value."""
    usual: _Fits = _no_bits()  # the value of a name that a shape does not declare
    uneven: list[_Shape] = []
    of_names = defaultdict[str, _Fits](_no_bits)
    for each in shapes:
        for name, child in each.shape.names:
            of_names[name][child] |= each.mask
        if len(each.shape.classes) == 1:
            ((_, child),) = each.shape.classes
            usual[child] |= each.mask
        else:
            uneven.append(each)
    for name in sorted(of_names):
        fits = of_names[name]
        declared = reduce(or_, fits.values())
        for child, mask in usual.items():
            if mask & ~declared:
                fits[child] |= mask & ~declared
        for each in uneven:
            if not each.mask & declared:
                fits[each.shape.child(name)] |= each.mask
        fits.pop(NEVER, None)
        yield name, declared, fits


def _marks(shapes: Sequence[_Shape], name: str, declared: int) -> Iterator[tuple[_Shape, Mark]]:
    """Yield the shapes that do not declare a name, each with the marks that the name meets."""
    for each in shapes:
        if not each.mask & declared:
            for mark in each.shape.marks:
                if fullmatch(mark.names, name):
                    yield each, mark


def _origin(shapes: Sequence[_Shape], name: str) -> Origin:
    """Return the place of a property: of the first shape that declares it, else of the first."""
    for each in shapes:
        if any(declared == name for declared, _ in each.shape.names):
            return Origin(each.shape.path, name)
    return Origin(shapes[0].shape.path)


def _has_others(language: Regex, names: Sequence[str]) -> bool:
    """Return whether a language may have more names than the declared ones."""
    left = _without(language, names)
    return left is language or not is_surely_empty(left)


def _without(language: Regex, names: Sequence[str]) -> Regex:
    """Return a language without the declared names."""
    if language == ANY:
        return language
    declared = [literal(name) for name in names if fullmatch(language, name)]
    return both(language, inverse(either(*declared))) if declared else language
