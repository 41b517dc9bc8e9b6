"""The limits on all schemas of one request together.

Owns: which declarations a server gets at once, and when these are more than it takes, or may have
no time for. Must not know: what is found out about single schemas, how anything is printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import InvalidTools
from enforcer.request.spec import too_large
from enforcer.request.tools import as_text
from enforcer.schema import Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.cli.declarations import Declaration
    from enforcer.schema.limits import Limits


@dataclass(frozen=True, slots=True)
class Oversized:
    """Declarations of which a server takes fewer in one request.

    Attributes:
        where: the file, and the line in JSON Lines.
        path: where the list of tools, or the only schema, stands there.
        reason: what is too much.
        refused: whether they stand in a request; else they are a list, such as an MCP server's, of
            which a request may declare a part.

    """

    where: str
    path: str
    reason: str
    refused: bool


def oversized(declared: Sequence[Declaration], limits: Limits) -> Iterator[Oversized]:
    """Find what is over the limits of a request, among the declarations of one document."""
    together: dict[tuple[bool, str], list[Declaration]] = {}
    for one in declared:
        if one.request is not None:
            together.setdefault((True, one.request), []).append(one)
        elif one.root is Root.OBJECT:
            together.setdefault((False, one.path.rpartition("[")[0] or "$"), []).append(one)
    for (is_request, path), group in together.items():
        tools = sum(one.root is Root.OBJECT for one in group)
        reason = too_large(tools, sum(map(_size, group)), limits)
        if reason is not None:
            at = f"{path}.tools" if is_request and tools else group[0].path if is_request else path
            yield Oversized(group[0].where, at, reason, is_request)


def _size(one: Declaration) -> int:
    """Give the characters of a schema as a spec has it; none of what is refused by itself."""
    try:
        return 0 if one.schema is None else len(as_text(one.schema, one.path))
    except InvalidTools:
        return 0
