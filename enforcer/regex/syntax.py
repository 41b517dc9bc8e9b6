"""Regular languages over Unicode scalar values, as immutable expressions.

Owns: the seven kinds of expression and the smart constructors that keep them in
a normal form, so that equal-looking languages compare equal and the usual
combinations (a character class with a length, say) collapse into something
simple. Must not know: the syntax of patterns, JSON, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.regex.charset import ALL, EMPTY, CharSet

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, eq=False)
class Regex:
    """A regular language; compare, hash and share it freely.

    Equality is of normal forms: equal values denote equal languages, but one
    language may have several unequal values. Never build a subclass directly.

    Attributes:
        nullable: whether the empty string is a member.
        shortest: a lower bound of the members' lengths, in code points.
        longest: an upper bound of the members' lengths; None where there is none.
        boolean: whether an intersection or a complement occurs anywhere inside.
        depth: levels of nesting.
        size: characters, ranges and operators, shared parts counted each time.

    """

    nullable: bool = field(init=False, repr=False)
    shortest: int = field(init=False, repr=False)
    longest: int | None = field(init=False, repr=False)
    boolean: bool = field(init=False, repr=False)
    depth: int = field(init=False, repr=False)
    size: int = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def _key(self) -> object:
        """Return what makes two expressions of one kind the same."""
        raise NotImplementedError

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Regex) or type(self) is not type(other):
            return False
        return self._hash == other._hash and self._key() == other._key()

    def _derive(  # noqa: PLR0913 - one call fills every derived attribute
        self,
        *,
        nullable: bool,
        shortest: int,
        longest: int | None,
        children: Iterable[Regex] = (),
        boolean: bool = False,
        size: int = 1,
    ) -> None:
        depth = 0
        for child in children:
            depth = max(depth, child.depth)
            boolean = boolean or child.boolean
            size += child.size
        # A frozen dataclass leaves this as the only way to fill a derived field.
        put = object.__setattr__
        put(self, "nullable", nullable)
        put(self, "shortest", shortest)
        put(self, "longest", longest)
        put(self, "boolean", boolean)
        put(self, "depth", depth + 1)
        put(self, "size", size)
        put(self, "_hash", hash((type(self).__name__, self._key())))


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Regex):
    """One string."""

    text: str

    def __post_init__(self) -> None:
        count = len(self.text)
        self._derive(nullable=not count, shortest=count, longest=count, size=count)

    def _key(self) -> object:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Chars(Regex):
    """One character of a set; a set of exactly one is a `Literal` instead."""

    chars: CharSet

    def __post_init__(self) -> None:
        self._derive(nullable=False, shortest=1, longest=1, size=len(self.chars.ranges))

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


EPSILON = Literal("")
NOTHING = Chars(EMPTY)
_ANY_CHAR = Chars(ALL)
ANY = Repeat(_ANY_CHAR, 0, None)


def literal(text: str) -> Regex:
    """Build the language of one string; of none if it holds a lone surrogate."""
    return Literal(text) if all(c in ALL for c in text) else NOTHING


def chars(members: CharSet) -> Regex:
    """Build the language of the one-character strings of a set."""
    return Literal(members.first) if len(members) == 1 else Chars(members)


def concat(*parts: Regex) -> Regex:
    """Build the language of one member of each part in sequence."""
    flat: list[Regex] = []
    for part in parts:
        if part == NOTHING:
            return NOTHING
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if flat and (joined := _join(flat[-1], piece)) is not None:
                flat[-1] = joined
            else:
                flat.append(piece)
    if len(flat) > 1:
        flat = [piece for piece in flat if piece != EPSILON]
    return _one_or(flat, EPSILON, Concat)


def _join(left: Regex, right: Regex) -> Regex | None:
    """Fuse two neighbours: text with text, repeats of the same part."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return Literal(left.text + right.text)
    if left == EPSILON:
        return right
    if right == EPSILON:
        return left
    if isinstance(left, Repeat) and isinstance(right, Repeat) and left.part == right.part:
        ends = (left.maximum, right.maximum)
        maximum = None if ends[0] is None or ends[1] is None else ends[0] + ends[1]
        return repeat(left.part, left.minimum + right.minimum, maximum)
    return None


def repeat(part: Regex, minimum: int, maximum: int | None) -> Regex:
    """Build the language of `minimum` to `maximum` (None: any number) members in sequence."""
    if maximum == 0 or part == EPSILON:
        return EPSILON
    if part == NOTHING:
        return NOTHING if minimum else EPSILON
    if (minimum, maximum) == (1, 1):
        return part
    if part.nullable:
        minimum = 0
    if isinstance(part, Repeat):
        inner, least, most = part.part, part.minimum, part.maximum
        if least <= 1 and most is None and maximum is None:
            return repeat(inner, minimum * least, None)  # (x*)* and (x+)+ and their mixtures
        if (least, most) == (0, 1):
            return repeat(inner, 0, maximum)
        if minimum == maximum and least == most:
            return repeat(inner, least * minimum, None if most is None else most * minimum)
    if (minimum, maximum) == (0, 1) and part.nullable:
        return part
    return Repeat(part, minimum, maximum)


