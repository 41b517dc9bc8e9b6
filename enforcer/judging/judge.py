"""The judge of a reply: its faults, by the request that it answers.

The faults are those of K2-Vendor-Verifier and a few more. The judge shares no code with what it
judges: it has `jsonschema` and the format's own description, no more.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

import jsonschema
from jsonschema.exceptions import best_match

from enforcer.judging.patterns import validator_of
from enforcer.judging.rules import KIMI_K2, IdRule, ReplyRules

if TYPE_CHECKING:
    from referencing import Registry

    from enforcer.judging.replies import ChatCall, ChatReply

_CUT_OFF = "length"
_REFUSED = (400, 422)
_QUOTED = 300


class Fault(Enum):
    """A kind of fault of a reply."""

    UNDECLARED = "undeclared calls"  # or declared, but not allowed by the request
    SCHEMA = "schema errors"
    ID = "id errors"
    CHOICE = "ignored tool choice"
    FINISH = "wrong finish reason"
    LEAK = "leaked markers"
    REFUSED = "refused (HTTP 400)"  # or HTTP 422
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one reply; `tool` is the name in the call at fault, empty if no call is."""

    fault: Fault
    message: str
    tool: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ReplyVerdict:
    """The verdict on a reply.

    Attributes:
        finish: `stop`, `tool_calls`, or `others` as K2-Vendor-Verifier groups them.
        complete: the reply was made, and was not cut off by `max_tokens`.
        has_calls: it is complete and has calls. By the API's rule a call to a function that
            `tool_choice` names finishes with `stop`; it counts all the same.
        empty: it is complete, with neither text nor calls. That is no good to anyone, but a
            model may choose to say nothing.
        findings: its faults.

    """

    finish: str
    complete: bool
    has_calls: bool
    empty: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def faults(self) -> frozenset[Fault]:
        """The kinds of the findings."""
        return frozenset(finding.fault for finding in self.findings)


def is_refusal(reply: ChatReply) -> bool:
    """Return whether the server rejected the request as the client's mistake."""
    return reply.status in _REFUSED


def judge(
    body: Mapping[str, Any], reply: ChatReply, expected: ReplyRules = KIMI_K2
) -> ReplyVerdict:
    """Judge one reply to a chat request.

    A reply that was cut off (`finish_reason` is `length`) has no calls: not streamed, it
    must not report any; streamed, the last one is a prefix and is judged only if its
    arguments are a whole JSON value.

    """
    if not reply.answered:
        fault = Fault.REFUSED if is_refusal(reply) else Fault.FAILED
        status = f"HTTP {reply.status}: " if reply.status not in (0, 200) else ""
        finding = Finding(fault, status + reply.error)
        return ReplyVerdict("others", complete=False, has_calls=False, findings=(finding,))
    finish = reply.finish_reason if reply.finish_reason in ("stop", "tool_calls") else "others"
    complete = reply.finish_reason != _CUT_OFF
    return ReplyVerdict(
        finish,
        complete=complete,
        has_calls=complete and bool(reply.calls),
        empty=complete and not reply.calls and not reply.content,
        findings=tuple(_findings(body, reply, expected)),
    )


def _findings(body: Mapping[str, Any], reply: ChatReply, expected: ReplyRules) -> Iterable[Finding]:
    for marker in expected.markers:
        if marker in reply.content:
            yield Finding(Fault.LEAK, f"{marker} in the content")
    calls = reply.calls
    if reply.finish_reason == _CUT_OFF:
        if calls and not body.get("stream"):
            yield Finding(Fault.FINISH, "a reply that was cut off reports calls")
        if calls and not _is_whole(calls[-1].arguments):
            calls = calls[:-1]
    else:
        if reply.finish_reason == "tool_calls" and not calls:
            yield Finding(Fault.FINISH, "finish_reason is tool_calls, and there is no call")
        if broken := _disobeyed(body, calls):
            yield Finding(Fault.CHOICE, broken)
    schemas = _allowed(body)
    for call in calls:
        if call.name not in schemas:
            message = f"{call.name!r} is not declared or not allowed"
            yield Finding(Fault.UNDECLARED, message, call.name)
        elif problem := _mismatch(call.arguments, schemas[call.name], expected.registry):
            yield Finding(Fault.SCHEMA, f"{call.name}: {problem}", call.name)
    yield from _wrong_ids(body, calls, expected.ids)


