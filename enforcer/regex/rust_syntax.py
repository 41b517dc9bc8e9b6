r"""The regular expressions of a text's format, in the syntax of Rust's `regex` crate.

A whole text has to match. Unlike in patterns of schemas (`pattern`), `\d`, `\w` and `\s` are
Unicode's, `.` is all but a line feed, classes nest and have set operations, and flags may stand
anywhere.
Lookarounds, word boundaries, `(?m)`, `(?R)` and `(?-u)` are refused.
Source: https://docs.rs/regex/latest/regex/#syntax. Owns: that syntax. Must not know: formats.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from enforcer.regex.assertions import language
from enforcer.regex.charset import ALL, LAST, CharSet, Readings, unicode_class
from enforcer.regex.constructors import concat
from enforcer.regex.pattern import MAX_COUNT, Reader, character
from enforcer.regex.readings import Reading, plain_language
from enforcer.regex.tree import FINISH, START, Counted, Node, One, Sequence

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

_EDGES = {"^": START, "$": FINISH, "A": START, "z": FINISH}
_CLASSES = {
    "d": r"\p{Nd}",
    "w": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}",
    "s": r"\p{White_Space}",
}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_POSIX = {
    name: CharSet.span(*spans)
    for name, spans in {
        "alnum": ("09", "AZ", "az"),
        "alpha": ("AZ", "az"),
        "ascii": ("\0\x7f",),
        "blank": ("\t", " "),
        "cntrl": ("\0\x1f", "\x7f"),
        "digit": ("09",),
        "graph": ("!~",),
        "lower": ("az",),
        "print": (" ~",),
        "punct": ("!/", ":@", "[`", "{~"),
        "space": ("\t\r", " "),
        "upper": ("AZ",),
        "word": ("09", "AZ", "az", "_"),
        "xdigit": ("09", "AF", "af"),
    }.items()
}
_BRACKET = re.compile(r"\[:(\^?)([a-z]+):\]")
_COUNTS = re.compile(r"\{\s*([0-9]{1,9})\s*(?:(,)\s*([0-9]{1,9})?\s*)?\}")
_GROUP = re.compile(r"\?(?:P?<[\w.\[\]]+>|([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)]))")
_FLAGS = frozenset("isUux")
_OPERATIONS = ("&&", "--", "~~")
_REFUSED = ("(?=", "(?!", "(?<=", "(?<!", "(?#")
_DIGITS = {"x": 2, "u": 4, "U": 8}
_SPACES = frozenset("\t\n\v\f\r \x85\u200e\u200f\u2028\u2029")
_LINE_FEED = CharSet.span("\n")
_DEEPEST = 64  # classes within classes
_MOST_PROPERTIES = 16  # some 80 ms each


def parse(pattern: str) -> Regex:
    """Build the language of the texts that a pattern matches as a whole.

    Raises:
        RegexError: it is malformed, not regular, or not supported.

    """
    tree = _Reader(pattern).read()
    plain = plain_language(tree, Reading.NARROW)
    if plain is not None:
        return concat(plain)
    return language(Sequence((START, tree, FINISH)), Reading.NARROW, pattern)


class _Reader(Reader):
    _depth = 0  # of the class that is read
    _properties = 0

    def _ignores(self, char: str) -> bool:
        if "x" not in self._flags:
            return False
        if char == "#":
            self._at = (self._text.find("\n", self._at) + 1 or len(self._text)) - 1
        return char == "#" or char in _SPACES

    def _open(self) -> None:
        if self._text.startswith(_REFUSED, self._at):
            raise self._error("lookarounds and comments in parentheses are not supported")
        super()._open()

    def _extended(self, start: int) -> frozenset[str] | None:
        found = _GROUP.match(self._text, self._at)
        if found is None or found[0] == "?)":
            raise self._error("this kind of group is not supported", start)
        self._at = found.end()
        if found[3] is None:  # it has a name
            return self._flags
        on, off = found[1], found[2] or ""
        if not _FLAGS.issuperset(on + off) or "u" in off:
            raise self._error("of flags, only `i`, `s`, `x`, `U` and `u` are supported", start)
        flags = (self._flags | set(on)) - set(off)
        if found[3] == ":":
            return flags
        self._flags = flags
        return None

    def _quantify(self, node: Node) -> None:
        while (counts := self._counts()) is not None:
            self._skip("?")  # a lazy quantifier means the same language
            node = Counted(node, *counts)
        self._stack[-1].items.append(node)

    def _counts(self) -> tuple[int, int | None] | None:
        while self._at < len(self._text) and self._ignores(self._text[self._at]):
            self._at += 1
        for token, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(token):
                return counts
        if not self._text.startswith("{", self._at):
            return None
        found = _COUNTS.match(self._text, self._at)
        if found is None:
            raise self._error("this brace begins no count as `{2}`, `{2,}` or `{2,5}`; write `\\{`")
        least = int(found[1])
        most = (int(found[3]) if found[3] else None) if found[2] else least
        if max(least, most or 0) > MAX_COUNT or (most is not None and most < least):
            raise self._error(f"counts must be in order, and at most {MAX_COUNT:,}")
        self._at = found.end()
        return least, most

    def _atom(self, char: str) -> Node:
        if char in "*+?{":
            raise self._error("there is nothing to repeat before this quantifier")
        self._at += 1
        if char in "^$":
            return _EDGES[char]
        if char == ".":
            return One(Readings.same(ALL if "s" in self._flags else ~_LINE_FEED))
        if char == "[":
            return One(Readings.same(self._set()))
        if char != "\\":
            return self._one(char)
        if self._text.startswith(("A", "z"), self._at):
            self._at += 1
            return _EDGES[self._text[self._at - 1]]
        return self._one(self._escaped())

    def _one(self, found: str | CharSet) -> Node:
        if isinstance(found, str):
            if "i" not in self._flags:
                return One(character(ord(found)))
            found = CharSet.span(found)
        return One(Readings.same(self._folded(found)))

    def _folded(self, members: CharSet) -> CharSet:
        return members.folded() if "i" in self._flags else members

    def _set(self) -> CharSet:
        """Read a class behind its bracket."""
        start = self._at - 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"classes are nested more than {_DEEPEST} deep", start)
        negated = self._skip("^")
        found: CharSet | None = None
        operation = ""
        while True:
            part = self._union(start, is_first=found is None)
            if found is None:
                found = part
            elif operation == "&&":
                found &= part
            elif operation == "--":
                found -= part
            else:
                found = (found - part) | (part - found)
            operation = next((each for each in _OPERATIONS if self._skip(each)), "")
            if not operation:
                break
        self._at += 1
        self._depth -= 1
        return ~found if negated else found

    def _union(self, start: int, *, is_first: bool) -> CharSet:
        """Read the members of a class up to its end or to an operation."""
        spans: list[tuple[int, int]] = []
        sets: list[CharSet] = []
        leading = is_first
        while True:
            char = self._member(start)
            if not (leading and char in ("-", "]")):
                if char == "]" or self._text.startswith(_OPERATIONS, self._at):
                    break
                leading = False
            elif char == "]":
                leading = False
            low = self._class_item()
            if not isinstance(low, str):
                sets.append(low)
                continue
            high = low
            if self._is_range():
                self._at += 1
                self._member(start)
                end = self._class_item()
                if not isinstance(end, str) or end < low:
                    raise self._error("this range has no ends in order")
                high = end
            spans.append((ord(low), ord(high)))
        found = CharSet.of(spans)
        for each in sets:
            found |= each
        return self._folded(found)

    def _member(self, start: int) -> str:
        """Return the next character of a class that is not ignored."""
        while self._at < len(self._text) and self._ignores(self._text[self._at]):
            self._at += 1
        if self._at == len(self._text):
            raise self._error("this character class is never closed", start)
        return self._text[self._at]

    def _is_range(self) -> bool:
        return self._text.startswith("-", self._at) and not self._text.startswith(
            ("-]", "--"), self._at
        )

    def _class_item(self) -> str | CharSet:
        if named := _BRACKET.match(self._text, self._at):
            members = _POSIX.get(named[2])
            if members is not None:
                self._at = named.end()
                return ~self._folded(members) if named[1] else members
        char = self._text[self._at]
        self._at += 1
        if char == "[":
            return self._set()
        return self._escaped() if char == "\\" else char

    def _escaped(self) -> str | CharSet:
        """Read what follows a backslash: a character, or a set."""
        start = self._at - 1
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char.lower() in _CLASSES and char:
            members = unicode_class(_CLASSES[char.lower()])
            return ~members if char.isupper() else members
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _DIGITS:
            return self._code(_DIGITS[char], start)
        if char in ("p", "P"):
            return self._property_set(start, negated=char == "P")
        if not char.isascii() or not char or char.isalnum() or char in "<>":
            self._unknown(char, start)
        return char

    def _unknown(self, char: str, start: int) -> NoReturn:
        if char and char in "123456789k":
            raise self._error("backreferences describe no regular language", start)
        if char and char in "bB<>":
            raise self._error("lookarounds and word boundaries are not supported", start)
        raise self._error(f"`\\{char}` is no known escape", start)

    def _code(self, digits: int, start: int) -> str:
        code = 0
        if self._skip("{"):
            text = self._through("}", start)
            code = self._number(text, start)
        else:
            code = self._hex(digits, start)
        if code > LAST or chr(code) not in ALL:
            raise self._error("this escape is no Unicode character", start)
        return chr(code)

    def _number(self, text: str, start: int) -> int:
        if re.fullmatch("[0-9a-fA-F]{1,8}", text) is None:
            raise self._error("this escape needs hexadecimal digits", start)
        return int(text, 16)

    def _property_set(self, start: int, *, negated: bool) -> CharSet:
        self._properties += 1
        if self._properties > _MOST_PROPERTIES:
            raise self._error(f"more than {_MOST_PROPERTIES} Unicode properties", start)
        members = self._folded(self._property(start, negated=False).narrow)
        return ~members if negated else members
