"""Arrays whose elements must differ, and objects whose names must, beyond what bits can tell apart.

Owns: which of them can be kept distinct by whoever follows a text with a memory, which is outside
of any grammar. At every place of a text it must be plain, from the names and the indices that lead
there, whether the array is one of those and what its elements are; and what an element can still
become must be countable, member by member. Such an array stays `unique` in a finished grammar,
without choices. Of an object whose properties are counted it must be certain that some name is
always left. Must not know: keywords' syntax, engines, how texts are followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.regex import ANY, either, literal
from enforcer.regex.derivative import is_empty, successors
from enforcer.regex.states import TooManyStates, build
from enforcer.regex.syntax import names_in
from enforcer.schema.algebra.objects import child_of
from enforcer.schema.finishing.unfolding import children
from enforcer.schema.limits import BITS
from enforcer.schema.nodes import NEVER, ObjectShape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex
    from enforcer.schema.nodes import ArrayShape, Formula, Value

    _Bare = tuple[bool, frozenset[bool], tuple[NumberSet, ...]]

_MOST_TRACKS = 5_000
_MOST_STATES = 200  # of a language that only exploring tells what is left of
_MOST_NUMBERS = 2_000  # states of one type's numbers
_ALL_NUMBERS = 4_000  # of all of them together
_MOST_SHAPES = 24  # of one type, in one value
_TWO = 2  # elements that can be equal
_MIXED = (
    "whether the elements of this array have to be distinct depends on other parts of the text; "
    "say `uniqueItems` in all alternatives, or in none"
)
_MANIFOLD = (
    "the elements have more alternatives than can be followed side by side; use fewer, or drop "
    "`uniqueItems`"
)
_DIVIDED = (
    "which of these numbers are left when some are used cannot be told; list them in an `enum`"
)
_NUMEROUS = (
    "the elements have more kinds of numbers than can be followed; give them the same bounds, or "
    "drop `uniqueItems`"
)
_COUNTED = "elements that hold arrays with `contains` cannot be kept unique; drop one of the two"
_WITNESSED = (
    "elements of which some undeclared property must have a certain value cannot be kept unique; "
    "declare the property"
)
_NAMED = (
    "how many undeclared names the elements may have cannot be told; declare the names, or give "
    "the pattern no greatest length"
)
_LIMITED = (
    "elements with undeclared names and `maxProperties` cannot be kept unique; declare the names, "
    "or drop one of the two"
)
_TALLIED = (
    "elements whose undeclared properties are counted, or that have more than "
    f"{BITS} required ones, cannot be kept unique; drop one of the two"
)
_MIXED_NAMES = (
    "what is said of undeclared or of so many required properties depends on other parts of the "
    "text; say it in one place, declare fewer names beside it, or leave out their greatest length"
)
_ENTANGLED = (
    "which of these strings are left when some are used cannot be followed; write a simpler "
    "pattern for the elements, or drop `uniqueItems`"
)


@dataclass(frozen=True, slots=True)
class Track:
    """What is known of a value by the way that leads to it.

    Attributes:
        element: the value of the elements, if it is an array whose elements must differ.
        unrepeated: if it is an object whose names must differ, the language of all of them;
            where some fresh name is left behind any beginning of one, `ANY` will do.
        prefix: tracks of the first elements of an array.
        rest: that of all further elements.
        names: tracks of properties by declared name.
        others: that of all other properties.

    """

    element: Formula | None = None
    prefix: tuple[int, ...] = ()
    rest: int = 0
    names: tuple[tuple[str, int], ...] = ()
    others: int = 0
    unrepeated: Regex | None = None


NOWHERE = 0  # the track of values that have no such array and no such object in them


class Mixed(Exception):  # noqa: N818 - carries what is wrong to the compiler, never leaves it
    """Arrays or objects that cannot be told from others, or not be kept distinct.

    Attributes:
        shapes: those arrays and objects.
        reason: why.

    """

    def __init__(self, shapes: Iterable[ArrayShape | ObjectShape], reason: str = _MIXED) -> None:
        self.shapes = tuple(shapes)
        self.reason = reason
        super().__init__(self.shapes, reason)


def is_remembered(shape: ArrayShape) -> bool:
    """Tell whether an array of a finished grammar is for whoever follows a text to keep."""
    return shape.unique and not shape.choices


def remembered(value: Value) -> list[ArrayShape | ObjectShape]:
    """List what of a value of a finished grammar is for whoever follows a text to keep."""
    arrays = (shape for shape in value.arrays if is_remembered(shape))
    return [*arrays, *(shape for shape in value.objects if shape.distinct_names)]


def offence(shape: ArrayShape | ObjectShape) -> tuple[str, str]:
    """Give the path and the keyword that ask for a memory."""
    if not isinstance(shape, ObjectShape):
        return f"{shape.path}.uniqueItems", "uniqueItems"
    if shape.witnesses:
        return shape.witnesses[0].path, "not"
    keyword = "required" if len(shape.required) > BITS else "minProperties"
    return f"{shape.path}.{keyword}", keyword


def is_text(value: Value) -> bool:
    """Tell whether a value grammar is a language of strings and nothing else."""
    others = value.null or value.booleans or value.numbers or value.arrays or value.objects
    return value.strings is not None and not others


def is_bounded(value: Value) -> bool:
    """Tell whether it costs little to find out what is left of the strings of a value."""
    return value.strings is None or _is_bounded(value.strings)


def reached(definitions: Mapping[Formula, Value], formula: Formula) -> tuple[Formula, ...]:
    """List all values that are part of one, itself first."""
    found = {formula: None}
    queue = [formula]
    for each in queue:
        fresh = [x for x in children(definitions[each]) if x in definitions and x not in found]
        found.update(dict.fromkeys(fresh))
        queue.extend(fresh)
    return tuple(found)


def _obstacle(value: Value) -> str | None:
    """Say what makes it hard to tell how many values begin like a text."""
    if not is_bounded(value):
        return _ENTANGLED
    if len(value.objects) > _MOST_SHAPES or len(value.arrays) > _MOST_SHAPES:
        return _MANIFOLD
    try:
        bare_states(value)
    except (NotSpellableError, TooManyStates):
        return _DIVIDED
    if any(array.choices and not array.unique for array in value.arrays):
        return _COUNTED
    for shape in value.objects:
        if shape.witnesses or shape.marks:
            return _WITNESSED
        if shape.distinct_names:
            return _TALLIED
        usable = [names for names, child in shape.classes if child != NEVER]
        if not all(map(is_endless, usable)):
            return _NAMED
        if usable and shape.maximum is not None:
            return _LIMITED  # a name that is repeated counts twice, and its last value alone
    return None


def bare_states(value: Value) -> list[Any]:
    """Build the automaton of what is written without quotes of a value, words and numbers.

    Raises:
        NotSpellableError: a divisor that no expression holds.
        TooManyStates: it is too large.

    """
    return _bare_states(_bare_key(value))


def _bare_key(value: Value) -> _Bare:
    return value.null, value.booleans, value.numbers


@lru_cache(maxsize=256)
def _bare_states(bare: _Bare) -> list[Any]:
    null, booleans, numbers = bare
    words = [*(["null"] if null else []), *("true" if x else "false" for x in sorted(booleans))]
    texts = either(*map(literal, words), *map(number_texts, numbers))
    return build(texts, _MOST_NUMBERS)


@lru_cache(maxsize=1_024)
def is_endless(language: Regex) -> bool:
    """Tell whether a language has members without end; False as well where that is hard to say."""
    if not language.boolean:
        return language.longest is None
    if not _is_bounded(language):
        return False
    ahead = _ahead(language)
    while ends := {state for state, after in ahead.items() if not after}:
        ahead = {s: after - ends for s, after in ahead.items() if s not in ends}
    return bool(ahead)  # what is left of them goes round


@lru_cache(maxsize=1_024)
def never_runs_out(language: Regex) -> bool:
    """Tell whether each beginning of a member begins others without end; False if hard to say."""
    if language == ANY:
        return True
    return _is_small(language) and all(_ahead(language).values())


def _ahead(language: Regex) -> dict[Regex, set[Regex]]:
    """Give the states of a language that lead to a member, each with those that follow it."""
    ahead: dict[Regex, set[Regex]] = {}
    queue = [language]
    for state in queue:
        if state not in ahead:
            ahead[state] = {after for _, after in successors(state) if not is_empty(after)}
            queue.extend(ahead[state])
    return ahead


def _is_bounded(strings: Regex) -> bool:
    """Tell whether it costs little to find out what is left of a language."""
    return not strings.boolean or _is_small(strings)


def _is_small(strings: Regex) -> bool:
    seen = {strings}
    queue = [strings]
    for state in queue:
        if len(seen) > _MOST_STATES or any(names_in(state)):
            return False
        fresh = [after for _, after in successors(state) if after not in seen]
        seen.update(fresh)
        queue.extend(fresh)
    return True


def tracks(definitions: Mapping[Formula, Value], root: Formula) -> tuple[Track, ...]:
    """Follow all ways from the root to arrays of distinct elements.

    Returns:
        Tracks; the first is `NOWHERE`, the second the root's. None at all if there are no such
        arrays and objects.

    Raises:
        Mixed: a way leads to such an array or to another, or to objects that rule names out.

    """
    kept = [shape for value in definitions.values() for shape in remembered(value)]
    if not kept:
        return ()
    numbers: dict[frozenset[Formula], int] = {}
    order: list[frozenset[Formula]] = []

    def number(formulas: Iterable[Formula]) -> int:
        key = frozenset(f for f in formulas if f != NEVER and f in definitions)
        if not key:
            return NOWHERE
        if key not in numbers:
            if len(order) > _MOST_TRACKS:
                raise Mixed(kept)
            order.append(key)
            numbers[key] = len(order)
        return numbers[key]

    number((root,))
    found = [Track()]
    for key in order:
        values = [definitions[f] for f in sorted(key)]
        found.append(_track(values, definitions, number))
    elements = {track.element for track in found if track.element is not None}
    every = {definitions[each] for x in elements for each in reached(definitions, x)}
    automata = {_bare_key(value): len(bare_states(value)) for value in every}
    if sum(automata.values()) > _ALL_NUMBERS:
        arrays = (x for x in kept if not isinstance(x, ObjectShape))
        raise Mixed((x for x in arrays if not is_text(definitions[x.rest])), _NUMEROUS)
    return _relevant(found)


def _track(
    values: list[Value],
    definitions: Mapping[Formula, Value],
    of: Callable[[Iterable[Formula]], int],
) -> Track:
    arrays = [
        shape
        for value in values
        for shape in value.arrays
        if shape.maximum is None or shape.maximum >= _TWO
    ]
    element = _element(arrays, definitions)
    length = max((len(x.choices) - 1 if x.choices else len(x.prefix) for x in arrays), default=0)
    every = [shape for value in values for shape in value.arrays]
    at = [of(f for shape in every for f in _elements(shape, i)) for i in range(length + 1)]
    objects = [shape for value in values for shape in value.objects]
    parts = {(name, whole): pieces for value in values for (name, whole), pieces in value.cells}
    names = {name for shape in objects for name, _ in shape.names}
    return Track(
        element,
        tuple(at[:-1]),
        at[-1],
        tuple(
            (name, of(f for shape in objects for f in _properties(shape, name, parts)))
            for name in sorted(names)
        ),
        of(
            f
            for shape in objects
            for f in (*(x for _, x in shape.classes), *(mark.value for mark in shape.marks))
        ),
        _unrepeated(objects),
    )


def _element(arrays: list[ArrayShape], definitions: Mapping[Formula, Value]) -> Formula | None:
    kept = [shape for shape in arrays if is_remembered(shape)]
    if not kept:
        return None
    elements = {shape.rest for shape in kept}
    if len(kept) < len(arrays) or len(elements) > 1:
        raise Mixed(kept)
    element = elements.pop()
    if is_text(definitions[element]):
        if not is_bounded(definitions[element]):
            raise Mixed(kept, _ENTANGLED)
        return element
    for each in reached(definitions, element):
        reason = _obstacle(definitions[each])
        if reason is not None:
            raise Mixed(kept, reason)
    return element


def _unrepeated(objects: list[ObjectShape]) -> Regex | None:
    """Give the names that may not be written twice here, if that has to be kept.

    A text must not come to where only used names could follow. Grammars let no name be written
    twice that they have a bit for; behind any beginning of another one there are fresh names, if
    that is so of every object that there may be. Where there is one alone, with more names than
    bits, it is known which are left.
    """
    kept = [shape for shape in objects if shape.distinct_names]
    if not kept:
        return None
    if all(map(_has_bits, objects)):
        return ANY
    others = [names for names, value in kept[0].classes if value != NEVER]
    if len(set(objects)) > 1 or not all(map(_is_bounded, others)):
        raise Mixed(kept, _MIXED_NAMES)
    return either(*(literal(name) for name, value in kept[0].names if value != NEVER), *others)


def _has_bits(shape: ObjectShape) -> bool:
    """Tell whether every declared name has a bit, and others never run out."""
    usable = [names for names, value in shape.classes if value != NEVER]
    counted = len(shape.witnesses) + (shape.minimum if shape.maximum is None else shape.maximum)
    return len(shape.names) + counted <= BITS and all(map(never_runs_out, usable))


def _elements(shape: ArrayShape, index: int) -> Iterable[Formula]:
    if shape.choices:
        return (choice.value for choice in shape.choices[min(index, len(shape.choices) - 1)])
    return (shape.prefix[index] if index < len(shape.prefix) else shape.rest,)


def _properties(
    shape: ObjectShape, name: str, parts: Mapping[tuple[str, Formula], tuple[Formula, ...]]
) -> Iterable[Formula]:
    whole = child_of(shape, name)
    return (whole, *parts.get((name, whole), ()))


def _relevant(found: list[Track]) -> tuple[Track, ...]:
    """Leave out what leads to no such array."""
    leading: set[int] = {
        i
        for i, track in enumerate(found)
        if track.element is not None or track.unrepeated is not None
    }
    grown = True
    while grown:
        more = {
            i
            for i, track in enumerate(found)
            if not leading.isdisjoint(
                (*track.prefix, track.rest, track.others, *(n for _, n in track.names))
            )
        }
        grown = not more <= leading
        leading |= more

    def kept(number: int) -> int:
        return number if number in leading else NOWHERE

    return tuple(
        Track(
            track.element,
            tuple(map(kept, track.prefix)),
            kept(track.rest),
            tuple((name, kept(number)) for name, number in track.names),
            kept(track.others),
            track.unrepeated,
        )
        if i in leading
        else Track()
        for i, track in enumerate(found)
    )


def forgotten(
    definitions: dict[Formula, Value], shapes: Iterable[ArrayShape | ObjectShape]
) -> dict[Formula, Value]:
    """Return the definitions with these shapes, but with nothing to remember of them."""
    dropped = set(shapes)
    return {
        formula: replace(
            value,
            arrays=tuple(
                replace(shape, unique=False) if shape in dropped else shape
                for shape in value.arrays
            ),
            objects=tuple(
                _uncounted(shape) if shape in dropped else shape for shape in value.objects
            ),
        )
        if not dropped.isdisjoint((*value.arrays, *value.objects))
        else value
        for formula, value in definitions.items()
    }


def _uncounted(shape: ObjectShape) -> ObjectShape:
    kept = frozenset([name for name, _ in shape.names if name in shape.required][:BITS])
    return replace(
        shape,
        required=kept,
        minimum=min(shape.minimum, len(kept) + 1),
        witnesses=(),
        marks=(),
        distinct_names=False,
    )