def _wrong_ids(
    body: Mapping[str, Any], calls: Sequence[ChatCall], rule: IdRule
) -> Iterable[Finding]:
    earlier = sum(len(message.get("tool_calls") or ()) for message in body["messages"])
    seen: set[str] = set()
    for index, call in enumerate(calls, earlier):
        if call.id in seen:
            yield Finding(Fault.ID, f"{call.id!r} is repeated", call.name)
        elif rule is IdRule.KIMI and call.id != f"functions.{call.name}:{index}":
            message = f"{call.id!r} is not functions.{call.name}:{index}"
            yield Finding(Fault.ID, message, call.name)
        elif rule is IdRule.INDEX and not re.fullmatch(rf".+:{index}", call.id, re.DOTALL):
            yield Finding(Fault.ID, f"{call.id!r} does not end in :{index}", call.name)
        elif rule is IdRule.NINE and not re.fullmatch("[a-zA-Z0-9]{9}", call.id):
            yield Finding(Fault.ID, f"{call.id!r} is not nine letters and digits", call.name)
        seen.add(call.id)


def _allowed(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters' schema of each function that may be called."""
    choice = _choice(body)
    if choice == "none":
        return {}
    functions = [tool["function"] for tool in tools_of(body)]
    schemas = {f["name"]: f.get("parameters") or {"type": "object"} for f in functions}
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        listed = {tool["function"]["name"] for tool in choice["allowed_tools"]["tools"]}
        return {name: schema for name, schema in schemas.items() if name in listed}
    return schemas


def tools_of(body: Mapping[str, Any]) -> list[Any]:
    """List the tools of the request and of Kimi's system messages."""
    dynamic = [tool for message in body["messages"] for tool in message.get("tools") or ()]
    return [*(body.get("tools") or ()), *dynamic]


def _choice(body: Mapping[str, Any]) -> Any:
    return body.get("tool_choice") or ("auto" if tools_of(body) else "none")


def _disobeyed(body: Mapping[str, Any], calls: Sequence[ChatCall]) -> str:
    """Return how a complete reply disobeys `tool_choice` or `parallel_tool_calls`; else empty."""
    choice = _choice(body)
    if body.get("parallel_tool_calls") is False and len(calls) > 1:
        return f"{len(calls)} calls, though parallel_tool_calls is false"
    if isinstance(choice, dict) and choice.get("type") == "function":
        named = choice["function"]["name"]
        called = sorted({call.name for call in calls})
        return "" if called == [named] else f"{named!r} was demanded, called was {called}"
    if isinstance(choice, dict):
        choice = choice["allowed_tools"].get("mode", "auto")
    if choice == "required" and not calls:
        return "a call was required, and none was made"
    return ""  # calls despite "none" are undeclared ones


def _is_whole(text: str) -> bool:
    """Return whether arguments are a whole JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:_QUOTED]} is a number beyond what clients can hold")
    return number


def _mismatch(arguments: str, schema: Any, registry: Registry[Any]) -> str:
    """Return how the arguments fail the schema; empty if they fit.

    The draft is the one that `$schema` names, 2020-12 by default; formats are not
    asserted. A schema that cannot be evaluated fits nothing.
    """
    try:
        # Python alone reads `NaN` and `Infinity`, and any number that is too large as infinite.
        value = json.loads(arguments, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        return f"the arguments are not JSON: {error}"[:_QUOTED]
    try:
        draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        validator = validator_of(draft)(schema, registry=registry)
        worst = best_match(validator.iter_errors(value))
    # `jsonschema` raises whatever comes of a schema that is none: that is no end of a measurement.
    except Exception as problem:  # noqa: BLE001
        return f"the schema cannot be evaluated: {problem!r}"[:_QUOTED]
    # The message quotes the value, which may be long; the path is what one looks for.
    return "" if worst is None else f"{worst.message[:_QUOTED]} (at `{worst.json_path}`)"
