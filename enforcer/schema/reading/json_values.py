"""Whether any Python object is JSON, within the limits.

Owns: that check, and telling whether identifiers occur in it. Must not know: what keywords mean.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidSchema, SchemaError, SchemaLimit
from enforcer.schema.limits import named
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from enforcer.schema.limits import Limits

_MAX_DIGITS = 1_000  # digits of an integer in a schema; far above any bound in use
_SCOPED = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})


def check_json(document: object, limits: Limits) -> bool:
    """Refuse what is not JSON or over the limits; tell whether references need a registry.

    Raises:
        InvalidSchema: a value that JSON cannot carry.
        SchemaLimit: too deep, too many values, or too many characters.

    """
    scoped = _looked_through(document, limits)
    return _searched(document, limits) if scoped is None else scoped


def _looked_through(document: object, limits: Limits) -> bool | None:
    """Tell what `check_json` does, in a fraction of the time; None if anything is unusual."""
    nodes = size = 0
    scoped = False
    level: list[Any] = [document]
    for _ in range(limits.depth + 1):
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is str:
                if not value.isascii():
                    return None
                size += len(value)
            elif kind is dict:
                try:
                    keys = "".join(value)
                except TypeError:  # one of them is no string
                    return None
                if not keys.isascii():
                    return None
                size += len(keys)
                scoped = scoped or not _SCOPED.isdisjoint(value)
                below.extend(value.values())
            elif kind is list:
                below.extend(value)
            elif kind is not bool:
                try:
                    _check_scalar(value, "")
                except SchemaError:
                    return None
        nodes += len(level)
        if nodes + len(below) > limits.nodes or size > limits.size:
            return None
        if not below:
            return scoped
        level = below
    return None


def _searched(document: object, limits: Limits) -> bool:
    """Do what `check_json` does, the path at hand of whatever is wrong."""
    nodes = size = 0
    scoped = False
    stack: list[tuple[Any, str, int]] = [(document, "$", 0)]
    while stack:
        value, path, depth = stack.pop()
        nodes += 1
        if depth > limits.depth:
            reason = f"nested deeper than {limits.depth} levels {named('depth')}"
            _limit(path[:200], f"{reason}; flatten it with `$defs`")
        if nodes > limits.nodes:
            _limit("$", f"more than {limits.nodes} values {named('nodes')}; split the schema up")
        if isinstance(value, dict):
            for key, child in value.items():
                if not isinstance(key, str):
                    _invalid(path, f"the name {key!r:.60} is not a string")
                _check_text(key, path)
                size += len(key)
                scoped = scoped or key in _SCOPED
                stack.append((child, step(path, key), depth + 1))
        elif isinstance(value, list):
            stack.extend((child, f"{path}[{i}]", depth + 1) for i, child in enumerate(value))
        elif isinstance(value, str):
            _check_text(value, path)
            size += len(value)
        else:
            _check_scalar(value, path)
        if size > limits.size:
            _limit("$", f"more than {limits.size} characters {named('size')}; split the schema up")
        if len(stack) > limits.nodes:
            _limit("$", f"more than {limits.nodes} values {named('nodes')}; split the schema up")
    return scoped


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        _invalid(path, "a string holds a lone surrogate, which UTF-8 cannot carry")


def _check_scalar(value: Any, path: str) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if value.bit_length() > 4 * _MAX_DIGITS:
            _limit(path, f"an integer of more than {_MAX_DIGITS} digits")
    elif not isinstance(value, float):
        _invalid(path, f"a {type(value).__name__} is not a JSON value")
    elif not math.isfinite(value):
        _invalid(path, f"{value} is not a JSON number")


def _invalid(path: str, reason: str) -> None:
    raise InvalidSchema.of(path, "", reason)


def _limit(path: str, reason: str) -> None:
    raise SchemaLimit.of(path, "", reason)
