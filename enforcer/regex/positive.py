"""Languages with complements, rewritten without complements where an engine could not follow them.

To know that some text can still follow, an engine that derives expressions explores all that may.
With `~(-- somewhere)` beside a count these are the products of each count with each state of the
complement; a large complement is too much by itself. Written as an expression without a complement,
the same language costs little.

Owns: which complements are rewritten. Must not know: how expressions are spelled.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, TypeGuard

from enforcer.regex.caching import cached
from enforcer.regex.charset import ALL, CharSet, partition, union
from enforcer.regex.constructors import (
    NOTHING,
    both,
    concat,
    either,
    inverse,
    length,
    repeat,
)
from enforcer.regex.derivative import closure, derivative, first_classes
from enforcer.regex.elimination import Automaton, TooLargeError, to_regex
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Named,
    Regex,
    Repeat,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STATES = 80
_STATES_SIZE = 100_000  # of all their expressions; bounds the time, to some 0.1 s
_SIZE = 20_000  # of what is written instead
_SIZE_PER_STEP = 10
# What llguidance follows for a token, measured by the fuel that it takes, grows with these.
_LARGE_COUNT = 12
_LARGE_COMPLEMENT = 2_000
_MANY_LETTERS = 1_000
_STEPS = 3
_ALTERNATIVES = 64


def positive(regex: Regex, spend: Callable[[int], None]) -> Regex:
    """Return the same language, without complements if an engine might not follow them.

    Complements of finitely many texts stay, which engines have no trouble with unless they are
    all of some lengths, and those that only a large automaton says: see `entangled`.

    Args:
        regex: the language.
        spend: told of steps of work, before or after they are done; may raise.

    """
    return _positive(regex, spend) if _is_heavy(regex) else regex


def entangled(regex: Regex) -> frozenset[Regex]:
    """Return the complements for which an engine cannot follow what `positive` returned.

    They are those that it could not write, where texts may hold about any character: among
    few characters the search for a member ends soon, and so it does where what is not to
    match begins in some way that most texts do not.
    """
    if not _is_heavy(regex):
        return frozenset()
    left = frozenset(each for each in _left(regex) if _may_begin_late(inverse(each)))
    return left if left and len(_letters(regex)) > _MANY_LETTERS else frozenset()


def unwritten(regex: Regex, spend: Callable[[int], None]) -> frozenset[Regex]:
    """Return the complements that cannot be written without one; see `positive`."""
    return frozenset(_left(_positive(regex, spend)))


def loosened(regex: Regex) -> Regex:
    """Return the language without the complements of endlessly many texts."""
    return _mapped(regex, lambda removed: _split(removed)[0])


def _may_begin_late(removed: Regex) -> bool:
    """Tell whether about any characters may stand at the start, or after the first one."""
    starts = [removed, *(derivative(removed, c.first) for c in first_classes(removed))]
    return any(map(_goes_on, starts))


def _goes_on(regex: Regex) -> bool:
    for _ in range(_STEPS):
        regex = derivative(regex, max(first_classes(regex), key=len).first)
    return regex != NOTHING


def _is_heavy(regex: Regex) -> bool:
    """Tell whether complements stand beside large counts, hold some, or are large."""
    return regex.boolean and (
        _greatest_count(regex) > _LARGE_COUNT
        or sum(each.size for each in _left(regex)) > _LARGE_COMPLEMENT
    )


def _greatest_count(regex: Regex) -> int:
    """Return the greatest number that an expression counts to."""
    inside = max(map(_greatest_count, _children(regex)), default=0)
    if isinstance(regex, Repeat):
        return max(regex.minimum, regex.maximum or 0) * max(inside, 1)
    return inside


def _left(regex: Regex) -> list[Regex]:
    """List the complements of endlessly many texts."""
    if isinstance(regex, Complement):
        return [inverse(each) for each in _split(regex.part)[1]]
    return [each for part in _children(regex) for each in _left(part)] if regex.boolean else []


def _split(removed: Regex) -> tuple[Regex, list[Regex]]:
    """Return the complement of the finitely many texts, and what else is removed."""
    parts = removed.parts if isinstance(removed, Union) else (removed,)
    endless = [part for part in parts if part.longest is None or part.boolean]
    lengths = [part for part in parts if _is_length(part)]
    finite = [part for part in parts if part not in endless and part not in lengths]
    return both(inverse(either(*finite)), *map(_other_lengths, lengths)), endless


def _is_length(regex: Regex) -> TypeGuard[Repeat]:
    """Tell whether an expression is all texts of so many characters."""
    return isinstance(regex, Repeat) and regex.part == Chars(ALL) and regex.maximum is not None


def _other_lengths(regex: Repeat) -> Regex:
    """Return the complement of all texts of so many characters, said without one.

    It takes a thirtieth of the steps beside undeclared names, where texts may be of any length.
    """
    longer = length((regex.maximum or 0) + 1, None)
    return either(length(0, regex.minimum - 1), longer)


def _letters(regex: Regex) -> CharSet:
    """Return a set that holds every character of every member."""
    if isinstance(regex, Literal):
        return CharSet.span(*regex.text)
    if isinstance(regex, Chars):
        return regex.chars
    if isinstance(regex, Complement | Named):
        return ALL
    parts = map(_letters, _children(regex))
    if isinstance(regex, Intersection):
        return reduce(CharSet.__and__, parts)
    return union(list(parts))


def _children(regex: Regex) -> tuple[Regex, ...]:
    if isinstance(regex, Concat | Union | Intersection):
        return regex.parts
    return (regex.part,) if isinstance(regex, Repeat | Complement) else ()


def _positive(regex: Regex, spend: Callable[[int], None]) -> Regex:
    return _mapped(regex, lambda removed: both(*_without(removed, spend)))


def _mapped(regex: Regex, complement: Callable[[Regex], Regex]) -> Regex:
    """Put something in place of every complement, given what it removes."""
    if not regex.boolean or isinstance(regex, Named):
        return regex
    if isinstance(regex, Complement):
        return complement(regex.part)
    parts = [_mapped(part, complement) for part in _children(regex)]
    if isinstance(regex, Intersection):
        return both(*parts)
    if isinstance(regex, Union):
        return either(*parts)
    if isinstance(regex, Repeat):
        return repeat(parts[0], regex.minimum, regex.maximum)
    return concat(*parts)


def _without(removed: Regex, spend: Callable[[int], None]) -> list[Regex]:
    """List languages whose intersection is the complement."""
    texts, endless = _split(removed)
    if not endless:
        return [texts]
    together = _written(either(*endless), spend)
    if together is not None:
        return [texts, together]
    alone = [each for part in endless for each in _alternatives(part)]
    return [texts, *_grouped(alone, spend)]


def _grouped(alternatives: list[Regex], spend: Callable[[int], None]) -> list[Regex]:
    """List the complements of neighbours together, as many at a time as make one small one."""
    groups: list[Regex] = []
    found: list[Regex] = []
    for part in alternatives:
        wider = _written(either(groups[-1], part), spend) if groups else None
        if wider is None:
            groups.append(part)
            found.append(_written(part, spend) or inverse(part))
        else:
            groups[-1] = either(groups[-1], part)
            found[-1] = wider
    return found


def _alternatives(regex: Regex) -> list[Regex]:
    """Split `.*(a|b).*` into `.*a.*` and `.*b.*`."""
    if not isinstance(regex, Concat):
        return [regex]
    for at, part in enumerate(regex.parts):
        if isinstance(part, Union) and len(part.parts) <= _ALTERNATIVES:
            before, after = regex.parts[:at], regex.parts[at + 1 :]
            return [concat(*before, each, *after) for each in part.parts]
    return [regex]


def _written(removed: Regex, spend: Callable[[int], None]) -> Regex | None:
    """Write the complement by an automaton; None if that would be large."""
    found, steps = _tried(removed)
    spend(steps)  # as many if it was known, so that what is refused does not depend on it
    return found


@cached
def _tried(removed: Regex) -> tuple[Regex | None, int]:
    automaton, size = _automaton(inverse(removed))
    steps = size // _SIZE_PER_STEP
    if automaton is None:
        return None, steps
    try:
        found = to_regex(automaton)
    except TooLargeError:
        return None, steps
    return (found if found.size <= _SIZE else None), steps + found.size // _SIZE_PER_STEP


def _automaton(regex: Regex) -> tuple[Automaton | None, int]:
    """Derive an automaton, None if it is large, and the size of all its expressions."""
    size = regex.size

    def admit(after: Regex, before: int) -> None:
        nonlocal size
        size += after.size
        if before >= _STATES or size > _STATES_SIZE:
            raise TooLargeError

    try:
        states, rows = closure(regex, _every_move, admit)
    except TooLargeError:
        return None, size
    letters = partition(dict.fromkeys(members for row in rows for members, _ in row))
    edges = tuple(
        tuple(next(to for members, to in row if letter.first in members) for letter in letters)
        for row in rows
    )
    return Automaton(letters, edges, tuple(state.nullable for state in states)), size


def _every_move(regex: Regex) -> Iterator[tuple[CharSet, Regex]]:
    """Yield moves to where nothing follows as well: the automaton is to be complete."""
    return ((members, derivative(regex, members.first)) for members in first_classes(regex))
