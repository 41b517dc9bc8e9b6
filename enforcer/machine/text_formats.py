"""Tables of formats of text that are regular: regular expressions, and choices.

Owns: which language a format is, and what a client is told of one that cannot be held. Must not
know: how tables are made.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from enforcer.errors import InvalidSchema, SchemaLimit, UnsupportedSchema
from enforcer.machine.tables import raw_tables
from enforcer.regex import RegexError, both, either, is_surely_empty, literal, parse_rust
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.constructors import chars, repeat
from enforcer.request.response_format import FormatKind

if TYPE_CHECKING:
    from enforcer.machine.tables import Tables
    from enforcer.regex import Regex
    from enforcer.request.response_format import ResponseFormat

_LONGEST = 50_000  # characters of a regular expression


def text_tables(wanted: ResponseFormat, writable: CharSet = ALL) -> Tables:
    """Make the tables of a regular expression or of choices.

    Args:
        wanted: the format.
        writable: the characters that the model's vocabulary can write.

    Raises:
        InvalidSchema: the source is no regular expression, or no text fits it.
        SchemaLimit: it takes too many states.

    """
    path, keyword = f"$.response_format.{wanted.kind.value}", wanted.kind.value
    if wanted.kind is FormatKind.CHOICE:
        language = _choices(wanted.source, writable)
    else:
        language = _expression(wanted.source, path)
        if writable != ALL:
            language = both(language, repeat(chars(writable), 0, None))
    if is_surely_empty(language):
        _fits_nothing(path, keyword, writable)
    try:
        return raw_tables([language])
    except UnsupportedSchema as error:
        reason = f"the machine cannot hold this {keyword}: {error.problems[0].reason}"
        raise SchemaLimit.of(path, keyword, reason) from error


def _choices(source: str, writable: CharSet) -> Regex:
    every = (choice for choice in json.loads(source) if all(c in writable for c in choice))
    return either(*map(literal, every))


def _expression(source: str, path: str) -> Regex:
    if len(source) > _LONGEST:
        reason = f"it has more than {_LONGEST:,} characters; use `choice` for a list of texts"
        raise SchemaLimit.of(path, "regex", reason)
    try:
        return parse_rust(source)
    except RegexError as error:
        raise InvalidSchema.of(path, "regex", str(error)) from error


def _fits_nothing(path: str, keyword: str, writable: CharSet) -> NoReturn:
    which = "no text" if writable == ALL else "no text that the model's tokenizer can write"
    raise InvalidSchema.of(path, keyword, f"{which} fits it")
