"""The string formats of JSON Schema that are regular languages.

Owns: one pattern a format, each a subset of what its specification allows.
Must not know: how patterns are read.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex.assertions import Reading, language
from enforcer.regex.pattern import read

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

_H = "[0-9A-Fa-f]"
_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_PATTERNS = {
    "date": _DATE,
    "uuid": f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}",
    "json-pointer": "(?:/(?:[^~/]|~[01])*)*",
}


@lru_cache(maxsize=64)
def format_regex(name: str) -> Regex | None:
    """Build the language of a format; None for one that is an annotation only."""
    pattern = _PATTERNS.get(name)
    if pattern is None:
        return None
    anchored = f"^(?:{pattern})$"
    return language(read(anchored), Reading.NARROW, anchored)