def either(*parts: Regex) -> Regex:
    """Build the union; of nothing, `NOTHING`."""
    members = EMPTY
    negated: list[Regex] = []
    rest: dict[Regex, None] = {}
    empty = False
    pending = list(reversed(parts))
    while pending:
        part = pending.pop()
        if isinstance(part, Union):
            pending.extend(reversed(part.parts))
        elif isinstance(part, Repeat) and (part.minimum, part.maximum) == (0, 1):
            empty = True
            pending.append(part.part)
        elif isinstance(part, Chars):
            members |= part.chars
        elif isinstance(part, Complement):
            negated.append(part.part)
        elif part == EPSILON:
            empty = True
        else:
            rest[part] = None
    singles = [p for p in rest if isinstance(p, Literal) and len(p.text) == 1]
    if members or len(singles) > 1:
        # One-character strings join the class, so that `[a-y]|z` is `[a-z]`.
        members |= CharSet.of((ord(p.text), ord(p.text)) for p in singles)
        for single in singles:
            del rest[single]
        rest = {chars(members): None} | rest
    if ANY in rest:
        return ANY
    if negated:
        excluded = both(*negated)
        if excluded in rest or excluded == NOTHING:
            return ANY
        rest[inverse(excluded)] = None
    for part in [p for p in rest if isinstance(p, Repeat) and p.minimum == 1]:
        star = Repeat(part.part, 0, part.maximum)
        if empty or star in rest:
            del rest[part]
            rest[star] = None
    union = _one_or(list(rest), NOTHING, Union)
    return union if not empty or union.nullable else _optional(union)


def _optional(part: Regex) -> Regex:
    return EPSILON if part == NOTHING else repeat(part, 0, 1)


def both(*parts: Regex) -> Regex:
    """Build the intersection; of nothing, `ANY`."""
    excluded: list[Regex] = []
    plain: Regex | None = None
    rest: dict[Regex, None] = {}
    pending = list(reversed(parts))
    while pending:
        part = pending.pop()
        if isinstance(part, Intersection):
            pending.extend(reversed(part.parts))
        elif part == NOTHING:
            return NOTHING
        elif isinstance(part, Complement):
            excluded.append(part.part)
        elif _over_one_class(part) is not None:
            plain = part if plain is None else _meet(plain, part)
        else:
            rest[part] = None
    if plain == NOTHING:
        return NOTHING
    if plain not in (None, ANY) and not any(_implies_length(p, plain) for p in rest):
        rest[plain] = None
    if excluded:
        removed = either(*excluded)
        if removed in rest or removed == ANY:
            return NOTHING
        if removed != NOTHING:
            rest[Complement(removed)] = None
    shortest = max((p.shortest for p in rest), default=0)
    if any(p.longest is not None and p.longest < shortest for p in rest):
        return NOTHING
    return _one_or(list(rest), ANY, Intersection)


def _over_one_class(part: Regex) -> tuple[CharSet, int, int | None] | None:
    """Describe `[...]{m,n}` as its class and counts; None for anything else."""
    if isinstance(part, Chars):
        return part.chars, 1, 1
    if isinstance(part, Repeat) and isinstance(part.part, Chars):
        return part.part.chars, part.minimum, part.maximum
    return None


def _meet(left: Regex, right: Regex) -> Regex:
    """Intersect two repeats of classes: exact, since both only count and classify."""
    a, b = _over_one_class(left), _over_one_class(right)
    if a is None or b is None:
        raise TypeError("both operands must be repeats of a class")
    minimum = max(a[1], b[1])
    ends = [end for end in (a[2], b[2]) if end is not None]
    maximum = min(ends, default=None)
    if maximum is not None and maximum < minimum:
        return NOTHING
    return repeat(chars(a[0] & b[0]), minimum, maximum)


def _implies_length(part: Regex, plain: Regex) -> bool:
    """Tell whether a pure length bound says nothing new beside `part`."""
    described = _over_one_class(plain)
    if described is None or described[0] != ALL:
        return False
    _, minimum, maximum = described
    fits = maximum is None or (part.longest is not None and part.longest <= maximum)
    return fits and part.shortest >= minimum


def inverse(part: Regex) -> Regex:
    """Build the complement with respect to all strings of scalar values."""
    if isinstance(part, Complement):
        return part.part
    if part == ANY:
        return NOTHING
    if part == NOTHING:
        return ANY
    described = _over_one_class(part)
    if described is not None and described[0] == ALL:
        return either(
            length(0, described[1] - 1) if described[1] else NOTHING,
            NOTHING if described[2] is None else length(described[2] + 1, None),
        )
    return Complement(part)


def length(minimum: int, maximum: int | None) -> Regex:
    """Build the language of all strings of `minimum` to `maximum` code points."""
    if maximum is not None and maximum < max(minimum, 0):
        return NOTHING
    return repeat(_ANY_CHAR, max(minimum, 0), maximum)


def _one_or(parts: list[Regex], none: Regex, kind: type[Concat | Union | Intersection]) -> Regex:
    if not parts:
        return none
    return parts[0] if len(parts) == 1 else kind(tuple(parts))
