"""The smart constructors of regular languages.

They keep a normal form, in which equal-looking languages compare equal and the usual combinations
(a character class with a length, an enumeration less one of its members) become simple. Must not
know: the syntax of patterns, JSON, engines.
"""

from __future__ import annotations

from dataclasses import dataclass

from enforcer.regex.charset import ALL, EMPTY, CharSet
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Regex,
    Repeat,
    Union,
)

EPSILON = Literal("")
NOTHING = Chars(EMPTY)
_ANY_CHAR = Chars(ALL)
ANY = Repeat(_ANY_CHAR, 0, None)


def literal(text: str) -> Regex:
    """Build the language of one string; of none if it holds a lone surrogate."""
    return Literal(text) if text.isascii() or all(c in ALL for c in text) else NOTHING


def marker(number: int) -> Regex:
    """Build the language of one marker, a token id beside texts, as a surrogate.

    It may be a part of concatenations and unions, but not be united with `ANY`, which does not
    have it; nor do complements.
    """
    return Literal(chr(0xD800 + number))


def chars(members: CharSet) -> Regex:
    """Build the language of the one-character strings of a set."""
    return Literal(members.first) if len(members) == 1 else Chars(members)


def concat(*parts: Regex) -> Regex:
    """Build the language of one member of each part in sequence."""
    flat: list[Regex] = []
    texts: list[str] = []
    for part in parts:
        if part == NOTHING:
            return NOTHING
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if isinstance(piece, Literal):
                texts.append(piece.text)
                continue
            if text := "".join(texts):
                flat.append(Literal(text))
            texts.clear()
            if flat and (fused := _fuse(flat[-1], piece)) is not None:
                flat[-1] = fused
            else:
                flat.append(piece)
    if text := "".join(texts):
        flat.append(Literal(text))
    return _one_or(flat, EPSILON, Concat)


def _fuse(left: Regex, right: Regex) -> Regex | None:
    """Join two neighbours that repeat the same part; None if they do not."""
    if not isinstance(left, Repeat | Chars) or not isinstance(right, Repeat | Chars):
        return None
    base, low, high = _counts(left)
    other, least, most = _counts(right)
    if base != other:
        return None
    return repeat(base, low + least, None if high is None or most is None else high + most)


def _counts(part: Repeat | Chars) -> tuple[Regex, int, int | None]:
    return (part, 1, 1) if isinstance(part, Chars) else (part.part, part.minimum, part.maximum)


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
    if isinstance(part, Repeat) and _touch(part.minimum, part.maximum, minimum, maximum):
        ends = None if part.maximum is None or maximum is None else part.maximum * maximum
        return repeat(part.part, part.minimum * minimum, ends)
    if (minimum, maximum) == (0, 1) and part.nullable:
        return part
    return Repeat(part, minimum, maximum)


def _touch(least: int, most: int | None, minimum: int, maximum: int | None) -> bool:
    """Return whether `(x{least,most}){minimum,maximum}` takes every count between its ends.

    One repeat is better then: a text has many ways through two, all of which are followed.
    """
    if minimum == maximum:
        return True
    # The widest gap is that between the fewest repetitions and one more.
    last = 0 if minimum == 0 else most if most is None else minimum * most
    return last is None or (minimum + 1) * least <= last + 1


def either(*parts: Regex) -> Regex:
    """Build the union; of nothing, `NOTHING`."""
    if _oppose(parts):
        return ANY
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
    merged = _merge_counts(list(rest), empty=empty)
    if ANY in merged:
        return ANY
    union = _one_or(merged, NOTHING, Union)
    return union if not empty or union.nullable else _optional(union)


def _merge_counts(parts: list[Regex], *, empty: bool) -> list[Regex]:
    """Join repeats of one part whose counts touch: with the empty string, `x+` is `x*`."""
    spans: dict[Regex, list[tuple[int, int | None]]] = {}
    for part in parts:
        if isinstance(part, Repeat):
            spans.setdefault(part.part, []).append((part.minimum, part.maximum))
    if not spans:
        return parts
    out = []
    for part in parts:
        if part in spans:
            spans[part].append((1, 1))
        elif not isinstance(part, Repeat):
            out.append(part)
    for base, counts in spans.items():
        merged: list[tuple[int, int | None]] = [(0, 0)] if empty else []
        for low, high in sorted(counts, key=lambda span: span[0]):
            last = merged[-1][1] if merged else -2
            if last is None:
                break
            if last + 1 < low:
                merged.append((low, high))
            else:
                merged[-1] = (merged[-1][0], None if high is None else max(last, high))
        out += [repeat(base, low, high) for low, high in merged if high != 0]
    return out


def _optional(part: Regex) -> Regex:
    return EPSILON if part == NOTHING else repeat(part, 0, 1)


def both(*parts: Regex) -> Regex:
    """Build the intersection; of nothing, `ANY`."""
    if _oppose(parts):
        return NOTHING
    excluded: list[Regex] = []
    run = _EVERY_STRING
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
        elif (counted := _run(part)) is not None:
            run = run.meet(counted)
        else:
            rest[part] = None
    if run != _EVERY_STRING and not any(run.holds_all_of(p) for p in rest):
        rest[run.regex()] = None
    if NOTHING in rest:
        return NOTHING
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


def _oppose(parts: tuple[Regex, ...]) -> bool:
    """Return whether one of the parts is plainly the complement of another."""
    negated = [p.part for p in parts if isinstance(p, Complement)]
    return bool(negated) and not set(negated).isdisjoint(parts)


@dataclass(frozen=True, slots=True)
class _Run:
    """`[...]{m,n}`: such languages meet exactly, since they only classify and count."""

    members: CharSet
    minimum: int
    maximum: int | None

    def meet(self, other: _Run) -> _Run:
        ends = [end for end in (self.maximum, other.maximum) if end is not None]
        return _Run(
            self.members & other.members,
            max(self.minimum, other.minimum),
            min(ends, default=None),
        )

    def regex(self) -> Regex:
        if self.maximum is not None and self.maximum < self.minimum:
            return NOTHING
        return repeat(chars(self.members), self.minimum, self.maximum)

    def holds_all_of(self, part: Regex) -> bool:
        """Return whether this bounds length alone and surely holds all of another language."""
        if self.members != ALL or part.shortest < self.minimum:
            return False
        return self.maximum is None or (part.longest is not None and part.longest <= self.maximum)


_EVERY_STRING = _Run(ALL, 0, None)


def _run(part: Regex) -> _Run | None:
    """Read an expression as a run; None if it is none."""
    inner: Regex = part
    minimum: int = 1
    maximum: int | None = 1
    if isinstance(part, Repeat):
        inner, minimum, maximum = part.part, part.minimum, part.maximum
    if isinstance(inner, Chars):
        return _Run(inner.chars, minimum, maximum)
    if isinstance(inner, Literal) and len(inner.text) == 1:
        return _Run(CharSet.span(inner.text), minimum, maximum)
    return None


def inverse(part: Regex) -> Regex:
    """Build the complement with respect to all strings of scalar values."""
    if isinstance(part, Complement):
        return part.part
    if part == ANY:
        return NOTHING
    if part == NOTHING:
        return ANY
    if part == EPSILON:
        return length(1, None)
    run = _run(part)
    if run is not None and run.members == ALL:
        if run.maximum is None:
            return length(0, run.minimum - 1)
        if run.minimum == 0:
            return length(run.maximum + 1, None)
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
