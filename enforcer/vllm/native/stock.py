"""The structural tags that vLLM's own front ends build, read back as a spec.

Owns: which tags of vLLM 0.32 and 0.33 concern a dialect, and what is made of them: those of its
Python registry under `--tool-strict-level`, and of its Rust front end, where no plugin sees the
request; and what such a front end would misread. Must not know: the shapes (those are
`stock_k2`'s and `stock_k3`'s), vLLM's code, how a spec is enforced.

A shape is matched whole: every key is one that is known, every value one that is expected.
A tag that calls by the dialect's markers in any other shape is refused. Left to vLLM it
would promise what it does not hold: there, the markers' ids pass for text inside a JSON
string, and a call to an undeclared tool can be written so.

What a tag does not tell: tools that may not be called, the dialog's messages, `strict`. A
tool whose arguments it leaves free (`json_schema` is true below level `parameter`, null from
the Rust front end where no `parameters` are declared) gets an object, as everywhere.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.errors import UnknownTag
from enforcer.turn import prompt_calls
from enforcer.vllm.native import marker_roles, stock_k2, stock_k3
from enforcer.vllm.native.misreadings import Reader
from enforcer.vllm.native.stock_shapes import PATH, UnlikeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.request.spec import Spec
    from enforcer.turn.dialect import Dialect
    from enforcer.turn.table import Table

_FREE = re.compile(r'"json_schema"\s*:\s*true')
_READERS = 8  # two for each model that one process may serve


class FrontEnd(Enum):
    """Who built a tag, as far as it shows in the tag and matters to its replies."""

    THINK_APART = "the Rust front end, which splits the think off as text"
    OTHER = "the Python one, or the Rust one without a reasoning parser"


@dataclass(frozen=True, slots=True)
class Stock:
    """What a structural tag of vLLM's own amounts to."""

    spec: Spec
    front_end: FrontEnd


def is_known(dialect: Dialect) -> bool:
    """Tell whether tags of vLLM's own for this format can be read."""
    return bool(_markers(dialect))


def _markers(dialect: Dialect) -> tuple[str, ...]:
    return (*stock_k2.markers(dialect), *stock_k3.markers(dialect))


def concerns(tag: object, dialect: Dialect) -> bool:
    """Tell whether a structural tag spells a marker of the dialect's calls.

    Cheap, and without effect on other models' tags: nothing of the dialect is needed to say no.
    Of formats whose tags are not known, none is concerned: they are vLLM's own affair.
    """
    known = _markers(dialect)
    # As it stands in JSON, where quotes are escaped.
    return isinstance(tag, str) and any(json.dumps(marker)[1:-1] in tag for marker in known)


def left_free(tag: str, dialect: Dialect) -> list[str]:
    """Name the tools whose arguments a tag leaves free, though their schemas may not.

    That is so of tools without `strict` below level `parameter`, whose schemas vLLM's Python front
    end keeps to itself; it writes the same of tools that declare no `parameters`. In Kimi K3's
    format the schemas are read from the prompt.
    """
    # Most tags have all schemas, and some are megabytes, which this process has to do with.
    if not stock_k2.markers(dialect) or not _FREE.search(tag):
        return []
    try:
        return stock_k2.Reader(dialect).left_free(json.loads(tag))
    except (ValueError, RecursionError):
        return []  # no tag at all, which is refused where it is read


def turn_of(tag: str, dialect: Dialect) -> Spec | None:
    """Read of a tag what takes no vocabulary, which a front end of vLLM's own has none of.

    Returns:
        The turn without the dialog's counter; None where the engine alone can tell.

    Raises:
        InvalidTools: as `recognise` does.

    """
    if not stock_k2.markers(dialect):
        return None
    try:
        return stock_k2.Reader(dialect).turn(json.loads(tag))[0]
    except (UnlikeError, ValueError, RecursionError):
        return None


def recognise(tag: str, table: Table, prompt_ids: Sequence[int] | None) -> Stock:
    """Read a structural tag of vLLM's own.

    Its schemas are unchecked, since no front end of ours has seen them.

    Args:
        tag: `structured_outputs.structural_tag` that concerns the dialect and carries no spec.
        table: the dialect, bound to the served model's vocabulary.
        prompt_ids: the rendered prompt, for the dialog's counter and, in Kimi K3's format, the
            tools' schemas; None stands for a dialog without either.

    Raises:
        UnknownTag: it has another shape.
        InvalidTools: a name or schema in it is not what a chat request carries.

    """
    ids = prompt_ids or ()
    try:
        data = json.loads(tag)
        if stock_k2.markers(table.dialect):
            spec, think_apart = stock_k2.Reader(table.dialect).turn(data)
        else:
            spec, think_apart = stock_k3.turn(data, table.vocabulary, ids)
    except (UnlikeError, ValueError, RecursionError):
        raise UnknownTag(
            PATH,
            "it spells the markers of tool calls, but not in a shape that vLLM's own front ends "
            "build, and so cannot be enforced: send the tools themselves, or what "
            "`enforcer.extra_body` builds of them",
        ) from None
    spec = replace(spec, first_index=prompt_calls.count_calls(table, ids))
    return Stock(spec, FrontEnd.THINK_APART if think_apart else FrontEnd.OTHER)


@lru_cache(_READERS)
def reader(table: Table, front_end: FrontEnd) -> Reader:
    """Give what keeps a turn readable for the parser that a front end has."""
    thinks = front_end is FrontEnd.THINK_APART
    return Reader(table, _misread(table.dialect, thinks=thinks), closed_think=thinks)


@lru_cache(_READERS)
def text_reader(table: Table) -> Reader | None:
    """Give what keeps a turn readable for vLLM's Python parser of any format.

    Returns:
        None where no marker of its calls is a control token, so that none can be spelled instead.

    """
    dialect, controls = table.dialect, table.vocabulary.controls
    if is_known(dialect):
        markers = _misread(dialect, thinks=False)
    else:
        patterns = marker_roles.of_calls(table)
        names = [name for name in dialect.controls if name in controls]
        markers = [name for name in names if any(name in pattern for pattern in patterns)]
    return Reader(table, markers, closed_think=False, trims=False) if markers else None


def _misread(dialect: Dialect, *, thinks: bool) -> list[str]:
    """Give the texts that vLLM's parsers take for markers."""
    if stock_k2.markers(dialect):
        roles = (*stock_k2.CALL, *stock_k2.THINK) if thinks else stock_k2.CALL
        return [name for role in roles for name in dialect.markers[role]]
    # Whatever a marker of this format is, it begins with one of these.
    return [stock_k3.OPEN, stock_k3.CLOSE]
