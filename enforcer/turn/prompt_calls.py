"""The calls of a dialog, counted in the ids of its rendered prompt.

Owns: that count, where the messages themselves are out of sight. Must not know: messages (that is
`enforcer.request.history`), tools, hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.turn.dialect import Ids, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.table import Table


def count_calls(table: Table, prompt_ids: Sequence[int]) -> int:
    """Count the calls in the assistant's turns before the one that a prompt opens.

    A call counts from its beginning to its end, whatever its id looks like: templates write
    a client's own ids as they are. Markers in other turns (a user may type them, and
    tokenizers then make control tokens of them) are none of the dialog's calls. Those of the
    opened turn are left out, since the turn's matcher counts them itself.
    """
    turn, vocabulary = table.dialect.turn, table.vocabulary
    if table.dialect.ids not in {Ids.WRITTEN, Ids.MESSAGE} or turn.end is None:
        return 0  # no call of this format has a number
    turn_begin = vocabulary.control(turn.begin[0])
    turn_end = vocabulary.control(turn.end)
    begins = {
        token
        for leaves in table.leaves.values()
        for token, to in leaves.items()
        if table.segment(to) is Segment.HEADER
    }
    ends = {
        token
        for state, leaves in table.leaves.items()
        if table.segment(state) is Segment.ARGUMENTS
        for token in leaves
    }
    _, begun = table.opened(prompt_ids)
    controls = vocabulary.control_ids
    marks = [token for token in prompt_ids[: len(prompt_ids) - len(begun)] if token in controls]
    calls, inside, in_call, previous = 0, False, False, -1
    for token in marks:
        if token == turn_end:
            inside, in_call = previous == turn_begin, False
        elif token == turn_begin or token in table.turn_end_ids:
            inside = False
        elif inside and token in begins:
            in_call = True
        elif in_call and token in ends:
            calls, in_call = calls + 1, False
        previous = token
    return calls
