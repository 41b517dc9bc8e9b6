"""Questions about regular languages, answered by Brzozowski's derivatives (1964).

The questions are matching, emptiness, shortest members, members of finite languages, growth. Each
explores derivatives and stops at a budget. The determiniser (`automata`) answers the same ones in
twice the time: it partitions all characters of a language first, where a derivative asks only for
those at the next position. Must not know: patterns, JSON.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError
from enforcer.regex.charset import ALL, CharSet, partition
from enforcer.regex.constructors import EPSILON, NOTHING, both, concat, either, inverse, repeat
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Regex,
    Repeat,
    State,
    Union,
    transitions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BUDGET = 10_000
_SIZE_PER_STATE = 500
_STEPS_OF_GROWTH = 64
_LARGE = 1_000  # size of a language whose derivatives are not cached


class RegexBudget(EnforcerError):  # noqa: N818 - named for what ran out
    """A question about a language takes more states than its budget.

    Attributes:
        budget: the number of states that were explored.

    """

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.budget = budget

    def __str__(self) -> str:
        return (
            f"the regular expression needs more than {self.budget} states to decide; "
            "write a simpler pattern, or fewer of them on one string"
        )


def derivative(regex: Regex, char: str) -> Regex:
    """Build the derivative: the rests of the members that start with `char`."""
    # Thousands of large languages must not fill the cache; most of their parts are small.
    return _derived(regex, char) if regex.size > _LARGE else _memoized(regex, char)


@lru_cache(maxsize=4_096)
def _memoized(regex: Regex, char: str) -> Regex:
    return _derived(regex, char)


def _derived(regex: Regex, char: str) -> Regex:
    """Compute the derivative of an expression by a character."""
    if isinstance(regex, Literal):
        return Literal(regex.text[1:]) if regex.text[:1] == char else NOTHING
    if isinstance(regex, Chars):
        return EPSILON if char in regex.chars else NOTHING
    if isinstance(regex, Repeat):
        most = None if regex.maximum is None else regex.maximum - 1
        rest = repeat(regex.part, max(regex.minimum - 1, 0), most)
        return concat(derivative(regex.part, char), rest)
    if isinstance(regex, Union):
        return either(*_live(_of_part(p, char) for p in regex.parts))
    if isinstance(regex, Intersection):
        return both(*(derivative(p, char) for p in regex.parts))
    if isinstance(regex, Complement):
        return inverse(derivative(regex.part, char))
    if isinstance(regex, Concat):
        choices = []
        for at, part in enumerate(regex.parts):
            choices.append(concat(derivative(part, char), *regex.parts[at + 1 :]))
            if not part.nullable:
                break
        return either(*_live(choices))
    if isinstance(regex, State):
        return next((to for members, to in transitions(regex) if char in members), NOTHING)
    raise TypeError(f"not a regular expression: {regex!r}")


def _of_part(part: Regex, char: str) -> Regex:
    """Build a part's derivative; a union of thousands of texts must not fill the cache."""
    if isinstance(part, Literal):
        return Literal(part.text[1:]) if part.text[:1] == char else NOTHING
    return derivative(part, char)


def _live(parts: Iterable[Regex]) -> list[Regex]:
    return [p for p in parts if p is not NOTHING]


def fullmatch(regex: Regex, text: str) -> bool:
    """Return whether the whole text is a member; never, if it holds a lone surrogate."""
    if not regex.boolean:
        if len(text) < regex.shortest or (regex.longest is not None and len(text) > regex.longest):
            return False
        if isinstance(regex, Literal):
            return regex.text == text
    for char in text:
        if char not in ALL:
            return False
        regex = derivative(regex, char)
        if regex == NOTHING:
            return False
    return regex.nullable


def intersection(*parts: Regex) -> Regex:
    """Build the intersection; beside a finite union of texts, it is decided text by text."""
    met = both(*parts)
    if not isinstance(met, Intersection):
        return met
    for part in met.parts:
        texts = _texts(part)
        if texts is not None:
            others = [p for p in met.parts if p is not part]
            return either(*(t for t in texts if all(fullmatch(p, t.text) for p in others)))
    return met


def _texts(regex: Regex) -> list[Literal] | None:
    """List the texts of a union of texts; None for any other kind."""
    parts = regex.parts if isinstance(regex, Union) else (regex,)
    texts = [part for part in parts if isinstance(part, Literal)]
    return texts if len(texts) == len(parts) else None


def first_classes(regex: Regex) -> tuple[CharSet, ...]:
    """Partition all characters so that members of one class have equal derivatives."""
    return partition(_first_sets(regex))


def _first_sets(regex: Regex) -> dict[CharSet, None]:
    """Collect the sets that the next character is compared with."""
    found: dict[CharSet, None] = {}
    heads: set[str] = set()
    pending = [regex]
    while pending:
        part = pending.pop()
        if isinstance(part, Literal):
            heads.update(part.text[:1])
        elif isinstance(part, Chars):
            found[part.chars] = None
        elif isinstance(part, Repeat | Complement):
            pending.append(part.part)
        elif isinstance(part, Union | Intersection):
            pending.extend(part.parts)
        elif isinstance(part, Concat):
            for piece in part.parts:
                pending.append(piece)
                if not piece.nullable:
                    break
        elif isinstance(part, State):
            found.update((members, None) for members, _ in transitions(part))
    return found | {CharSet.span(c): None for c in sorted(heads)}


