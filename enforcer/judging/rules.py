"""Rules for the replies of a format's model, from the format's own description.

Owns: which ids and markers go with which dialect. Must not know: how replies are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from referencing import Registry
from referencing.jsonschema import DRAFT202012

from enforcer.turn import dialects
from enforcer.turn.dialect import Dialect, Ids


class IdRule(Enum):
    """The form that the id of a call must have."""

    KIMI = "kimi"  # functions.NAME:IDX, as the model writes it
    INDEX = "index"  # anything:IDX, as Moonshot's own API answers
    NINE = "nine"  # nine letters and digits, as Mistral's templates demand; unique
    UNIQUE = "unique"  # anything that no other call of the reply has


_RULES = {
    Ids.WRITTEN: IdRule.KIMI,
    Ids.MESSAGE: IdRule.UNIQUE,
    Ids.RANDOM: IdRule.UNIQUE,
    Ids.RANDOM9: IdRule.NINE,
}


_NO_DOCUMENTS: Registry[Any] = Registry()  # it retrieves none


@dataclass(frozen=True, slots=True)
class ReplyRules:
    """Rules for the replies of a format's model.

    Attributes:
        ids: the form of the ids of calls.
        markers: markers that no text may contain.
        registry: schemas that requests' schemas may refer to.

    """

    ids: IdRule
    markers: Sequence[str] = ()
    registry: Registry[Any] = _NO_DOCUMENTS


def rules_of(
    dialect: Dialect, ids: IdRule | None = None, schemas: Mapping[str, Any] | None = None
) -> ReplyRules:
    """Return the rules for replies in a dialect.

    Args:
        dialect: the format of the served model.
        ids: overrules what the dialect has.
        schemas: what the schemas of requests may refer to, by URI.

    """
    opens = {*dialect.turn.begin, dialect.turn.end}
    markers = tuple(name for name in dialect.controls if name not in opens)
    given = _NO_DOCUMENTS.with_contents((schemas or {}).items(), default_specification=DRAFT202012)
    return ReplyRules(ids or _RULES[dialect.ids], markers, given.crawl())


KIMI_K2 = rules_of(dialects.load("kimi_k2"))  # of replies of which no format is named
