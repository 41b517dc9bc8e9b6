"""Regular languages over Unicode scalar values, as immutable expressions.

Seven of the eight kinds of expression are the usual ones. The eighth is a state of an automaton,
for languages of which an expression would be far too long. Each expression has equality, and bounds
that are known at once (lengths of members, its size, its weight in a cache). Must not know: how
they are built (only `constructors` makes them), the syntax of patterns, JSON, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, cast

from enforcer.regex.charset import union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    import numpy.typing as npt

    from enforcer.regex.charset import CharSet


_Rest = TypeVarTuple("_Rest")
_T = TypeVar("_T")

# Bytes of an expression beside its text, of a range of characters, and of an entry of a cache.
_PART = 200
_RANGE = 60
_ENTRY = 100
_HEAVIEST = 32 << 20  # bytes of the cached results of one function
_MOST = 16_384  # results; a schema may need thousands, again at each step of a text


@dataclass(frozen=True, slots=True, eq=False)
class Regex:
    """A regular language; compare, hash and share it freely.

    Equality is of normal forms: equal values denote equal languages, but one
    language may have several unequal values. Never build a subclass directly.

    Attributes:
        nullable: whether the empty string is a member.
        shortest: a lower bound of the members' lengths, in code points.
        longest: an upper bound of the members' lengths; None where there is none.
        boolean: whether an intersection, a complement or a state occurs anywhere inside,
            which regular expressions in the usual notations have no operators for.
        depth: levels of nesting.
        size: characters, ranges and operators, shared parts counted each time.
        weight: an estimate in bytes, shared parts counted each time.

    """

    nullable: bool = field(init=False, repr=False)
    shortest: int = field(init=False, repr=False)
    longest: int | None = field(init=False, repr=False)
    boolean: bool = field(init=False, repr=False)
    depth: int = field(init=False, repr=False)
    size: int = field(init=False, repr=False)
    weight: int = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def _key(self) -> object:
        """Return a value that is equal for equal expressions of one kind."""
        raise NotImplementedError

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Regex) or type(self) is not type(other):
            return False
        return self._hash == other._hash and self._key() == other._key()

    def _derive(
        self,
        *,
        nullable: bool,
        shortest: int,
        longest: int | None,
        children: Iterable[Regex] = (),
        boolean: bool = False,
        size: int = 1,
        bytes_: int = 0,
    ) -> None:
        """Set the derived fields of an expression, from its children where they decide."""
        depth = 0
        weight = _PART + bytes_
        for child in children:
            depth = max(depth, child.depth)
            boolean = boolean or child.boolean
            size += child.size
            weight += child.weight
        # A frozen dataclass leaves this as the only way to fill a derived field.
        put = object.__setattr__
        put(self, "nullable", nullable)
        put(self, "shortest", shortest)
        put(self, "longest", longest)
        put(self, "boolean", boolean)
        put(self, "depth", depth + 1)
        put(self, "size", size)
        put(self, "weight", weight)
        put(self, "_hash", hash((type(self).__name__, self._key())))


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Regex):
    """One string."""

    text: str

    def __post_init__(self) -> None:
        count = len(self.text)
        self._derive(nullable=not count, shortest=count, longest=count, size=count, bytes_=count)

    def _key(self) -> object:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Chars(Regex):
    """One character of a set; a set of exactly one is a `Literal` instead."""

    chars: CharSet

    def __post_init__(self) -> None:
        count = len(self.chars.ranges)
        self._derive(nullable=False, shortest=1, longest=1, size=count, bytes_=_RANGE * count)

    def _key(self) -> object:
        return self.chars


@dataclass(frozen=True, slots=True, eq=False)
class Concat(Regex):
    """One member of each part, in sequence; at least two parts."""

    parts: tuple[Regex, ...]

    def __post_init__(self) -> None:
        self._derive(
            nullable=all(p.nullable for p in self.parts),
            shortest=sum(p.shortest for p in self.parts),
            longest=_total(p.longest for p in self.parts),
            children=self.parts,
        )

    def _key(self) -> object:
        return self.parts


@dataclass(frozen=True, slots=True, eq=False)
class Union(Regex):
    """A member of any part; at least two parts, none of them optional but by itself."""

    parts: tuple[Regex, ...]

    def __post_init__(self) -> None:
        self._derive(
            nullable=any(p.nullable for p in self.parts),
            shortest=min(p.shortest for p in self.parts),
            longest=_widest(p.longest for p in self.parts),
            children=self.parts,
        )

    def _key(self) -> object:
        return frozenset(self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(Regex):
    """Members of the part, `minimum` to `maximum` of them in sequence."""

    part: Regex
    minimum: int
    maximum: int | None

    def __post_init__(self) -> None:
        ends = (self.part.longest, self.maximum)
        self._derive(
            nullable=self.minimum == 0 or self.part.nullable,
            shortest=self.part.shortest * self.minimum,
            longest=None if ends[0] is None or ends[1] is None else ends[0] * ends[1],
            children=(self.part,),
        )

    def _key(self) -> object:
        return self.part, self.minimum, self.maximum


@dataclass(frozen=True, slots=True, eq=False)
class Intersection(Regex):
    """A member of every part; at least two parts."""

    parts: tuple[Regex, ...]

    def __post_init__(self) -> None:
        ends = [p.longest for p in self.parts if p.longest is not None]
        self._derive(
            nullable=all(p.nullable for p in self.parts),
            shortest=max(p.shortest for p in self.parts),
            longest=min(ends, default=None),
            children=self.parts,
            boolean=True,
        )

    def _key(self) -> object:
        return frozenset(self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Complement(Regex):
    """Every string that is no member of the part."""

    part: Regex

    def __post_init__(self) -> None:
        self._derive(
            nullable=not self.part.nullable,
            shortest=int(self.part.nullable),
            longest=None,
            children=(self.part,),
            boolean=True,
        )

    def _key(self) -> object:
        return self.part


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """The states of an automaton, the first one first.

    Attributes:
        atoms: disjoint sets of characters that together hold every character.
        accepts: for each state the languages that accept there, as bits.
        rows: int32, shape `(states, atoms)`: the next states; -1 for none.
        work: transitions and operands.

    """

    atoms: tuple[CharSet, ...]
    accepts: list[int]
    rows: npt.NDArray[np.int32]
    work: int


@dataclass(frozen=True, slots=True, eq=False)
class State(Regex):
    """The texts that lead from a state of an automaton to an accepting one."""

    automaton: Explored
    number: int

    def __post_init__(self) -> None:
        nullable = bool(self.automaton.accepts[self.number])
        self._derive(nullable=nullable, shortest=int(not nullable), longest=None, boolean=True)

    def _key(self) -> object:
        return self.automaton, self.number


@lru_cache(maxsize=4_096)
def transitions(of: State) -> tuple[tuple[CharSet, State], ...]:
    """Return disjoint sets of first characters, each with the next state."""
    atoms: dict[int, list[CharSet]] = {}
    for atom, to in zip(of.automaton.atoms, of.automaton.rows[of.number].tolist(), strict=True):
        if to >= 0:
            atoms.setdefault(to, []).append(atom)
    return tuple((union(each), State(of.automaton, to)) for to, each in atoms.items())


def _total(ends: Iterable[int | None]) -> int | None:
    total = 0
    for end in ends:
        if end is None:
            return None
        total += end
    return total


def _widest(ends: Iterable[int | None]) -> int | None:
    widest = 0
    for end in ends:
        if end is None:
            return None
        widest = max(widest, end)
    return widest


def cached(ask: Callable[[Regex, *_Rest], _T]) -> Callable[[Regex, *_Rest], _T]:
    """Keep an LRU cache of a function whose first argument is a language; all are positional.

    `functools.lru_cache` counts its entries, and thousands of unions of thousands of texts are
    gigabytes. So entries are weighed as well: when those that were added are too heavy, the whole
    cache is dropped at once, and a hit costs no more than one of `functools.lru_cache`.
    """
    weight = 0

    @wraps(ask)
    def weighed(regex: Regex, *rest: *_Rest) -> _T:
        nonlocal weight
        found = ask(regex, *rest)
        weight += regex.weight + _weight(rest) + _weight(found)
        if weight > _HEAVIEST:
            weight = 0
            known.cache_clear()
        return found

    known = lru_cache(maxsize=_MOST)(weighed)
    return cast("Callable[[Regex, *_Rest], _T]", known)


def _weight(value: object) -> int:
    if isinstance(value, Regex):
        return value.weight
    if isinstance(value, tuple | frozenset):
        return _ENTRY + sum(map(_weight, value))
    return _ENTRY + (len(value) if isinstance(value, str) else 0)
