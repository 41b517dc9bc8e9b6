"""What is wrong with the replies of one server, counted.

Owns: the columns of the table. Must not know: servers, dialects.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from enforcer.judging.judge import Fault, judge
from enforcer.judging.rules import IdRule as Rule
from enforcer.judging.rules import ReplyRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.formats.catalogue import Format
    from enforcer.judging.replies import ChatReply
    from enforcer.vocabulary import Vocabulary

WRONG = ("undeclared", "schema", "lost", "leaked", "choice", "failed")


def count(
    row: Format,
    vocabulary: Vocabulary,
    bodies: Sequence[Mapping[str, Any]],
    replies: Sequence[ChatReply],
) -> Counter[str]:
    """Count the replies that each column is about; one may count in several.

    Returns:
        `calls`: complete, with calls; `undeclared`, `schema`: with such a call; `lost`: complete,
        with fewer calls than the model began; `leaked`: with a marker in the
        content; `choice`: not what `tool_choice` demands; `failed`: refused, or ended by an error;
        `cut off`: ended by `max_tokens`.

    """
    found: Counter[str] = Counter()
    for body, reply in zip(bodies, replies, strict=True):
        found.update(_columns(row, vocabulary, body, reply))
    return found


def _columns(
    row: Format, vocabulary: Vocabulary, body: Mapping[str, Any], reply: ChatReply
) -> list[str]:
    verdict = judge(body, reply, ReplyRules(Rule.UNIQUE))
    if not reply.answered:
        return ["failed"]
    is_so = {
        "calls": verdict.has_calls,
        "undeclared": Fault.UNDECLARED in verdict.faults,
        "schema": Fault.SCHEMA in verdict.faults,
        "lost": verdict.complete and begun(row, vocabulary, reply) > len(reply.calls),
        "leaked": any(marker in reply.content for marker in (row.call, row.end, *row.markers))
        if row.call
        else any(marker in reply.content for marker in (row.end, *row.markers)),
        "choice": Fault.CHOICE in verdict.faults,
        "cut off": not verdict.complete,
    }
    return [column for column, so in is_so.items() if so]


def begun(row: Format, vocabulary: Vocabulary, reply: ChatReply) -> int:
    """Count the calls, or lists of calls, that the ids of a reply begin.

    A marker that is a token counts as a token alone; spelled with others it is text. One that is
    always spelled is text inside the arguments of a call.
    """
    ids = reply.token_ids
    if not row.call:
        text = vocabulary.decode(i for i in ids if i not in vocabulary.control_ids).decode(
            errors="replace"
        )
        first = {"llama3_json": r"\{\s*\"", "pythonic": r"\[\w+\("}
        return bool(re.match(first.get(row.name, first["pythonic"]), text))
    if row.call in vocabulary.controls:
        return list(ids).count(vocabulary.control(row.call))
    name = next((n for n in vocabulary.controls if row.call.startswith(n)), "")
    if not name:
        inside = sum(call.arguments.count(row.call) for call in reply.calls)
        return vocabulary.decode(ids).count(row.call.encode()) - inside
    rest = row.call.removeprefix(name).encode()
    token = vocabulary.control(name)
    return sum(
        each == token and vocabulary.decode(ids[at + 1 : at + 1 + len(rest)]).startswith(rest)
        for at, each in enumerate(ids)
    )
