"""The part of a grammar that a layout of arguments can write.

A layout writes a value only if its text is read back as the same value. All other values are
removed from the properties at the root; a grammar of which nothing is left is rejected.

Owns: the texts of these values. Must not know: any engine's notation, how properties are tracked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.layouts import LayoutKind, Types
from enforcer.layouts.declared import (
    ONLY_STRING,
    reads_digits_as_doubles,
    types_of_properties,
)
from enforcer.layouts.texts import (
    OPTIONAL_SPACE,
    Readable,
    keys,
    made_of,
    trimmed_parts,
    trimming,
    unstopped,
)
from enforcer.machine.lengths import Bounded, alternatives, apart
from enforcer.numbers.languages import AS_DOUBLES, number_texts, tells_doubles_apart
from enforcer.regex import (
    ANY,
    both,
    either,
    fullmatch,
    inverse,
    is_empty,
    is_surely_empty,
    literal,
)
from enforcer.regex.constructors import concat
from enforcer.schema.grammar import NEVER, Value, fresh
from enforcer.schema.lowering.distinct import may_run_out, offence
from enforcer.schema.lowering.pruning import prune
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ObjectShape, ValueId


_FORMAT = "the model's tool-call format"


@dataclass(frozen=True, slots=True)
class ValueForm:
    """One form in which a layout writes a value.

    Attributes:
        type: the type that is written before it; None for none.
        scalars: the texts of strings, numbers and words, in parts with lengths of their own.
        nested: arrays and objects, written as JSON; None for none.

    """

    type: str | None
    scalars: tuple[Bounded, ...] = ()
    nested: Value | None = None


class LayoutSubset:
    """Finds the forms in which a layout writes the properties of one grammar.

    Args:
        grammar: a finished one.
        layout: pairs of keys and values, or Python's keyword arguments.

    """

    def __init__(self, grammar: ArgumentGrammar, layout: BoundLayout) -> None:
        self.layout = layout
        self._definitions = grammar.definitions
        self._root = grammar.root
        self._types = types_of_properties(grammar.schema)
        self._forms: dict[tuple[frozenset[str] | None, ValueId], tuple[ValueForm, ...]] = {}

    @property
    def typed(self) -> bool:
        """Whether the layout writes the type of each value."""
        return self.layout.layout.types is Types.WRITTEN

    def grammar(self) -> tuple[dict[ValueId, Value], ValueId]:
        """Return the definitions without values that cannot be written, and the root's number.

        Raises:
            UnsupportedSchema: a declared name cannot be written, no value is left, or fewer names
                can be written than the schema counts.

        """
        whole = self._definitions[self._root]
        self._refuse_names(whole)
        objects = tuple(map(self._reduced, whole.objects))
        root = fresh(self._definitions)
        definitions = {**self._definitions, root: Value(objects=objects)}
        pruned = prune(definitions, root)
        if pruned is None:
            raise UnsupportedSchema(tuple(self._culprits(whole)))
        few = dict.fromkeys(offence(shape) for shape in pruned[root].objects if may_run_out(shape))
        if few:
            reason = f"{_FORMAT} can write too few of the names to count; declare the arguments"
            raise UnsupportedSchema(tuple(Problem(*place, reason) for place in few))
        return pruned, root

    def forms(self, name: str | None, value: ValueId) -> tuple[ValueForm, ...]:
        """Return the forms of a property's value; the name None is an undeclared one."""
        return self.forms_of(None if self.typed else self.types_of(name), value)

    def forms_of(self, types: frozenset[str] | None, value: ValueId) -> tuple[ValueForm, ...]:
        """Return the forms of a value of some declared types; None if types are written."""
        key = (types, value)
        if key not in self._forms:
            found = self._definitions[value]
            self._forms[key] = tuple(
                self._written(found) if types is None else self._raw(found, types)
            )
        return self._forms[key]

    def types_of(self, name: str | None) -> frozenset[str]:
        """Return the declared types of a property; the name None is an undeclared one."""
        return ONLY_STRING if name is None else self._types.get(name, ONLY_STRING)

    def _written(self, value: Value) -> Iterator[ValueForm]:
        readable = Readable(None)
        if value.strings is not None and (texts := self._strings(value.strings, readable)):
            yield ValueForm("string", texts)
        if value.numbers:
            yield ValueForm("number", _spaced(either(*map(number_texts, value.numbers))))
        if words := [x for each in sorted(value.booleans) if (x := readable.boolean(each))]:
            yield ValueForm("boolean", _spaced(either(*words)))
        if value.null:
            yield ValueForm("null", _spaced(readable.null))
        if value.arrays:
            yield ValueForm("array", nested=Value(arrays=value.arrays))
        if value.objects:
            yield ValueForm("object", nested=Value(objects=value.objects))

    def _raw(self, value: Value, types: frozenset[str]) -> Iterator[ValueForm]:
        readable = Readable(types)
        every = _scalars(value, readable, types)
        counted: tuple[Bounded, ...] = ()
        if value.strings is not None and _is_counted(value.strings):
            every = _scalars(value._replace(strings=None), readable, types)
            counted = self._strings(value.strings, readable)
        texts = self._unstopped(trimming(every, self.layout.layout.trim))
        scalars = counted if is_surely_empty(texts) else (Bounded(texts), *counted)
        nested = None
        if readable.as_json and (value.arrays or value.objects):
            nested = Value(arrays=value.arrays, objects=value.objects)
        if scalars or nested is not None:
            yield ValueForm(None, scalars, nested)

    def _strings(self, strings: Regex, readable: Readable) -> tuple[Bounded, ...]:
        """Return the languages of strings, those with lengths split by how much is trimmed."""
        trim = self.layout.layout.trim
        parts = []
        for each in alternatives(strings):
            found = each if isinstance(each, Bounded) else apart(each)
            texts = trimming(readable.strings(found.text), trim)
            for part, more in trimmed_parts(trim) if found.is_counted else ((ANY, 0),):
                least = found.minimum + more if found.minimum else 0
                most = None if found.maximum is None else found.maximum + more
                parts.append(Bounded(self._unstopped(both(texts, part)), least, most))
        return tuple(each for each in parts if not is_surely_empty(each.text))

    def _unstopped(self, texts: Regex) -> Regex:
        """Return the texts without those that hold a delimiter or characters of no token."""
        # A text that may be any can always go on with a character that can be written.
        written = texts if texts == ANY else made_of(self.layout.writable, texts)
        return unstopped(written, self.layout.avoided)

    def _is_possible(self, name: str | None, value: ValueId) -> bool:
        if value == NEVER:
            return False
        return self.layout.layout.kind is LayoutKind.PYTHON or bool(self.forms(name, value))

    def _reduced(self, shape: ObjectShape) -> ObjectShape:
        allowed = keys(self.layout)
        declared = dict(shape.names)
        # vLLM reads these by their own type, wherever their value comes from.
        typed = () if self.typed else [x for x in self._types if x not in declared]
        names = [*shape.names, *((name, shape.child(name)) for name in typed)]
        classes = [
            (regex, value if self._is_possible(None, value) else NEVER)
            for regex, value in shape.classes
        ]
        if allowed != ANY:
            split = [(both(regex, allowed), value) for regex, value in classes]
            classes = [*split, *((both(x, inverse(allowed)), NEVER) for x, _ in classes)]
        return replace(
            shape,
            names=tuple(
                (name, value if self._is_possible(name, value) else NEVER) for name, value in names
            ),
            classes=tuple(each for each in classes if not is_empty(each[0])),
            marks=tuple(
                replace(mark, names=both(mark.names, allowed))
                for mark in shape.marks
                if self._is_possible(None, mark.value) and not is_empty(both(mark.names, allowed))
            ),
        )

    def _refuse_names(self, whole: Value) -> None:
        """Raise `UnsupportedSchema` if a declared name cannot be written."""
        allowed = keys(self.layout)
        if allowed == ANY:
            return
        refused = {
            (shape.path, name): None
            for shape in whole.objects
            for name, value in shape.names
            if value != NEVER and not fullmatch(allowed, name)
        }
        problems = []
        for path, name in refused:
            writer = self._writer(literal(name))
            reason = f"{writer} cannot write an argument named {name!r:.60}; rename it"
            problems.append(Problem(step(f"{path}.properties", name), "properties", reason))
        if problems:
            raise UnsupportedSchema(tuple(problems))

    def _culprits(self, whole: Value) -> Iterator[Problem]:
        found: dict[tuple[str, str], ValueId | None] = {
            (shape.path, name): value
            for shape in whole.objects
            for name, value in shape.names
            if value != NEVER and not self._is_possible(name, value)
        }
        for (path, name), value in (found or {("$", ""): None}).items():
            place = step(f"{path}.properties", name) if name else path
            strings = None if value is None else self._definitions[value].strings
            writer = self._writer(strings)
            advice = "state its `type`, or allow one type only"
            if writer != _FORMAT:
                advice = "allow texts of other characters"
            reason = (
                f"{writer} cannot write any value of this schema so that it is read as one; "
                f"{advice}"
            )
            yield Problem(place, "", reason)

    def _writer(self, texts: Regex | None) -> str:
        """Name the tokenizer if it cannot write any of the texts, else the format."""
        if texts is None or not is_surely_empty(made_of(self.layout.writable, texts)):
            return _FORMAT
        return "the model's tokenizer"


def _is_counted(strings: Regex) -> bool:
    first, *others = alternatives(strings)
    return bool(others) or isinstance(first, Bounded) or apart(first).is_counted


def _scalars(value: Value, readable: Readable, types: frozenset[str]) -> Regex:
    """Return the texts of a value's scalars, in the form in which declared types are read."""
    texts: list[Regex | None] = [readable.null] if value.null else []
    texts += [readable.boolean(each) for each in sorted(value.booleans)]
    if value.numbers:
        numbers = either(*map(number_texts, value.numbers))
        if reads_digits_as_doubles(types) and any(map(tells_doubles_apart, value.numbers)):
            numbers = both(numbers, AS_DOUBLES)
        texts.append(readable.numbers(numbers))
    if value.strings is not None:
        texts.append(readable.strings(value.strings))
    return either(*(text for text in texts if text is not None))


def _spaced(texts: Regex | None) -> tuple[Bounded, ...]:
    return () if texts is None else (Bounded(concat(OPTIONAL_SPACE, texts, OPTIONAL_SPACE)),)
