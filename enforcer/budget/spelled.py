r"""Texts of regular languages that are being written, and their ends.

Owns: the bytes that complete a text. Must not know: values, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.budget.least import least
from enforcer.partial import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.partial import Partial
    from enforcer.regex import Regex


def endings(partial: Partial, regex: Regex) -> Iterator[bytes]:
    """Give the bytes that complete a text, its closing quote included; one way or several.

    The shortest of what may follow the character that has been begun comes after it.
    """
    quote = b'"' if partial.quoted else b""
    if not partial.pending:
        text = least(regex)
        if text is not None:
            yield spell(text, quoted=partial.quoted) + quote
        return
    for rest, after in partial.ways(regex):
        text = least(after)
        if text is not None:
            yield rest + spell(text, quoted=partial.quoted) + quote
