"""What replies of a format's model must look like, from the format's own description.

Owns: which ids and markers go with which dialect. Must not know: how replies are judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enforcer.turn.dialect import Ids
from enforcer.verify import measure
from enforcer.verify.measure import IdRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from referencing import Registry

    from enforcer.turn.dialect import Dialect
    from enforcer.verify.measure import Verdict
    from enforcer.verify.replies import Reply

_TOLD = re.compile(r'^enforcer_dialect\{dialect="(\w+)"\} [1-9]', re.MULTILINE)
_RULES = {
    Ids.WRITTEN: IdRule.KIMI,
    Ids.MESSAGE: IdRule.UNIQUE,
    Ids.RANDOM: IdRule.UNIQUE,
    Ids.RANDOM9: IdRule.NINE,
}


@dataclass(frozen=True, slots=True)
class Expected:
    """How replies are judged.

    Attributes:
        ids: what the id of a call has to be.
        markers: what no text may have in it.
        registry: what the schemas of requests may refer to.

    """

    ids: IdRule = IdRule.KIMI
    markers: tuple[str, ...] = measure.MARKERS
    registry: Registry[Any] = measure.NO_DOCUMENTS

    def judge(self, body: Mapping[str, Any], reply: Reply) -> Verdict:
        """Judge one reply to a chat request."""
        return measure.judge(body, reply, self.ids, self.markers, self.registry)


def told(metrics: str | None) -> str | None:
    """Find the dialect that a server's metrics tell of; None if they tell of none, or several."""
    found = set(_TOLD.findall(metrics or ""))
    return found.pop() if len(found) == 1 else None


def of(
    dialect: Dialect, ids: IdRule | None = None, schemas: Mapping[str, Any] | None = None
) -> Expected:
    """Say what a dialect's replies must look like.

    Args:
        dialect: the format of the served model.
        ids: overrules what the dialect has.
        schemas: what the schemas of requests may refer to, by URI.

    """
    opens = {*dialect.turn.begin, dialect.turn.end}
    markers = tuple(name for name in dialect.controls if name not in opens)
    return Expected(ids or _RULES[dialect.ids], markers, measure.documents(schemas or {}))
