r"""The reader of patterns: text to a tree that still has its assertions.

One reader has both syntaxes, which differ by their `Flavor`. Where ECMA-262 and Python read one
construct differently, both readings are kept in the tree (`Readings`, `Disputed`).

Must not know: languages; `assertions` gives the tree its meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING

from enforcer.regex.charset import LAST, CharSet, Readings, unicode_property
from enforcer.regex.flavors import ECMA, class_escape
from enforcer.regex.tree import (
    EVERY,
    LINE_END,
    LINE_START,
    Alternation,
    Counted,
    Look,
    Node,
    One,
    RegexError,
    Sequence,
)

if TYPE_CHECKING:
    from enforcer.regex.flavors import Flavor

MAX_NESTING = 64  # levels of groups, and of classes
MAX_COUNT = 1_000_000

_MOST_DIGITS = 18  # digits of a quantifier's two counts together
_MOST_BRACED_DIGITS = 8
_MOST_PROPERTIES = 16  # of a pattern in a strict syntax; some 80 ms each
_LINE_EDGES = {"^": LINE_START, "$": LINE_END}
_LOOKS = {"?=": (True, False), "?!": (True, True), "?<=": (False, False), "?<!": (False, True)}
_NOT_STRICT = ("(?#", *(f"({token}" for token in _LOOKS))
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")
_IGNORED = frozenset("\t\n\v\f\r \x85\u200e\u200f\u2028\u2029")
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)
_PROPERTY = re.compile(r"[A-Za-z_0-9]+(=[A-Za-z_0-9]+)?")
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_BACKREFERENCE = (
    "backreferences and conditional groups cannot be enforced; "
    "write the alternatives out, such as `^(aa|bb)$`"
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


def read(pattern: str, flavor: Flavor = ECMA) -> Node:
    """Read a pattern.

    Raises:
        RegexError: it is malformed, or holds what no regular language can express.

    """
    return _Reader(pattern, flavor).read()


class _Reader:
    """One pass over a pattern, with an explicit stack of groups in place of recursion."""

    def __init__(self, pattern: str, flavor: Flavor) -> None:
        self._text = pattern
        self._flavor = flavor
        self._is_strict = flavor.is_strict
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._stack = [_Group(0, None, self._flags, [], [])]
        self._depth = 0  # number of open classes
        self._properties = 0

    def read(self) -> Node:
        """Read the pattern."""
        while char := self._next():
            if char == "(":
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

    def _next(self) -> str:
        """Skip what the flag `x` ignores; return the next character, or nothing at the end."""
        while "x" in self._flags:
            if self._text.startswith("#", self._at):
                self._at = self._text.find("\n", self._at) + 1 or len(self._text)
            elif self._text[self._at : self._at + 1] in _IGNORED:
                self._at += 1
            else:
                break
        return self._text[self._at : self._at + 1]

    def _error(self, reason: str, position: int | None = None) -> RegexError:
        return RegexError(self._text, self._at if position is None else position, reason)

    def _skip(self, token: str) -> bool:
        """Advance over a token; return whether it comes next."""
        if self._text.startswith(token, self._at):
            self._at += len(token)
            return True
        return False

    # Groups

    def _open(self) -> None:
        start = self._at
        if self._is_strict and self._text.startswith(_NOT_STRICT, start):
            raise self._error("lookarounds and comments in parentheses are not supported")
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
        """Read an extension behind `(`: return the flags inside the group, None for flags alone."""
        if self._skip("?:"):
            return self._flags
        if self._skip("?P=") or self._skip("?("):
            raise self._error(_BACKREFERENCE, start)
        if self._skip("?>"):
            raise self._error("atomic groups are not supported; use `(?:...)`", start)
        if self._skip("?P<") or self._skip("?<"):
            if not self._flavor.name.fullmatch(self._through(">", start)):
                raise self._error("this group has no name", start)
            return self._flags
        end = self._at + 1
        while end < len(self._text) and (self._text[end].isalpha() or self._text[end] == "-"):
            end += 1
        on, minus, off = self._text[self._at + 1 : end].partition("-")
        if (
            end == self._at + 1
            or not set(self._flavor.flags).issuperset(on + off)
            or self._text[end : end + 1] not in (":", ")")
            or (self._is_strict and ("u" in off or (minus and not off)))
        ):
            reason = "this kind of group is not supported; of flags, only "
            raise self._error(reason + f"`{self._flavor.flags}` are", start)
        flags = (self._flags | set(on)) - set(off)
        self._at = end + 1
        if self._text[end] == ":":
            return flags
        if start and not self._is_strict:
            raise self._error("flags for the whole pattern must stand at its start", start)
        self._flags = flags
        return None

    def _through(self, end: str, start: int) -> str:
        """Skip past `end`; return the text before it."""
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
        while counts := self._counts():
            self._skip("?")  # a lazy quantifier means the same language
            node = Counted(node, *counts)
            if self._is_strict:
                continue
            if self._text.startswith("+", self._at):
                raise self._error("possessive quantifiers are not supported")
            behind = self._at
            if self._counts():
                raise self._error("there is nothing to repeat before this quantifier", behind)
        self._stack[-1].items.append(node)

    def _counts(self) -> tuple[int, int | None] | None:
        """Read a quantifier if one stands here."""
        if (char := self._next()) in _COUNTS:
            self._at += 1
            return _COUNTS[char]
        if char != "{":
            return None
        found = self._flavor.counts.match(self._text, self._at)
        if found is None:
            if not self._is_strict:
                return None  # plain text
            raise self._error("this brace begins no count as `{2}`, `{2,}` or `{2,5}`; write `\\{`")
        low, comma, high = found.groups(default="")
        if len(low + high) > _MOST_DIGITS:
            raise self._error(f"a count is over {MAX_COUNT}")
        minimum = int(low or 0)
        maximum = (int(high) if high else None) if comma else minimum
        if maximum is not None and maximum < minimum:
            raise self._error("the counts of this quantifier are in the wrong order")
        if max(minimum, maximum or 0) > MAX_COUNT:
            raise self._error(f"a count is over {MAX_COUNT}")
        self._at = found.end()
        return minimum, maximum

    # Atoms

    def _atom(self, char: str) -> Node:
        if char in _COUNTS or (char == "{" and self._is_strict):
            raise self._error("there is nothing to repeat before this quantifier")
        start = self._at
        token = self._text[start : start + 2] if char == "\\" else char
        self._at += len(token)
        if "m" in self._flags and char in _LINE_EDGES:
            return _LINE_EDGES[char]
        if edge := self._flavor.edges.get(token):
            return edge()
        if char == ".":
            return EVERY if "s" in self._flags else One(self._flavor.dot)
        if char == "[":
            return One(self._class())
        if char != "\\":
            return One(self._cased(character(ord(char))))
        if token[1:] in tuple("123456789k"):
            raise self._error(_BACKREFERENCE, start)
        if self._is_strict and token[1:] in tuple("bB<>"):
            raise self._error("lookarounds and word boundaries are not supported", start)
        self._at = start + 1
        found = self._escape(start)
        return One(self._cased(character(found) if isinstance(found, int) else found))

    def _cased(self, readings: Readings) -> Readings:
        return self._flavor.fold(readings) if "i" in self._flags else readings

    # Classes

    def _class(self) -> Readings:
        """Read a class behind its bracket."""
        start = self._at - 1
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._error(f"classes are nested more than {MAX_NESTING} deep", start)
        negated = self._skip("^")
        found = self._members(start, is_first=True)
        operations = self._flavor.operations
        while token := next((each for each in operations if self._skip(each)), None):
            found = operations[token](found, self._members(start, is_first=False))
        self._at += 1
        self._depth -= 1
        return ~found if negated else found

    def _members(self, start: int, *, is_first: bool) -> Readings:
        """Read the members of a class up to its end or to an operation."""
        spans: list[tuple[int, int]] = []
        sets: list[Readings] = []
        ends = ("]", *self._flavor.operations)
        leading = is_first and self._is_strict  # dashes and a bracket are members there
        while (char := self._next()) and (
            (leading and char in "-]") or not self._text.startswith(ends, self._at)
        ):
            leading = leading and char == "-"
            low = self._class_atom(start)
            items = [low]
            if self._is_range(low):
                dash = self._at
                self._at += 1
                high = self._class_atom(start)
                if isinstance(low, int) and isinstance(high, int):
                    if high < low:
                        raise self._error("the ends of this range are in the wrong order", dash)
                    spans.append((low, high))
                    continue
                if self._is_strict:
                    raise self._error("this range ends in no character", dash)
                # Annex B: beside a class such as `\w`, the dash is a character.
                items += [high, ord("-")]
            spans.extend((item, item) for item in items if isinstance(item, int))
            sets.extend(item for item in items if isinstance(item, Readings))
        if not char:
            raise self._error("this character class is never closed", start)
        found = reduce(or_, dict.fromkeys(sets), Readings.same(CharSet.of(spans)))
        return self._cased(found)

    def _is_range(self, low: int | Readings) -> bool:
        if not self._text.startswith("-", self._at) or self._text.startswith("-]", self._at):
            return False
        is_operation = self._text.startswith("--", self._at)
        return not (self._is_strict and (is_operation or isinstance(low, Readings)))

    def _class_atom(self, start: int) -> int | Readings:
        char = self._next()
        if not char:
            raise self._error("this character class is never closed", start)
        if char == "[" and self._is_strict:
            named = _POSIX.match(self._text, self._at)
            if named is None or named[2] not in self._flavor.posix:
                self._at += 1
                return self._class()
            self._at = named.end()
            members = self._cased(self._flavor.posix[named[2]])
            return ~members if named[1] else members
        self._at += 1
        return self._escape(self._at - 1) if char == "\\" else ord(char)

    # Escapes

    def _escape(self, start: int) -> int | Readings:
        """Read an escape behind its backslash: one character's code, or a set."""
        if self._at == len(self._text):
            raise self._error("the pattern ends in a lone backslash", start)
        char = self._text[self._at]
        self._at += 1
        if char.lower() in self._flavor.classes:
            return class_escape(self._flavor, char)
        if char in "pP":
            return self._property(start, negated=char == "P")
        if char in self._flavor.controls:
            return ord(self._flavor.controls[char])
        if char in self._flavor.digits:
            return self._code(char, start)
        if self._is_strict:
            if not char.isascii() or char.isalnum() or char in "<>":
                raise self._error(f"`\\{char}` is no known escape", start)
            return ord(char)
        if char == "c":
            letter = self._text[self._at : self._at + 1]
            if not (letter.isascii() and letter.isalpha()):
                raise self._error("`\\c` must be followed by a letter", start)
            self._at += 1
            return ord(letter) % 32
        if char in _OCTAL:
            # Annex B and Python: up to three octal digits; no backreference gets here.
            end = self._at
            while end < self._at + 2 and self._text[end : end + 1] in _OCTAL:
                end += 1
            code = int(self._text[self._at - 1 : end], 8)
            self._at = end
            return code
        if char.isascii() and char.isalnum():
            raise self._error(f"`\\{char}` is no known escape", start)
        return ord(char)

    def _code(self, letter: str, start: int) -> int:
        """Read the hexadecimal digits of a character."""
        if letter in self._flavor.braced and self._skip("{"):
            digits = self._through("}", start)
            if not 0 < len(digits) <= _MOST_BRACED_DIGITS or not _HEX.issuperset(digits):
                raise self._error("an escape in braces needs hexadecimal digits", start)
            code = int(digits, 16)
        else:
            code = self._hex(self._flavor.digits[letter], start)
            if code in _HIGH and not self._is_strict:
                return self._pair(code)
        if code > LAST:
            raise self._error("this escape is beyond U+10FFFF", start)
        if self._is_strict and (code in _HIGH or code in _LOW):
            raise self._error("this escape is no Unicode character", start)
        return code

    def _hex(self, digits: int, start: int) -> int:
        text = self._text[self._at : self._at + digits]
        if len(text) < digits or not _HEX.issuperset(text):
            raise self._error(f"this escape needs {digits} hexadecimal digits", start)
        self._at += digits
        return int(text, 16)

    def _pair(self, high: int) -> int:
        """Read the second half of a surrogate pair if it follows the first; return the code."""
        behind = self._at
        if self._skip("\\u") and not self._text.startswith("{", self._at):
            low = self._hex(4, behind)
            if low in _LOW:
                return 0x10000 + ((high - _HIGH[0]) << 10) + (low - _LOW[0])
        self._at = behind
        return high

    def _property(self, start: int, *, negated: bool) -> Readings:
        self._properties += 1
        if self._is_strict and self._properties > _MOST_PROPERTIES:
            raise self._error(f"more than {_MOST_PROPERTIES} Unicode properties", start)
        if self._skip("{"):
            name = self._through("}", start)
        else:  # `\pL` is neither ECMA-262's nor Python's, but other engines'
            name = self._text[self._at : self._at + 1]
            self._at += 1
        if not _PROPERTY.fullmatch(name):
            raise self._error("`\\p` needs a property in braces, for example `\\p{L}`", start)
        try:
            members = Readings.same(unicode_property(name))
        except KeyError:
            raise self._error(f"there is no Unicode property {name!r}", start) from None
        if self._is_strict:
            members = self._cased(members)
        return ~members if negated else members


@lru_cache(maxsize=512)
def character(code: int) -> Readings:
    """Return the set of one character."""
    return Readings.same(CharSet.of([(code, code)]))
