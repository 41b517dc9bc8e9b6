"""The ids of calls: what a dialog's must be for its template, and what a reply's are.

Owns: what each kind of id means. Must not know: tokens, how ids are paired with results.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import uuid
from typing import TYPE_CHECKING, Any

from enforcer.request import history
from enforcer.turn.dialect import Ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.request.history import PastCall
    from enforcer.turn.dialect import Dialect

# Ids of mistral-common's form, which its templates demand.
_CHARACTERS = string.ascii_letters + string.digits
_LENGTH = 9
_ALPHANUMERIC = re.compile(rf"[a-zA-Z0-9]{{{_LENGTH}}}")


def invent(ids: Ids) -> str:
    """Give the id of a call whose format has none on the wire."""
    if ids is Ids.RANDOM9:
        return "".join(random.choices(_CHARACTERS, k=_LENGTH))  # noqa: S311 - no secret
    return f"chatcmpl-tool-{uuid.uuid4().hex}"


def normalise(dialog: list[Any], dialect: Dialect) -> list[Any]:
    """Give a dialog's messages with call ids that the dialect's template can render.

    Raises:
        InvalidTools: `dialog` is not a list of message objects.

    """
    id_of = _RULES[dialect.ids](dialect)
    return dialog if id_of is None else history.normalise(dialog, id_of)


def _functions(dialect: Dialect) -> Callable[[PastCall], str | None]:
    def id_of(call: PastCall) -> str | None:
        # A call without a name has no id in the dialect's form; it keeps its own.
        return None if call.name is None else dialect.header_text(call.name, call.index)

    return id_of


def _message(_: Dialect) -> Callable[[PastCall], str | None]:
    """Write ids by which a renderer can pair results; they do not reach the prompt."""
    return lambda call: None if call.name is None else f"{call.name}:{call.position}"


def _alphanumeric(_: Dialect) -> Callable[[PastCall], str | None]:
    def id_of(call: PastCall) -> str:
        if isinstance(call.id, str) and _ALPHANUMERIC.fullmatch(call.id):
            return call.id
        # The same at each turn of a dialog, so that its prompt keeps its beginning.
        known = json.dumps([str(call.id), call.name, call.index]).encode()
        number = int.from_bytes(hashlib.sha256(known).digest())
        digits = []
        for _ in range(_LENGTH):
            number, digit = divmod(number, len(_CHARACTERS))
            digits.append(_CHARACTERS[digit])
        return "".join(digits)

    return id_of


_RULES: dict[Ids, Callable[[Dialect], Callable[[PastCall], str | None] | None]] = {
    Ids.WRITTEN: _functions,
    Ids.MESSAGE: _message,
    Ids.RANDOM: lambda _: None,
    Ids.RANDOM9: _alphanumeric,
}
