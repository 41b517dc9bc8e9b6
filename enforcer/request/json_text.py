"""Strict JSON encoder for a request's fields, and errors of msgspec's decoders.

Fields of any Python type become text before they are read, so that one reader serves programs and
requests alike, and each schema is encoded once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import msgspec

from enforcer.errors import InvalidTools

NULL = msgspec.Raw(b"null")
# Raised by msgspec's decoders; a text with a lone surrogate is a ValueError.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
# msgspec would write NaN as null and a set as a list. Made once: `json.dumps` makes an encoder at
# each call with options, which takes half of its time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dump(value: object, path: str, levels: int = 0) -> bytes:
    """Return a field as JSON text.

    Args:
        value: the field.
        path: the field's path, for errors.
        levels: the greatest depth below `path` to which an error may lead.

    Raises:
        InvalidTools: the value is not JSON, or nested too deeply to be written.

    """
    try:
        # Both together take half the time of `json`. Other text does not decode to itself.
        text = msgspec.json.encode(value)
        is_json = msgspec.json.decode(text) == value
    except (*UNREADABLE, TypeError):
        is_json = False
    if is_json:
        return text
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        for step, part in _parts(value) if levels else ():
            dump(part, path + step, levels - 1)
        raise InvalidTools(path, f"it is not JSON: {error}") from error


def _parts(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(f".{key}", part) for key, part in value.items()]
    return [(f"[{at}]", part) for at, part in enumerate(value)] if isinstance(value, list) else ()


def misfit(error: Exception, path: str) -> InvalidTools:
    """Return the error for a field at `path` that msgspec could not decode."""
    reason, _, within = str(error).partition(" - at `$")
    return InvalidTools(path + within.removesuffix("`"), reason[:1].lower() + reason[1:])
