"""The strings that an array has so far, or the names of an object, and which new ones remain.

A prefix is *spent* if every string of the language that begins with it is there already; to write
it would be a dead end. The shortest spent prefixes are kept. Whenever a string is added, only its
own prefixes can have become spent, and if one is not, neither is any shorter one. Of any other text
it is known whether a spent prefix begins it; so telling takes as long, however many strings
there are.

A text may have ten thousand elements, and each place of it a memory of its own. So all places of
one array share a list of its elements, and each knows how many entries are its own. The last
element of a place enters the list only when another follows, as most places are only tried.

Owns: the strings and the spent prefixes of one array or object. Must not know: texts around the
element, ids.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from enforcer.regex import ANY, RegexBudget, finite_members
from enforcer.regex.caching import cached
from enforcer.regex.charset import CharSet, union
from enforcer.regex.derivative import derivative
from enforcer.schema.finishing.infinite import is_vast, moves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines.distinct.persistent_text import PersistentText
    from enforcer.partial import Partial
    from enforcer.regex import Regex

# Elements above which each next one counts as the one that may be the last.
_MANY = 1_000
_LONG = 500  # characters of an element with which it is tried out what takes time
_BLOCK = 64  # characters, behind each of which it is remembered what may follow


class _Elements:
    """The elements of one array, of one text that goes on and back: there is one tip at a time.

    Attributes:
        order: the elements, and what became spent with each, if anything did.
        at: where in that order an element is.
        spent: where a beginning became spent; by what is before its last character, and that.
        blocks: the last text that was asked for, in pieces, and what may follow each of them.

    """

    __slots__ = ("at", "blocks", "order", "spent")

    def __init__(self) -> None:
        self.order: list[tuple[str, str | None]] = []
        self.at: dict[str, int] = {}
        self.spent: dict[str, dict[str, int]] = {}
        self.blocks: list[tuple[str, Regex]] = []

    def behind(self, language: Regex, text: str) -> Regex:
        """Give what may follow a text.

        Each mask tries a few ends of the element at hand, which may be long.
        """
        state = language
        for index, (block, after) in enumerate(self.blocks):
            if not text.startswith(block, index * _BLOCK):
                del self.blocks[index:]
                break
            state = after
        for at in range(len(self.blocks) * _BLOCK, len(text), _BLOCK):
            block = text[at : at + _BLOCK]
            for char in block:
                state = derivative(state, char)
            if len(block) == _BLOCK:
                self.blocks.append((block, state))
        return state

    def put(self, text: str, spent: str | None, at: int) -> None:
        """Have an element at a place, and none behind it that stood there before."""
        if len(self.order) > at:
            if self.order[at][0] == text:
                return
            for gone, start in self.order[at:]:
                del self.at[gone]
                if start is not None:
                    del self.spent[start[:-1]][start[-1:]]
            del self.order[at:]
        self.order.append((text, spent))
        self.at[text] = at
        if spent is not None:
            self.spent.setdefault(spent[:-1], {})[spent[-1:]] = at


class SeenStrings:
    """What one array or object holds; iterates over its elements.

    Those of a text that has gone back may be asked no more.
    """

    __slots__ = (
        *("_count", "_elements", "_is_known", "_language", "_last", "_size", "_spent_last"),
        "longest",
    )

    def __init__(self, language: Regex) -> None:
        self._language = language
        self._size = _size(language)
        self._elements = _Elements()
        self._count = 0  # of the shared elements
        self._last: str | None = None
        self.longest = -1  # characters of the longest element
        # What became spent with the last element; found out when it is first asked for.
        self._spent_last: str | None = None
        self._is_known = True

    def __len__(self) -> int:
        return self._count + (self._last is not None)

    def __iter__(self) -> Iterator[str]:
        yield from (text for text, _ in islice(self._elements.order, self._count))
        if self._last is not None:
            yield self._last

    def __contains__(self, text: str) -> bool:
        return text == self._last or self._elements.at.get(text, self._count) < self._count

    @property
    def is_full(self) -> bool:
        """Whether no other element can follow."""
        return self._may_be_full and self._is_spent("")

    @property
    def _may_be_full(self) -> bool:
        return self._size is not None and len(self) >= self._size

    @property
    def may_fill_up(self) -> bool:
        """Whether the next element may be the last that there is."""
        return self._size is not None and len(self) + 1 >= self._size

    def with_element(self, text: str) -> SeenStrings:
        """Return the memory with one element more."""
        after = SeenStrings(self._language)
        after._elements, after._count = self._elements, len(self)
        if self._last is not None:
            self._elements.put(self._last, self._newly_spent(), self._count)
        after._last, after.longest = text, max(self.longest, len(text))
        # Of any strings, nothing is ever spent.
        after._spent_last, after._is_known = None, self._language == ANY
        return after

    @property
    def spent(self) -> Iterator[str]:
        """The shortest spent beginnings of elements, some longer ones among them."""
        if self._language == ANY:
            return
        for _, start in islice(self._elements.order, self._count):
            if start is not None:
                yield start
        newly = self._newly_spent()
        if newly is not None:
            yield newly

    @property
    def may_spend(self) -> bool:
        """Whether there are so few strings that an element may leave a beginning without any."""
        return self._size is not None

    def _newly_spent(self) -> str | None:
        """Give the shortest beginning of the last element that is spent, if one is."""
        if not self._is_known:
            self._spent_last, self._is_known = self._found_spent(), True
        return self._spent_last

    def _found_spent(self) -> str | None:
        text = self._last or ""
        ahead = _living(self._elements.behind(self._language, text))
        if len(self._closed(text)) < len(ahead):
            return None  # as it is of nearly all
        states = [self._language]
        for char in text:
            states.append(derivative(states[-1], char))
        found = None
        for end in range(len(text), -1, -1):
            start = text[:end]
            if states[end].nullable and start not in self:
                break
            # Its own next character leads to what is spent, and so do some others; each of them
            # is one that the language goes on with.
            closed = len(self._closed(start)) + (end < len(text))
            if closed < len(_living(states[end])):
                break
            found = start
        return found

    def _closed(self, start: str) -> list[str]:
        """List the characters behind a beginning that lead to what was spent before."""
        known = self._elements.spent.get(start, {})
        return [char for char, at in known.items() if at < self._count]

    def _is_spent(self, start: str) -> bool:
        known = self._elements.spent.get(start[:-1])
        if known is not None and known.get(start[-1:], self._count) < self._count:
            return True
        return start == self._newly_spent()

    def is_spent(self, written: PersistentText) -> bool:
        """Tell whether what has been written is one of the shortest spent beginnings."""
        if self._language == ANY or written.length > self.longest:
            return False
        return self._is_spent(written.whole())

    def leads_on(self, written: PersistentText, partial: Partial) -> bool:
        """Tell whether a beginning with a part of a character can become another element.

        Only what is spent tells it not to: whether the language goes on so is not asked here.
        """
        if self._language == ANY or written.length >= self.longest:
            return True
        text = written.whole()
        known = self._elements.spent.get(text, {})
        ends = {char for char, at in known.items() if at < self._count and char}
        newly = self._newly_spent()
        if newly and newly[:-1] == text:
            ends.add(newly[-1])
        if not ends:
            return True
        state = self._language
        for char in text:
            state = derivative(state, char)
        return bool(_living(state) & partial.characters & ~CharSet.span(*ends))


def _living(language: Regex) -> CharSet:
    """Give the characters with which a language goes on to a member."""
    return union([members for members, _ in moves(language)])


def prepare(language: Regex) -> None:
    """Work out, while nobody waits, what the first of finitely many elements would take."""
    if _size(language) is not None:
        state, text = language, ""
        while not state.nullable and len(text) < _LONG and (ahead := _living(state)):
            text += ahead.first
            state = derivative(state, ahead.first)
        if state.nullable:
            _ = next(SeenStrings(language).with_element(text).spent, None)


@cached
def _size(language: Regex) -> int | None:
    """Count the members of a language, or some of them; None if no text comes to an end of them.

    Of more than a thousand it is only said that they are as many as that.
    """
    if is_vast(language):
        return None
    try:
        members = finite_members(language, _MANY)
    except RegexBudget:
        return 0
    return _MANY if members is None else len(members)
