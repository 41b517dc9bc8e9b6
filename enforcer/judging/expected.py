"""What replies of a format's model must look like, from the format's own description.

Owns: which ids and markers go with which dialect. Must not know: how replies are judged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from enforcer.judging.judge import IdRule, ReplyRules, documents
from enforcer.turn.dialect import Ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.turn.dialect import Dialect

_LABEL = re.compile(r'(\w+)="([^"]*)"')
_RULES = {
    Ids.WRITTEN: IdRule.KIMI,
    Ids.MESSAGE: IdRule.UNIQUE,
    Ids.RANDOM: IdRule.UNIQUE,
    Ids.RANDOM9: IdRule.NINE,
}


def told(metrics: str | None) -> str | None:
    """Find the dialect that a server's metrics tell of; None if they tell of none, or several."""
    found = {labels["dialect"] for labels, count in samples(metrics, "enforcer_dialect") if count}
    return found.pop() if len(found) == 1 else None


def samples(metrics: str | None, family: str) -> list[tuple[dict[str, str], float]]:
    """Return the labels and the value of each sample of a metric family."""
    found = re.findall(rf"^{family}\{{(.*)\}} (\S+)$", metrics or "", re.MULTILINE)
    return [(dict(_LABEL.findall(labels)), float(value)) for labels, value in found]


def of(
    dialect: Dialect, ids: IdRule | None = None, schemas: Mapping[str, Any] | None = None
) -> ReplyRules:
    """Return what a dialect's replies must look like.

    Args:
        dialect: the format of the served model.
        ids: overrules what the dialect has.
        schemas: what the schemas of requests may refer to, by URI.

    """
    opens = {*dialect.turn.begin, dialect.turn.end}
    markers = tuple(name for name in dialect.controls if name not in opens)
    return ReplyRules(ids or _RULES[dialect.ids], markers, documents(schemas or {}))
