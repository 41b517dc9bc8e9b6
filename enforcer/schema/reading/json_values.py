"""Validation of a Python object as JSON within the limits.

Must not know: what keywords mean.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

from enforcer.errors import InvalidSchema, SchemaLimit
from enforcer.schema.limits import named
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from enforcer.schema.limits import Limits

_MAX_DIGITS = 1_000  # digits of an integer in a schema; far above any bound in use
_SCOPED = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})
# A value in a document, its key in the holder, and the holder's part.
_Part = tuple[Any, "str | int", "_Part | None"]


def check_json(document: object, limits: Limits) -> bool:
    """Validate a document as JSON; return whether identifiers occur in it.

    Raises:
        InvalidSchema: a value that JSON cannot carry.
        SchemaLimit: too deep, too many values, or too many characters.

    """
    nodes = size = 0
    scoped = False
    level: list[_Part] = [(document, "", None)]
    for _ in range(limits.depth + 1):
        below: list[_Part] = []
        for part in level:
            value = part[0]
            if isinstance(value, str):
                size += _length(value, part)
            elif isinstance(value, dict):
                for key, child in value.items():
                    if not isinstance(key, str):
                        _invalid(part, f"the name {key!r:.60} is not a string")
                    size += _length(key, part)
                    below.append((child, key, part))
                scoped = scoped or not _SCOPED.isdisjoint(value)
            elif isinstance(value, list):
                below.extend([(child, i, part) for i, child in enumerate(value)])
            else:
                _check_scalar(part)
            if len(below) > limits.nodes:
                break  # one list may occur in many places
        nodes += len(level)
        if nodes + len(below) > limits.nodes:
            _limit("$", f"more than {limits.nodes} values {named('nodes')}; split the schema up")
        if size > limits.size:
            _limit("$", f"more than {limits.size} characters {named('size')}; split the schema up")
        if not below:
            return scoped
        level = below
    reason = f"nested deeper than {limits.depth} levels {named('depth')}; flatten it with `$defs`"
    raise SchemaLimit.of(_path(level[0])[:200], "", reason)


def _path(part: _Part) -> str:
    """Return the `$.`-path of a part (worked out for errors only)."""
    keys = []
    _, key, holder = part
    while holder is not None:
        keys.append(key)
        _, key, holder = holder
    return reduce(step, reversed(keys), "$")


def _length(text: str, part: _Part) -> int:
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        _invalid(part, "a string holds a lone surrogate, which UTF-8 cannot carry")
    return len(text)


def _check_scalar(part: _Part) -> None:
    value = part[0]
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if value.bit_length() > 4 * _MAX_DIGITS:
            _limit(_path(part), f"an integer of more than {_MAX_DIGITS} digits")
    elif not isinstance(value, float):
        _invalid(part, f"a {type(value).__name__} is not a JSON value")
    elif not math.isfinite(value):
        _invalid(part, f"{value} is not a JSON number")


def _invalid(part: _Part, reason: str) -> NoReturn:
    raise InvalidSchema.of(_path(part), "", reason)


def _limit(path: str, reason: str) -> NoReturn:
    raise SchemaLimit.of(path, "", reason)
