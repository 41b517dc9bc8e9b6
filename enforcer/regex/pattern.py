r"""The syntax of patterns: text to a tree that still has its assertions.

Owns: ECMA-262's pattern syntax in Unicode mode, with what schemas in the wild
take from Annex B and from Python. Where the two languages read one construct
differently, both readings are kept in the tree (`Readings`, `Disputed`); where a
construct exists in one only, that one is meant. Chosen among conflicting ones:

- `\A`, `\Z`, `(?P<n>...)`, `(?#...)`, a leading `(?ims)`, `x{,n}`: as in Python;
- `[]` (nothing) and `[^]` (everything), `\cX`, `\u{...}`, surrogate pairs: as in ECMA-262.

Must not know: languages; `assertions` gives the tree its meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING

from enforcer.regex.charset import (
    ANY_BUT_LINE_END,
    LAST,
    CharSet,
    Readings,
    digit,
    space,
    unicode_property,
    union,
    word,
)
from enforcer.regex.tree import (
    END,
    EVERY,
    FINISH,
    LINE_END,
    LINE_START,
    START,
    Alternation,
    Counted,
    Look,
    Node,
    One,
    RegexError,
    Sequence,
    boundary,
    no_boundary,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NESTING = 64
MAX_COUNT = 1_000_000


_ESCAPED_EDGES: dict[str, Callable[[], Node]] = {
    "b": boundary,
    "B": no_boundary,
    "A": lambda: START,
    "Z": lambda: FINISH,
}
_CLASSES: dict[str, Callable[[], Readings]] = {"d": digit, "w": word, "s": space}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_LOOKS = {"?=": (True, False), "?!": (True, True), "?<=": (False, False), "?<!": (False, True)}
_SAME_FOR_PYTHON = [
    CharSet.span(*same)
    for same in ("iI\u0130\u0131", "\u0390\u1fd3", "\u03b0\u1fe3", "\ufb05\ufb06")
]
_HEX = frozenset("0123456789abcdefABCDEF")
_FLAGS = frozenset("imsu")
_MAX_BRACED_DIGITS = 8
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)
_PROPERTY = re.compile(r"[A-Za-z_0-9]+(=[A-Za-z_0-9]+)?")
_BACKREFERENCE = (
    "backreferences and conditional groups describe no regular language; "
    "spell out the alternatives instead"
)


@dataclass(slots=True)
class _Group:
    """A group under construction."""

    position: int
    wrap: tuple[bool, bool] | None  # (ahead, negative) of a lookaround
    flags: frozenset[str]  # the flags to go back to when it closes
    done: list[Node]
    items: list[Node]

    def close(self) -> Node:
        self.done.append(_sequence(self.items))
        node = self.done[0] if len(self.done) == 1 else Alternation(tuple(self.done))
        return node if self.wrap is None else Look(node, *self.wrap, self.position)


def _sequence(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Sequence(tuple(items))


def read(pattern: str) -> Node:
    """Read a pattern.

    Raises:
        RegexError: it is malformed, or holds what no regular language can express.

    """
    return Reader(pattern).read()


class Reader:
    """One pass over a pattern, with an explicit stack in place of recursion."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._stack = [_Group(0, None, self._flags, [], [])]

    def read(self) -> Node:
        """Read the pattern."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if self._ignores(char):
                self._at += 1
            elif char == "(":
                self._open()
            elif char == ")":
                self._close()
            elif char == "|":
                self._at += 1
                group = self._stack[-1]
                group.done.append(_sequence(group.items))
                group.items = []
            else:
                self._quantify(self._atom(char))
        if len(self._stack) > 1:
            raise self._error("this group is never closed", self._stack[-1].position)
        return self._stack[0].close()

    def _ignores(self, char: str) -> bool:  # noqa: ARG002 - another syntax has comments
        return False

    def _error(self, reason: str, position: int | None = None) -> RegexError:
        return RegexError(self._text, self._at if position is None else position, reason)

    def _skip(self, token: str) -> bool:
        if self._text.startswith(token, self._at):
            self._at += len(token)
            return True
        return False

    # Groups

    def _open(self) -> None:
        start = self._at
        self._at += 1
        wrap = None
        flags = self._flags
        if self._text.startswith("?", self._at):
            if self._skip("?#"):
                self._through(")", start)
                return
            for token, look in _LOOKS.items():
                if self._skip(token):
                    wrap = look
                    break
            else:
                opened = self._extended(start)
                if opened is None:
                    return
                flags = opened
        if len(self._stack) > MAX_NESTING:
            raise self._error(f"groups are nested more than {MAX_NESTING} deep", start)
        self._stack.append(_Group(start, wrap, self._flags, [], []))
        self._flags = flags

    def _extended(self, start: int) -> frozenset[str] | None:
        """Read what follows `(?`: the flags inside the group, or None if it was flags alone."""
        if self._skip("?:"):
            return self._flags
        if self._skip("?P=") or self._skip("?("):
            raise self._error(_BACKREFERENCE, start)
        if self._skip("?>"):
            raise self._error("atomic groups are not supported; use `(?:...)`", start)
        if self._skip("?P<") or self._skip("?<"):
            if not self._through(">", start):
                raise self._error("this group has no name", start)
            return self._flags
        end = self._at + 1
        while end < len(self._text) and (self._text[end].isalpha() or self._text[end] == "-"):
            end += 1
        on, _, off = self._text[self._at + 1 : end].partition("-")
        if (
            end == self._at + 1
            or not _FLAGS.issuperset(on + off)
            or self._text[end : end + 1] not in (":", ")")
        ):
            raise self._error("this kind of group is not supported", start)
        flags = (self._flags | set(on)) - set(off)
        self._at = end + 1
        if self._text[end] == ":":
            return flags
        if start:
            raise self._error("flags for the whole pattern must stand at its start", start)
        self._flags = flags
        return None

    def _through(self, end: str, start: int) -> str:
        """Skip to behind `end`; the text before it."""
        at = self._text.find(end, self._at)
        if at < 0:
            raise self._error("this group is never closed", start)
        skipped, self._at = self._text[self._at : at], at + len(end)
        return skipped

    def _close(self) -> None:
        if len(self._stack) == 1:
            raise self._error("`)` closes no group")
        self._at += 1
        group = self._stack.pop()
        self._flags = group.flags
        self._quantify(group.close())

    # Quantifiers

    def _quantify(self, node: Node) -> None:
        start = self._at
        counts = self._counts()
        if counts is not None:
            minimum, maximum = counts
            if maximum is not None and maximum < minimum:
                raise self._error("the counts of this quantifier are in the wrong order", start)
            if max(minimum, maximum or 0) > MAX_COUNT:
                raise self._error(f"a count is over {MAX_COUNT}", start)
            self._skip("?")  # a lazy quantifier means the same language
            if self._text.startswith("+", self._at):
                raise self._error("possessive quantifiers are not supported")
            behind = self._at
            if self._text.startswith(("*", "+", "?"), behind) or self._counts() is not None:
                raise self._error("there is nothing to repeat before this quantifier", behind)
            node = Counted(node, minimum, maximum)
        self._stack[-1].items.append(node)

    def _counts(self) -> tuple[int, int | None] | None:
        """Read a quantifier if one stands here; a brace that is none is plain text."""
        for token, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(token):
                return counts
        if not self._text.startswith("{", self._at):
            return None
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if end < 0 or not (low + high).isdecimal() or not (low + high).isascii():
            return None
        if len(low + high) > 2 * len(str(MAX_COUNT)):
            raise self._error(f"a count is over {MAX_COUNT}")
        if not comma and not low:
            return None
        self._at = end + 1
        minimum = int(low or 0)
        return minimum, (int(high) if high else None) if comma else minimum

    # Atoms

    def _atom(self, char: str) -> Node:
        if char in "*+?":
            raise self._error("there is nothing to repeat before this quantifier")
        self._at += 1
        if char == "^":
            return LINE_START if "m" in self._flags else START
        if char == "$":
            return LINE_END if "m" in self._flags else END
        if char == ".":
            return EVERY if "s" in self._flags else One(ANY_BUT_LINE_END)
        if char == "[":
            return One(self._class())
        if char == "\\":
            start = self._at - 1
            if self._at == len(self._text):
                raise self._error("the pattern ends in a lone backslash", start)
            escaped = self._text[self._at]
            if edge := _ESCAPED_EDGES.get(escaped):
                self._at += 1
                return edge()
            if escaped in "123456789k":
                raise self._error(_BACKREFERENCE, start)
            return One(self._cased(_readings(self._escape(start))))
        return One(self._cased(_readings(ord(char))))

    def _cased(self, readings: Readings) -> Readings:
        if "i" not in self._flags:
            return readings
        return _ignoring_case(readings)

    def _class(self) -> Readings:
        start = self._at - 1
        negated = self._skip("^")
        spans: list[tuple[int, int]] = []
        sets: list[Readings] = []
        while not self._skip("]"):
            low = self._class_atom(start)
            dash = self._at
            ends = [low]
            if self._skip("-"):
                if self._text.startswith("]", self._at):
                    ends.append(ord("-"))
                else:
                    high = self._class_atom(start)
                    if isinstance(low, int) and isinstance(high, int):
                        if high < low:
                            raise self._error("the ends of this range are in the wrong order", dash)
                        spans.append((low, high))
                        continue
                    # Annex B: beside a class such as `\w`, the dash is a character.
                    ends += [high, ord("-")]
            spans.extend((end, end) for end in ends if isinstance(end, int))
            sets.extend(end for end in ends if isinstance(end, Readings))
        found = reduce(or_, dict.fromkeys(sets), Readings.same(CharSet.of(spans)))
        found = self._cased(found)
        return ~found if negated else found

    def _class_atom(self, start: int) -> int | Readings:
        if self._at == len(self._text):
            raise self._error("this character class is never closed", start)
        char = self._text[self._at]
        self._at += 1
        if char != "\\":
            return ord(char)
        if self._skip("b"):
            return ord("\b")
        return self._escape(self._at - 1)

    def _escape(self, start: int) -> int | Readings:
        """Read what follows a backslash: one character's code, or a set."""
        if self._at == len(self._text):
            raise self._error("the pattern ends in a lone backslash", start)
        char = self._text[self._at]
        self._at += 1
        if char.lower() in _CLASSES:
            return _class_escape(char)
        if char in "pP":
            return self._property(start, negated=char == "P")
        if char in _CONTROLS:
            return ord(_CONTROLS[char])
        if char == "x":
            return self._hex(2, start)
        if char == "u":
            return self._unicode(start)
        if char == "c":
            letter = self._text[self._at : self._at + 1]
            if not (letter.isascii() and letter.isalpha()):
                raise self._error("`\\c` must be followed by a letter", start)
            self._at += 1
            return ord(letter) % 32
        if char in "01234567":
            # Annex B and Python: up to three octal digits; no backreference gets here.
            end = self._at
            while end < self._at + 2 and self._text[end : end + 1] in tuple("01234567"):
                end += 1
            code = int(self._text[self._at - 1 : end], 8)
            self._at = end
            return code
        if char.isascii() and char.isalnum():
            raise self._error(f"`\\{char}` is no known escape", start)
        return ord(char)

    def _hex(self, digits: int, start: int) -> int:
        text = self._text[self._at : self._at + digits]
        if len(text) < digits or not _HEX.issuperset(text):
            raise self._error(f"this escape needs {digits} hexadecimal digits", start)
        self._at += digits
        return int(text, 16)

    def _unicode(self, start: int) -> int:
        if self._skip("{"):
            digits = self._through("}", start)
            if not 0 < len(digits) <= _MAX_BRACED_DIGITS or not _HEX.issuperset(digits):
                raise self._error("`\\u{...}` needs hexadecimal digits", start)
            if int(digits, 16) > LAST:
                raise self._error("`\\u{...}` is beyond U+10FFFF", start)
            return int(digits, 16)
        code = self._hex(4, start)
        if code in _HIGH and self._text.startswith("\\u", self._at):
            behind = self._at
            self._at += 2
            if not self._text.startswith("{", self._at):
                low = self._hex(4, behind)
                if low in _LOW:
                    return 0x10000 + ((code - _HIGH[0]) << 10) + (low - _LOW[0])
            self._at = behind
        return code

    def _property(self, start: int, *, negated: bool) -> Readings:
        if self._skip("{"):
            name = self._through("}", start)
        else:  # `\pL` is neither language's, but other engines'
            name = self._text[self._at : self._at + 1]
            self._at += 1
        if not _PROPERTY.fullmatch(name):
            raise self._error("`\\p` needs a property in braces, for example `\\p{L}`", start)
        try:
            members = unicode_property(name)
        except KeyError:
            raise self._error(f"there is no Unicode property {name!r}", start) from None
        return Readings.same(~members if negated else members)


@lru_cache(maxsize=512)  # a set may have as many partners as there are letters
def _ignoring_case(readings: Readings) -> Readings:
    """Add what differs in case alone: to one reading for all engines, to the other for any.

    Engines fold differently, by one step or by Unicode's simple folding (U+212A is a `k`); Python
    has a few pairs more.
    """
    wide = readings.python.ignoring_case() | readings.python.folded()
    wide |= union(same for same in _SAME_FOR_PYTHON if wide & same)
    return Readings(readings.ecma.ignoring_case(), wide)


def _readings(atom: int | Readings) -> Readings:
    return character(atom) if isinstance(atom, int) else atom


@lru_cache(maxsize=512)
def character(code: int) -> Readings:
    """Return the set of one character."""
    return Readings.same(CharSet.of([(code, code)]))


@lru_cache(maxsize=2 * len(_CLASSES))
def _class_escape(char: str) -> Readings:
    found = _CLASSES[char.lower()]()
    return ~found if char.isupper() else found
