"""The ids of calls: those of a dialog in the form that its template needs, and those of a reply."""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from enforcer.request import history
from enforcer.turn.dialect import Ids

if TYPE_CHECKING:
    from enforcer.request.history import PastCall
    from enforcer.turn.dialect import Dialect

# Ids of mistral-common's form, which its templates demand.
_CHARACTERS = string.ascii_letters + string.digits
_LENGTH = 9
_ALPHANUMERIC = re.compile(rf"[a-zA-Z0-9]{{{_LENGTH}}}")


def invent(ids: Ids) -> str:
    """Return a new id for a call whose format has none on the wire."""
    if ids is Ids.RANDOM9:
        return "".join(random.choices(_CHARACTERS, k=_LENGTH))  # noqa: S311 - no secret
    return f"chatcmpl-tool-{uuid.uuid4().hex}"


def normalise(dialog: list[Any], dialect: Dialect) -> list[Any]:
    """Return a dialog's messages with call ids that the format's template can render.

    Raises:
        InvalidTools: `dialog` is not a list of message objects.

    """
    id_of = _RULES.get(dialect.ids)
    return dialog if id_of is None else history.normalise(dialog, partial(id_of, dialect))


def _written(dialect: Dialect, call: PastCall) -> str | None:
    # A call without a name has no id in the format's form; it keeps its own.
    return None if call.name is None else dialect.header_text(call.name, call.index)


def _of_message(_: Dialect, call: PastCall) -> str | None:
    """Return an id by which a renderer can pair results; it does not reach the prompt."""
    return None if call.name is None else f"{call.name}:{call.position}"


def _alphanumeric(_: Dialect, call: PastCall) -> str:
    if isinstance(call.id, str) and _ALPHANUMERIC.fullmatch(call.id):
        return call.id
    # The same at each turn of a dialog, so that its prompt keeps its beginning.
    known = json.dumps([str(call.id), call.name, call.index]).encode()
    digest = hashlib.sha256(known).digest()[:_LENGTH]
    return "".join(_CHARACTERS[byte % len(_CHARACTERS)] for byte in digest)


# `Ids.RANDOM` needs none: such a template takes any id.
_RULES = {Ids.WRITTEN: _written, Ids.MESSAGE: _of_message, Ids.RANDOM9: _alphanumeric}
