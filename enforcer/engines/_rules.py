"""Writer of argument grammars as EBNF rules over regular expressions, for engines without tables.

Rules may be recursive; an engine without rules gets each body inlined. An object takes a rule for
each set of declared properties, so that they may come in any order; so their number is bounded.
Constraints that count or compare members are refused. The notation is shared by EBNF and Rust's
regular expressions; only EBNF has quotes around literals. Must not know: engines, vocabularies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from enforcer.engines import ArgumentEngine, Wanted
from enforcer.errors import ConfigurationError, UnsupportedSchema
from enforcer.numbers.languages import number_texts
from enforcer.regex import (
    NOTHING,
    RegexBudget,
    RegexError,
    both,
    either,
    inverse,
    is_surely_empty,
    literal,
    parse,
)
from enforcer.regex.constructors import repeat
from enforcer.regex.elimination import plain
from enforcer.regex.syntax import Chars, Concat, Literal, Repeat, Union
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema.grammar import NOTHING as NO_VALUE
from enforcer.spelling import WHITE_SPACE, json_chars, spelled

if TYPE_CHECKING:
    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId

_LANGUAGE = 5_000  # size of one language's expression without intersections and complements
_CHARACTERS = 500_000  # in all rules together
_DEPTH = 64  # values in values
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _,:")
_BASIC_PLANE = 0xFFFF
_NO_TEXT = "no text fits what is demanded here"
_GAP = repeat(WHITE_SPACE, 0, 1)


def unsupported(path: str, keyword: str, reason: str) -> UnsupportedSchema:
    """Return the error for a constraint that only the engine `machine` supports."""
    reason += "; use the engine `machine`, which enforces it"
    return UnsupportedSchema.of(path, keyword, reason)


class RuleEngine(ArgumentEngine):
    """Base class of the engines that compile rules.

    Attributes:
        properties: greatest number of declared properties of one object.
        is_inline: whether the engine has no rules, and so no recursion.

    """

    properties: int
    is_inline: bool

    def write(self, wanted: Wanted, layout: BoundLayout | None = None) -> bytes:
        """Return a grammar, a regular expression or a choice as rules, in UTF-8.

        Raises:
            UnsupportedSchema: rules cannot express it, or this engine cannot hold them.
            ConfigurationError: a layout other than JSON with the usual white space.

        """
        if layout is not None and not layout.plain:
            raise ConfigurationError(
                f"engine {self.name!r} masks arguments in JSON only; choose 'machine' for this "
                "dialect"
            )
        writer = RuleWriter(self.properties, is_inline=self.is_inline)
        if isinstance(wanted, ResponseFormat):
            written = writer.text_format(wanted)
        else:
            written = writer.grammar(wanted)
        return self.checked(written).encode()

    def checked(self, written: str) -> str:
        """Return the text that `read` compiles, if the engine can hold it.

        Raises:
            UnsupportedSchema: it cannot.

        """
        return written


class RuleWriter:
    """Writes the rules of one text.

    Args:
        properties: greatest number of declared properties of one object.
        is_inline: whether the engine has no rules.

    """

    def __init__(self, properties: int, *, is_inline: bool) -> None:
        self._rules: dict[str, str] = {}
        self._properties = properties
        self._is_inline = is_inline
        self._size = 0
        self._definitions: Mapping[ValueId, Value] = {}
        self._values: dict[ValueId, str] = {}
        self._paths: dict[ValueId, str] = {}  # of the values that are being written
        self._gap = self._rule("gap", self._notated(_GAP))
        self._comma = self._rule("comma", f"{self._gap}{self._literal(',')}{self._gap}")
        self._colon = self._rule("colon", f"{self._gap}{self._literal(':')}{self._gap}")

    def grammar(self, grammar: ArgumentGrammar) -> str:
        """Return the rules of a grammar.

        Raises:
            UnsupportedSchema: rules cannot express it.

        """
        self._definitions = grammar.definitions
        return self._finished(self._gap + self._value(grammar.root, "$"))

    def text_format(self, wanted: ResponseFormat) -> str:
        """Return the rules of a regular expression or a choice.

        Raises:
            UnsupportedSchema: a grammar, or an expression that is not regular.

        """
        kind = wanted.kind.value
        path = f"$.response_format.{kind}"
        if wanted.kind is FormatKind.GRAMMAR:
            raise unsupported(path, kind, f"this engine does not support `{kind}`")
        if wanted.kind is FormatKind.CHOICE:
            regex = either(*map(literal, json.loads(wanted.source)))
        else:
            try:
                regex = parse(f"^(?:{wanted.source})$")
            except RegexError as error:
                raise UnsupportedSchema.of(path, kind, str(error)) from error
        return self._finished(self._text(regex, path))

    def _finished(self, start: str) -> str:
        if self._is_inline:
            return start
        rules = {**self._rules, "root": start}
        return "".join(f"{name} ::= {body}\n" for name, body in rules.items())

    def _text(self, regex: Regex, path: str, *, is_json: bool = False) -> str:
        """Return a regular language as rules, with JSON's escapes if `is_json`."""
        try:
            regex = plain(regex, _LANGUAGE)
        except RegexBudget as error:
            raise unsupported(path, "", "one regular expression cannot hold these texts") from error
        if regex == NOTHING:  # no notation can express it
            raise unsupported(path, "", _NO_TEXT)
        return self._notated(spelled(regex, json_chars) if is_json else regex)

    def _notated(self, regex: Regex) -> str:
        """Return an expression in the notation of the rules."""
        if isinstance(regex, Literal):
            return self._literal(regex.text)
        if isinstance(regex, Chars):
            spans = (f"{_char(chr(low))}-{_char(chr(high))}" for low, high in regex.chars.ranges)
            return f"[{''.join(spans)}]"
        if isinstance(regex, Concat):
            return "".join(map(self._notated, regex.parts))
        if isinstance(regex, Union):
            return _choice([*map(self._notated, regex.parts)])
        if isinstance(regex, Repeat):
            return _counted(self._notated(regex.part), regex.minimum, regex.maximum)
        raise TypeError(f"not expressible without operators: {regex!r}")

    def _literal(self, text: str) -> str:
        written = "".join(map(_char, text))
        return written if self._is_inline else f'"{written}"'

    def _rule(self, name: str, body: str) -> str:
        """Add a rule; return the reference to it (inline, its body)."""
        self._size += len(body)
        if self._size > _CHARACTERS:
            reason = f"the schema takes rules of more than {_CHARACTERS} characters"
            raise unsupported("$", "", reason)
        self._rules[name] = body
        return f"({body if self._is_inline else name})"

    def _value(self, number: ValueId, path: str) -> str:
        """Return the reference to a value's rule, which is written if it is new."""
        if number in self._values:
            return self._values[number]
        name = f"v{number}"
        if number in self._paths:
            if self._is_inline:
                reason = "this engine cannot hold values that nest without end, as here"
                raise unsupported(self._paths[number], "", reason)
            return f"({name})"
        if len(self._paths) == _DEPTH:
            raise unsupported(path, "", f"values nest in more than {_DEPTH} others here")
        self._paths[number] = path
        value = self._definitions[number]
        options = []
        if texts := [*map(literal, value.words), *map(number_texts, value.numbers)]:
            options.append(self._text(either(*texts), path))
        if value.strings is not None:
            options.append(self._string(value.strings, path))
        options += (self._object(x, f"{name}o{i}") for i, x in enumerate(value.objects))
        options += (self._array(x, f"{name}a{i}") for i, x in enumerate(value.arrays))
        del self._paths[number]
        self._values[number] = self._rule(name, _choice(options))
        return self._values[number]

    def _string(self, regex: Regex, path: str) -> str:
        quote = self._literal('"')
        return f"{quote}{self._text(regex, path, is_json=True)}{quote}"

    def _array(self, array: ArrayShape, name: str) -> str:
        if array.choices or array.unique:
            keyword = "contains" if array.contains else "uniqueItems"
            reason = f"this engine cannot count or compare elements, as `{keyword}` demands"
            raise unsupported(f"{array.path}.{keyword}", keyword, reason)
        # No comma stands before the first element, so all behind it repeat.
        first = (*array.prefix, array.rest)[: array.maximum]
        body = ""
        if self._is_never(array.rest):
            first = first[: len(array.prefix)]
        elif array.maximum is None or array.maximum > len(first):
            least = max(array.minimum - len(first), 0)
            most = None if array.maximum is None else array.maximum - len(first)
            body = _counted(self._comma + self._value(array.rest, array.path), least, most)
        for i in reversed(range(len(first))):
            body = (self._comma if i else "") + self._value(first[i], array.path) + body
            # An element that may be left out takes all behind it along.
            body = self._rule(f"{name}e{i}", _counted(body, int(i < array.minimum), 1))
        return f"{self._literal('[')}{self._gap}{body}{self._gap}{self._literal(']')}"

    def _object(self, shape: ObjectShape, name: str) -> str:
        """Return the body of an object's rule; raise if rules cannot express its counts."""
        names = [(each, value) for each, value in shape.names if not self._is_never(value)]
        undeclared = inverse(either(*(literal(each) for each, _ in shape.names)))
        others = [(both(x, undeclared), value) for x, value in shape.classes]
        others = [x for x in others if not (self._is_never(x[1]) or is_surely_empty(x[0]))]
        is_counted = others and shape.minimum > len(shape.required)
        if shape.witnesses or shape.maximum is not None or is_counted:
            reason = "this engine cannot count properties, as is demanded here"
            raise unsupported(shape.path, "", reason)
        if len(names) > self._properties:
            reason = (
                f"this engine holds at most {self._properties} declared properties of an object"
            )
            raise unsupported(f"{shape.path}.properties", "properties", reason)
        pairs = [
            self._rule(
                f"{name}p{i}", self._pair(literal(each), value, f"{shape.path}.properties.{each}")
            )
            for i, (each, value) in enumerate(names)
        ]
        extra = ""
        if others:
            extra = self._rule(f"{name}x", _choice([self._pair(*x, shape.path) for x in others]))
        end = f"{self._gap}{self._literal('}')}"
        states: dict[int, str] = {}

        def options(read: int, comma: str) -> list[str]:
            """Return the alternatives after the declared properties whose bits are set."""
            found = [
                f"{comma}{pair}{states[read | 1 << i]}"
                for i, pair in enumerate(pairs)
                if not read >> i & 1
            ]
            seen = {each for i, (each, _) in enumerate(names) if read >> i & 1}
            if shape.required <= seen and len(seen) >= shape.minimum:
                found.append(end)
            return found

        for read in reversed(range(1 << len(pairs))):
            more = _counted(self._comma + extra, 0, None) if others else ""
            states[read] = self._rule(f"{name}s{read}", more + _choice(options(read, self._comma)))
        first = options(0, "")
        if others:
            first.append(extra + states[0])
        return f"{self._literal('{')}{self._gap}{_choice(first)}"

    def _pair(self, names: Regex, value: ValueId, path: str) -> str:
        return f"{self._string(names, path)}{self._colon}{self._value(value, path)}"

    def _is_never(self, number: ValueId) -> bool:
        return self._definitions[number] == NO_VALUE


def _choice(options: list[str]) -> str:
    if not options:
        raise unsupported("$", "", _NO_TEXT)
    return f"({'|'.join(options)})"


def _counted(part: str, minimum: int, maximum: int | None) -> str:
    return f"({part}){{{minimum},{'' if maximum is None else maximum}}}"


def _char(char: str) -> str:
    if char in _SAFE:
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= _BASIC_PLANE else f"\\U{code:08x}"
