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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.errors import RequestError, UnknownTag
from enforcer.turn import prompt_calls
from enforcer.vllm.native import kimi_k2, kimi_k3, marker_roles
from enforcer.vllm.native.misreadings import VllmReader
from enforcer.vllm.native.tags import PATH, NativeTurn, UnlikeError

if TYPE_CHECKING:
    from enforcer.turn.dialect import Dialect
    from enforcer.turn.table import Table
    from enforcer.vocabulary import Vocabulary

_READERS = 8  # three for each model that one process may serve


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Return markers of calls that tags of vLLM's own for a format spell; none if unknown."""
    return (*kimi_k2.markers(dialect), *kimi_k3.markers(dialect))


def concerns(tag: object, dialect: Dialect) -> bool:
    """Return whether a structural tag spells a marker of the dialect's calls.

    Tags of formats whose shapes are not known are vLLM's own affair.
    """
    spelled = markers(dialect)
    if not isinstance(tag, str) or not spelled:
        return False
    if "\\" in tag:  # a client may escape any character, and repeat a key
        with suppress(ValueError, RecursionError):
            tag = json.dumps(json.loads(tag, object_pairs_hook=list))
    # As in JSON, where quotes are escaped.
    return any(json.dumps(each)[1:-1] in tag for each in spelled)


def left_free(tag: str, dialect: Dialect) -> tuple[str, ...]:
    """Name the tools whose arguments a tag leaves free, though their schemas may not.

    That is so of tools without `strict` below level `parameter`, whose schemas vLLM's Python front
    end keeps to itself; it writes the same of tools that declare no `parameters`. In Kimi K3's
    format the schemas are read from the prompt.
    """
    with suppress(RequestError):  # the engine rejects it
        if found := turn_of(tag, dialect):
            return found.left_free
    return ()


def turn_of(
    tag: str,
    dialect: Dialect,
    vocabulary: Vocabulary | None = None,
    prompt_ids: Sequence[int] = (),
) -> NativeTurn | None:
    """Read a tag as far as no vocabulary is needed, which vLLM's front end does not have.

    Returns:
        Its meaning without the dialog's counter; None where it has another shape, or the engine
        alone can tell.

    Raises:
        InvalidTools: as `recognise` does.

    """
    with suppress(UnlikeError, ValueError, RecursionError):
        if kimi_k2.markers(dialect):
            return kimi_k2.turn(json.loads(tag), dialect)
        if kimi_k3.markers(dialect) and vocabulary is not None:
            return kimi_k3.turn(json.loads(tag), vocabulary, prompt_ids)
    return None


def recognise(tag: str, table: Table, prompt_ids: Sequence[int] | None) -> NativeTurn:
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
    found = turn_of(tag, table.dialect, table.vocabulary, ids)
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
def reader(table: Table, *, think_apart: bool | None = None) -> VllmReader | None:
    """Return what vLLM's parsers would misread.

    Args:
        table: the dialect, bound to the vocabulary.
        think_apart: as `NativeTurn` has it, whose tag is enforced; None for a spec, whose reply
            vLLM's Python parser reads.

    Returns:
        None where no marker of the format's calls is a special token, so that none can be spelled
        instead.

    """
    dialect = table.dialect
    if kimi_k2.markers(dialect):
        roles = (*kimi_k2.CALL, *kimi_k2.THINK) if think_apart else kimi_k2.CALL
        misread = [name for role in roles for name in dialect.markers[role]]
    elif kimi_k3.markers(dialect):
        misread = [kimi_k3.OPEN, kimi_k3.CLOSE]  # any marker begins with one of these
    else:
        special = marker_roles.tokens(table, marker_roles.of_calls(table))
        misread = [name for name, token in table.vocabulary.controls.items() if token in special]
    return VllmReader(table, misread, think_apart=think_apart) if misread else None
