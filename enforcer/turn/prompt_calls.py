"""Count of a dialog's calls in the token ids of its rendered prompt.

Owns: that count, for hosts that do not pass the messages. Must not know: messages (that is
`enforcer.request.history`), tools, hosts.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from enforcer.turn.dialect import Ids
from enforcer.turn.pattern import of_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.turn.pattern import Language
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
    role = None if turn.role is None else of_pieces((turn.role,))
    _, begun = table.opened(prompt_ids)
    before, controls = prompt_ids[: len(prompt_ids) - len(begun)], vocabulary.control_ids

    def reads(languages: Iterable[Language], at: int) -> bool:
        return any(_reads(table, language, before, at) for language in languages)

    calls, inside, in_call, previous = 0, False, False, -1
    for at in compress(range(len(before)), map(controls.__contains__, before)):
        token = before[at]
        follows = token == turn_end and previous >= 0 and before[previous] == turn_begin
        if follows and (role is None or reads((role,), previous + 1)):
            inside, in_call = True, False
        elif token in table.turn_end_ids or (role is None and token in {turn_begin, turn_end}):
            inside = in_call = False
        elif inside and reads(table.call_begins, at):
            in_call = True
        elif in_call and reads(table.call_ends, at):
            calls, in_call = calls + 1, False
        previous = at
    return calls


def _reads(table: Table, language: Language, ids: Sequence[int], at: int) -> bool:
    """Return whether a marker stands at a place; what follows it may begin in its last token."""
    rest = language
    for index in range(at, len(ids)):
        for symbol in table.symbols(ids[index]):
            after = rest.after(symbol)
            if after is None or after.nullable:
                return after is not None
            rest = after
    return False
