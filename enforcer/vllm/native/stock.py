"""The structural tags that vLLM's own front ends build, read back as a spec.

They come from vLLM's Python registry under `--tool-strict-level`, and from its Rust front end,
where no plugin sees the request. A tag that spells the markers of the model's calls in another
shape than those of `kimi_k2` and `kimi_k3` is rejected. vLLM would not hold what it promises:
there, the markers' token ids pass for text inside a JSON string, and a call to an undeclared tool
can be written so.

A tag does not have the tools that may not be called, the dialog's messages and `strict`. A tool
whose arguments it leaves free (`json_schema` is true below level `parameter`, null from the Rust
front end where no `parameters` are declared) takes any object.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.errors import RequestError, UnknownTag
from enforcer.turn import prompt_calls
from enforcer.vllm.native import kimi_k2, kimi_k3, marker_roles
from enforcer.vllm.native.misreadings import Reader
from enforcer.vllm.native.patterns import PATH, Stock, UnlikeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.dialect import Dialect
    from enforcer.turn.table import Table

_READERS = 8  # two for each model that one process may serve
_UNREAD = (UnlikeError, ValueError, RecursionError)


def is_known(dialect: Dialect) -> bool:
    """Return whether tags of vLLM's own for this format can be read."""
    return bool(_markers(dialect))


def _markers(dialect: Dialect) -> tuple[str, ...]:
    return (*kimi_k2.markers(dialect), *kimi_k3.markers(dialect))


def concerns(tag: object, dialect: Dialect) -> bool:
    """Return whether a structural tag spells a marker of the dialect's calls.

    Tags of formats whose shapes are not known are vLLM's own affair.
    """
    # As in JSON, where quotes are escaped.
    return isinstance(tag, str) and any(json.dumps(each)[1:-1] in tag for each in _markers(dialect))


def left_free(tag: str, dialect: Dialect) -> tuple[str, ...]:
    """Name the tools whose arguments a tag leaves free, though their schemas may not.

    That is so of tools without `strict` below level `parameter`, whose schemas vLLM's Python front
    end keeps to itself; it writes the same of tools that declare no `parameters`. In Kimi K3's
    format the schemas are read from the prompt.
    """
    try:
        found = turn_of(tag, dialect)
    except RequestError:  # the engine rejects it
        found = None
    return found.left_free if found else ()


def turn_of(tag: str, dialect: Dialect) -> Stock | None:
    """Read a tag as far as no vocabulary is needed, which vLLM's front end does not have.

    Returns:
        Its meaning without the dialog's counter; None where the engine alone can tell.

    Raises:
        InvalidTools: as `recognise` does.

    """
    if kimi_k2.markers(dialect):
        with suppress(*_UNREAD):
            return kimi_k2.turn(json.loads(tag), dialect)
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
    found = turn_of(tag, table.dialect)
    if found is None and kimi_k3.markers(table.dialect):
        with suppress(*_UNREAD):
            found = kimi_k3.turn(json.loads(tag), table.vocabulary, ids)
    if found is None:
        raise UnknownTag(
            PATH,
            "it spells the markers of tool calls, but not in a shape that vLLM's own front ends "
            "build, and so cannot be enforced: send the tools themselves, or what "
            "`enforcer.extra_body` builds of them",
        )
    counted = replace(found.spec, first_index=prompt_calls.count_calls(table, ids))
    return found._replace(spec=counted)


@lru_cache(_READERS)
def reader(table: Table, *, think_apart: bool) -> Reader:
    """Return what the parser of the front end that built a tag would misread."""
    markers = _misread(table.dialect, thinks=think_apart)
    return Reader(table, markers, closed_think=think_apart)


@lru_cache(_READERS)
def text_reader(table: Table) -> Reader | None:
    """Return what vLLM's Python parser of any format would misread.

    Returns:
        None where no marker of its calls is a special token, so that none can be spelled instead.

    """
    markers = _misread(table.dialect, thinks=False)
    if not markers:
        special = marker_roles.tokens(table, marker_roles.of_calls(table))
        markers = [name for name, token in table.vocabulary.controls.items() if token in special]
    return Reader(table, markers, closed_think=False, trims=False) if markers else None


def _misread(dialect: Dialect, *, thinks: bool) -> list[str]:
    """Return the texts that vLLM's parsers take for markers; none if the format's are not known."""
    if kimi_k2.markers(dialect):
        roles = (*kimi_k2.CALL, *kimi_k2.THINK) if thinks else kimi_k2.CALL
        return [name for role in roles for name in dialect.markers[role]]
    # Any marker of Kimi K3's format begins with one of these.
    return [kimi_k3.OPEN, kimi_k3.CLOSE] if kimi_k3.markers(dialect) else []
