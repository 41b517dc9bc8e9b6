"""Builder of a request's envelope, and the check that its prompt has begun no illegal turn.

Owns: how a request's fields and options become an envelope, and which tools a format cannot call.
Must not know: engines, schemas, hosts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import IllegalPrefix, InvalidTools
from enforcer.request.tools import ToolChoice
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher
    from enforcer.request.options import Options
    from enforcer.request.spec import Spec
    from enforcer.request.tools import ToolSet
    from enforcer.turn.dialect import Dialect
    from enforcer.turn.table import Table
    from enforcer.vocabulary import Vocabulary


def envelope(
    table: Table,
    spec: Spec,
    options: Options,
    text_format: Callable[[], ArgumentMatcher] | None,
) -> Envelope:
    """Return what a request allows, where `options` hold for it.

    Raises:
        InvalidTools: text with a format could not be told from a call.

    """
    toolset = spec.toolset
    if text_format is not None and toolset.allowed and table.spells_calls:
        raise InvalidTools(
            "$.response_format",
            f"in the format {table.dialect.name} a call begins with ordinary text, "
            "which a reply with a `response_format` may have as well: leave out the "
            "format, or the tools (`tool_choice: none`)",
        )
    due = Due.NOTHING if options.allow_empty_turns else Due.WORD
    return Envelope(
        table,
        toolset.allowed,
        due=Due.CALL if toolset.choice is ToolChoice.REQUIRED else due,
        most=options.max_calls if toolset.parallel else 1,
        first=spec.first_index,
        identical=options.identical_calls,
        preamble=(
            table.dialect.preamble_ids if options.preamble_ids is None else options.preamble_ids
        ),
        text_format=text_format,
    )


def refuse_names(dialect: Dialect, toolset: ToolSet, vocabulary: Vocabulary | None = None) -> None:
    """Reject tools that cannot be called: in the format, or with the vocabulary, where given.

    Raises:
        InvalidTools: there is one.

    """
    for tool in toolset.tools.values():
        is_written = vocabulary is None or vocabulary.can_write(tool.name)
        if not (is_written and dialect.can_write(tool.name)):
            path = tool.path.removesuffix("parameters") + "name"
            refuse_name(dialect, tool.name, path)
            reason = f"the model's tokenizer has no token ids for {tool.name!r}: rename the tool"
            raise InvalidTools(path, reason)


def refuse_name(dialect: Dialect, name: str, path: str) -> None:
    """Refuse a tool, whose name stands at `path`, if a format has no call for it.

    Raises:
        InvalidTools: it has none.

    """
    if not dialect.can_write(name):
        raise InvalidTools(
            path,
            f"{name!r} cannot be called in the format {dialect.name}, where a name is an "
            "identifier of Python's, no keyword, and has no underscore first: rename the tool",
        )


def look_at_prompt(table: Table, spec: Spec, options: Options, prompt_ids: Sequence[int]) -> int:
    """Raise if a prompt has begun a turn that its request does not allow.

    Cheap: nothing is compiled. So what the prompt has begun inside a call's arguments, or of a
    text that has a format, is taken for right here.

    Returns:
        How many ids of the prompt stand in its turn, if only an engine can tell whether they
        are right; else 0.

    Raises:
        IllegalPrefix: the prompt has begun an illegal turn.

    """
    resolved = spec.resolve(options)
    followed: list[_Anything] = []

    def follow() -> _Anything:
        followed.append(_Anything())
        return followed[-1]

    text_format = None if spec.response_format is None else follow
    allowed = envelope(table, spec, resolved, text_format)
    begun = table.opened(prompt_ids)[1]
    if not begun:
        return 0
    try:
        Matcher(allowed, lambda _: _Followed(follow), prompt_ids)
    except IllegalPrefix:
        has_arguments = any(text.has_begun for text in followed)
        if table.behind_arguments is None or text_format is not None or not has_arguments:
            raise  # else only an engine knows where the arguments have ended
    return len(begun) if any(text.has_begun for text in followed) else 0


@dataclass(eq=False)
class _Followed:
    """Starts texts of whatever kind, in the place of a tool's grammar."""

    matcher: Callable[[], _Anything]


class _Anything:
    """Text of whatever kind, in the place of one that an engine would follow."""

    is_done = False
    left = 0

    def __init__(self) -> None:
        self.has_begun = False

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Leave the row: nobody asks for a mask, the ids are in the prompt."""

    def accept(self, token_id: int) -> bool:  # noqa: ARG002 - the reader has seen to special tokens
        self.has_begun = True
        return True

    def accept_rest(self, token_id: int, start: int) -> bool:  # noqa: ARG002 - any bytes
        self.has_begun = True
        return True

    def rollback(self, count: int) -> None:
        """Take nothing back: nothing is held."""

    def is_accepting(self) -> bool:
        # A marker asks: whether even none at all is a whole text, only an engine can tell.
        self.has_begun = True
        return True
