"""The counts of the real model's replies, and their table."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from enforcer.judging.judge import Fault, judge
from enforcer.judging.rules import IdRule, ReplyRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.demo.real_model.workload import Request
    from enforcer.judging.judge import ReplyVerdict
    from enforcer.judging.replies import ChatReply
    from enforcer.vocabulary import Vocabulary

_BEGIN = "<tool_call>"
_CALL = re.compile(rb"<tool_call>(.*?)</tool_call>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of replies; a reply that `max_tokens` cut off has no calls.

    Attributes:
        requests: all of them.
        calls: replies with calls.
        undeclared: with a call to a tool that the request does not declare.
        schema: with arguments that fail the tool's schema.
        valid: with calls, all of them declared and valid.
        lost: in which the model wrote more calls than the client received.
        cut_off: ended by `max_tokens`.
        failed: refused, or ended by an error.
        unchanged: of stock vLLM's greedy, unconstrained turns with valid calls, those that have
            the same token ids. A call that repeats a name is not valid: parsers differ about it.
        comparable: how many of these turns there are.
        just: replies with just the call that the prompt names.
        named: prompts that name a tool and the values.

    """

    requests: int
    calls: int
    undeclared: int
    schema: int
    valid: int
    lost: int
    cut_off: int
    failed: int
    unchanged: int
    comparable: int
    just: int
    named: int


def verdicts(requests: Sequence[Request], replies: Sequence[ChatReply]) -> list[ReplyVerdict]:
    """Judge each reply by its request."""
    return [
        judge(request.body, reply, ReplyRules(IdRule.UNIQUE))
        for request, reply in zip(requests, replies, strict=True)
    ]


def count(
    vocabulary: Vocabulary,
    requests: Sequence[Request],
    replies: Sequence[ChatReply],
    stock: Sequence[ChatReply],
) -> Counts:
    """Count the replies of one server; `stock` are those of vLLM as it is."""
    judged = verdicts(requests, replies)
    bad = {Fault.UNDECLARED, Fault.SCHEMA}
    right = [
        request.greedy
        and request.body["tool_choice"] == "auto"
        and verdict.has_calls
        and not verdict.findings
        and _begun(vocabulary, reply) == len(reply.calls)
        and not _repeats_a_name(vocabulary.decode(reply.token_ids))
        for request, reply, verdict in zip(requests, stock, verdicts(requests, stock), strict=True)
    ]
    return Counts(
        requests=len(requests),
        calls=sum(verdict.has_calls for verdict in judged),
        undeclared=sum(Fault.UNDECLARED in verdict.faults for verdict in judged),
        schema=sum(Fault.SCHEMA in verdict.faults for verdict in judged),
        valid=sum(verdict.has_calls and not verdict.faults & bad for verdict in judged),
        lost=sum(
            verdict.complete and _begun(vocabulary, reply) > len(reply.calls)
            for verdict, reply in zip(judged, replies, strict=True)
        ),
        cut_off=sum(
            reply.answered and not v.complete for v, reply in zip(judged, replies, strict=True)
        ),
        failed=sum(not reply.answered for reply in replies),
        unchanged=sum(
            so and one.token_ids == other.token_ids
            for so, one, other in zip(right, stock, replies, strict=True)
        ),
        comparable=sum(right),
        just=sum(
            verdict.complete and request.is_answered(reply)
            for request, reply, verdict in zip(requests, replies, judged, strict=True)
        ),
        named=sum(request.named is not None for request in requests),
    )


def _begun(vocabulary: Vocabulary, reply: ChatReply) -> int:
    """Count the calls that a reply begins; a marker within arguments begins none."""
    if _BEGIN in vocabulary.controls:
        return list(reply.token_ids).count(vocabulary.control(_BEGIN))
    inside = sum(call.arguments.count(_BEGIN) for call in reply.calls)
    return vocabulary.decode(reply.token_ids).count(_BEGIN.encode()) - inside


def _repeats_a_name(text: bytes) -> bool:
    """Return whether an object in a call has two members of one name, which parsers hide."""
    repeated: list[str] = []

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        repeated.extend(name for name, _ in pairs[len(found) :])
        return found

    for call in _CALL.findall(text):
        json.loads(call, object_pairs_hook=members)
    return bool(repeated)


def render(rows: Mapping[str, Counts]) -> Table:
    """Lay out a line per server."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    names = [each.name for each in fields(Counts) if each.name not in ("comparable", "named")]
    headings = {"cut_off": "cut\noff", "schema": "fail the\nschema", "just": "just the\nvalues"}
    for name in ("", *names):
        table.add_column(
            headings.get(name, name), justify="right" if name else "left", no_wrap=True
        )
    for row, counts in rows.items():
        cells = {name: str(value) for name, value in asdict(counts).items()}
        cells["unchanged"] += f" of {counts.comparable}"
        cells["just"] += f" of {counts.named}"
        table.add_row(row, *(cells[name] for name in names))
    return table
