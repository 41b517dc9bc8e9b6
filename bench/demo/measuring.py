"""Judging replies by what the request declared, and counting.

Owns: what is wrong with a reply, in K2-Vendor-Verifier's terms and a few more, and
the counts of a run. Must not know: the library. The judge shares no code with
what it judges: it has `jsonschema` and the format's own description, no more.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bench.demo.sending import Call, Reply

# Kimi K2's markers, and a letter for each: a turn's layout is then a short word.
_MARKERS = {
    "<|tool_calls_section_begin|>": "S",
    "<|tool_call_begin|>": "B",
    "<|tool_call_argument_begin|>": "A",
    "<|tool_call_end|>": "E",
    "<|tool_calls_section_end|>": "Z",
    "<|im_end|>": "I",
    "<think>": "<",
    "</think>": ">",
}
# Text (`t`), then perhaps one section of calls, then the end of the turn.
_LAYOUT = re.compile(r"(<?t?>)?t?(?:S((?:BtAtE)+)Z)?I")


class Fault(Enum):
    """What can be wrong with a reply."""

    HTTP = "the server answered with an error"
    UNDECLARED = "a call to a function that the request does not declare or allow"
    SCHEMA = "arguments that fail the function's schema"
    ID = "an id that is not functions.NAME:IDX with the dialogue's next index"
    LEAK = "a marker in the content"
    CHOICE = "a tool_choice or parallel_tool_calls that was not obeyed"
    EMPTY = "neither text nor calls"


# An empty reply is no good to anyone, but a model may choose to say nothing.
_FORGIVEN = frozenset({Fault.EMPTY})


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reply, judged.

    Attributes:
        finish: `stop`, `tool_calls`, or `others` as K2-Vendor-Verifier groups them.
        has_calls: the reply has calls and was not cut off. By the API's rule a call to a
            function that `tool_choice` names finishes with `stop`; it counts all the same.

    """

    finish: str
    has_calls: bool
    faults: frozenset[Fault]

    @property
    def right(self) -> bool:
        """Tell whether nothing is wrong with it."""
        return self.faults <= _FORGIVEN


def judge(body: Mapping[str, Any], reply: Reply) -> Verdict:
    """Judge one reply.

    A reply that was cut off (`finish_reason` is `length`) is not judged by its calls:
    the client knows that they are not complete.
    """
    if reply.status != 200:
        return Verdict("others", has_calls=False, faults=frozenset({Fault.HTTP}))
    finish = reply.finish_reason if reply.finish_reason in ("stop", "tool_calls") else "others"
    faults = set()
    if any(marker in reply.content for marker in _MARKERS):
        faults.add(Fault.LEAK)
    complete = reply.finish_reason != "length"
    if complete:
        faults |= _call_faults(body, reply.calls)
        if not reply.content and not reply.calls:
            faults.add(Fault.EMPTY)
    return Verdict(finish, has_calls=complete and bool(reply.calls), faults=frozenset(faults))


def _call_faults(body: Mapping[str, Any], calls: Sequence[Call]) -> set[Fault]:
    schemas = _allowed(body)
    faults = set()
    earlier = sum(len(message.get("tool_calls") or ()) for message in body["messages"])
    for index, call in enumerate(calls, earlier):
        if call.name not in schemas:
            faults.add(Fault.UNDECLARED)
        elif not _fits(call.arguments, schemas[call.name]):
            faults.add(Fault.SCHEMA)
        if call.id != f"functions.{call.name}:{index}":
            faults.add(Fault.ID)
    if not _obeys(body, calls):
        faults.add(Fault.CHOICE)
    return faults


def _allowed(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters' schema of each function that may be called."""
    if _choice(body) == "none":
        return {}
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return {f["name"]: f.get("parameters") or {"type": "object"} for f in functions}


def _choice(body: Mapping[str, Any]) -> Any:
    return body.get("tool_choice") or ("auto" if body.get("tools") else "none")


def _obeys(body: Mapping[str, Any], calls: Sequence[Call]) -> bool:
    choice = _choice(body)
    if body.get("parallel_tool_calls") is False and len(calls) > 1:
        return False
    if choice == "required":
        return bool(calls)
    if isinstance(choice, dict) and choice.get("type") == "function":
        return {call.name for call in calls} == {choice["function"]["name"]}
    return True  # calls despite "none" are undeclared ones


def _fits(arguments: str, schema: Any) -> bool:
    try:
        value = json.loads(arguments)
    except ValueError:
        return False
    return bool(Draft202012Validator(schema).is_valid(value))


@dataclass(frozen=True, slots=True)
class Markers:
    """The ids of the format's markers in one model's vocabulary."""

    letters: Mapping[int, str]

    @classmethod
    def of_model(cls, folder: Path) -> Markers:
        """Read them from a model's `tokenizer.json`."""
        added = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
        known = {token["id"]: _MARKERS.get(token["content"], "?") for token in added}
        return cls(known)

    def well_formed(self, token_ids: Iterable[int], calls: int) -> bool:
        """Tell whether the generated ids are a whole turn with that many calls.

        Looks at what the model wrote, not at what the parser made of it: a parser may
        drop calls, and the turn was not right all the same.
        """
        letters = "".join(self.letters.get(token_id, "t") for token_id in token_ids)
        match = _LAYOUT.fullmatch(re.sub("t+", "t", letters))
        return match is not None and (match[2] or "").count("B") == calls


@dataclass(frozen=True, slots=True)
class Row:
    """The counts of one run; all of them count requests, as K2-Vendor-Verifier does."""

    requests: int
    finish: Mapping[str, int]
    faults: Mapping[Fault, int]
    with_calls: int
    successful: int
    right: int

    @property
    def accuracy(self) -> float:
        """Return the share of the replies with calls whose calls all are declared and valid."""
        return self.successful / self.with_calls if self.with_calls else 1.0

    @property
    def perfect(self) -> bool:
        """Tell whether nothing was wrong with any reply, and some had calls."""
        return self.with_calls > 0 and self.right == self.requests


def count(verdicts: Sequence[Verdict]) -> Row:
    """Count the verdicts of one run."""
    bad_call = {Fault.UNDECLARED, Fault.SCHEMA}
    with_calls = [verdict for verdict in verdicts if verdict.has_calls]
    return Row(
        requests=len(verdicts),
        finish=Counter(verdict.finish for verdict in verdicts),
        faults=Counter(fault for verdict in verdicts for fault in verdict.faults),
        with_calls=len(with_calls),
        successful=sum(not verdict.faults & bad_call for verdict in with_calls),
        right=sum(verdict.right for verdict in verdicts),
    )


@dataclass(frozen=True, slots=True)
class Transparency:
    """Of the turns that were right without constraints, how many are the same with them."""

    valid: int
    identical: int


def compare(
    bodies: Sequence[Mapping[str, Any]],
    free: Sequence[Reply],
    constrained: Sequence[Reply],
    markers: Markers,
) -> Transparency:
    """Compare greedy turns, id by id.

    Args:
        bodies: the requests, all of temperature 0.
        free: the replies of a server that constrains nothing, in the order of `bodies`.
        constrained: another server's replies, in the same order.
        markers: the markers' ids in the model's vocabulary.

    """
    valid = [
        (one, other)
        for body, one, other in zip(bodies, free, constrained, strict=True)
        if judge(body, one).right and markers.well_formed(one.token_ids, len(one.calls))
    ]
    return Transparency(len(valid), sum(one.token_ids == other.token_ids for one, other in valid))