def successors(regex: Regex) -> Iterator[tuple[CharSet, Regex]]:
    """Yield each class of next characters with its derivative, without empty ones."""
    for members in first_classes(regex):
        following = derivative(regex, members.first)
        if following != NOTHING:
            yield members, following


def is_empty(
    regex: Regex, *, budget: int = BUDGET, pay: Callable[[int], None] | None = None
) -> bool:
    """Return whether the language has no member.

    Args:
        regex: the language.
        budget: states to explore at most; a large one counts as several (`_effort`).
        pay: called for each explored state with the total size of its derivatives.

    Raises:
        RegexBudget: more than `budget` states would have to be explored.

    """
    if not regex.boolean:
        return regex == NOTHING
    seen = {regex}
    spent = 0
    # Nearest to a member first, by the bound: to find one is the usual case.
    frontier = [(regex.shortest, 0, regex)]
    while frontier:
        _, _, state = heappop(frontier)
        if state.nullable:
            return False
        spent += _effort(state)
        if spent > budget:
            raise RegexBudget(budget)
        size = 0
        for _, after in successors(state):
            size += after.size
            if after not in seen:
                seen.add(after)
                heappush(frontier, (after.shortest, len(seen), after))
        if pay is not None:
            pay(size)
    return True


def is_surely_empty(
    regex: Regex, *, budget: int = BUDGET, pay: Callable[[int], None] | None = None
) -> bool:
    """Return whether the language has no member; False if that takes too many states."""
    try:
        return is_empty(regex, budget=budget, pay=pay)
    except RegexBudget:
        return False


def example(regex: Regex, *, budget: int = BUDGET) -> str | None:
    """Find a shortest member, preferring printable characters; None if there is none.

    Raises:
        RegexBudget: more than `budget` states would have to be explored.

    """
    seen = {regex}
    spent = 0
    level = [(regex, "")]
    while level:
        for state, text in level:
            if state.nullable:
                return text
        following = []
        for state, text in level:
            spent += _effort(state)
            if spent > budget:
                raise RegexBudget(budget)
            for members, after in successors(state):
                if after not in seen:
                    seen.add(after)
                    following.append((after, text + readable(members)))
        level = following
    return None


def _effort(state: Regex) -> int:
    """Weigh a state: large ones count as several, so that a budget bounds time as well."""
    return 1 + state.size // _SIZE_PER_STATE


def readable(members: CharSet) -> str:
    """Choose a member: a letter, a digit or another printed character, if there is one."""
    for span in (("a", "z"), ("0", "9"), (" ", "~")):
        if common := members & CharSet.span("".join(span)):
            return common.first
    return members.first


def growth(regex: Regex, *, budget: int) -> int:
    """Return the sum of the sizes of derivatives, going on with the largest, for at most 64 steps.

    Return 0 where no count stands inside a count. Elsewhere a text may be cut in many ways, all of
    which are followed: the sum grows with the square of the length, or worse.

    Args:
        regex: the language.
        budget: the first sum above it ends the work, and is returned.

    """
    if not _counts_inside_counts(regex):
        return 0
    spent = 0
    for _ in range(_STEPS_OF_GROWTH):
        largest: Regex = NOTHING
        for _, after in successors(regex):
            spent += after.size
            if spent > budget:
                return spent
            if after.size > largest.size:
                largest = after
        regex = largest
    return spent


def _counts_inside_counts(regex: Regex) -> bool:
    """Return whether a counted part of varying length has a counted part inside."""
    pending = [(regex, False)]
    while pending:
        part, counted = pending.pop()
        if isinstance(part, Repeat):
            varies = part.part.shortest != part.part.longest
            counts = (part.maximum is not None and part.maximum > 1) or part.minimum > 1
            if counts and counted:
                return True
            pending.append((part.part, counted or (counts and varies)))
        elif isinstance(part, Complement):
            pending.append((part.part, counted))
        elif isinstance(part, Concat | Union | Intersection):
            pending += [(each, counted) for each in part.parts]
    return False


def finite_members(regex: Regex, limit: int, *, budget: int = BUDGET) -> tuple[str, ...] | None:
    """List all members in order of length; None if there are more than `limit`.

    Raises:
        RegexBudget: more than `budget` states would have to be explored.

    """
    if not regex.boolean and regex.longest is None and regex != NOTHING:
        return None
    if (texts := _texts(regex)) is not None:
        listed = sorted((t.text for t in texts), key=lambda text: (len(text), text))
        return tuple(listed) if len(listed) <= limit else None
    found: list[str] = []
    level = [(regex, "")]
    spent = 0
    while level:
        found.extend(text for state, text in level if state.nullable)
        if len(found) > limit:
            return None
        following: list[tuple[Regex, str]] = []
        for state, text in level:
            spent += _effort(state)
            if spent > budget:
                raise RegexBudget(budget)
            for members, after in successors(state):
                if is_empty(after, budget=budget):
                    continue
                if len(following) + len(members) > max(limit, 1):
                    return None  # every live prefix is the start of a member of its own
                following.extend((after, text + char) for char in members)
        level = following
    return tuple(found)
