"""What went wrong in a turn of the model: from its text to the kinds of failure.

Owns: reading a turn's text strictly, and the names of the failures. Must not know:
how the text was generated.
"""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTION = re.compile(
    r"<\|tool_calls_section_begin\|>(?P<calls>.*)<\|tool_calls_section_end\|><\|im_end\|>\Z",
    re.DOTALL,
)
_CALL = re.compile(
    r"<\|tool_call_begin\|>(?P<id>.*?)<\|tool_call_argument_begin\|>(?P<arguments>.*?)<\|tool_call_end\|>",
    re.DOTALL,
)
_ID = re.compile(r"functions\.(?P<name>[\w-]+):(?P<index>0|[1-9][0-9]*)", re.ASCII)
_BEGIN = "<|tool_calls_section_begin|>"


class Failure(enum.Enum):
    """A way in which a turn is not what the request allows."""

    UNFINISHED = "unfinished turn"
    MALFORMED = "malformed section or id"
    NO_TOOLS = "call without tools"
    UNDECLARED = "undeclared tool"
    NOT_JSON = "arguments are no JSON"
    REQUIRED = "missing required property"
    ENUM = "value outside the enum"
    TYPE = "wrong type"
    ADDITIONAL = "additional property"
    OTHER_SCHEMA = "other schema error"
    RESTARTED = "restarted or skipped index"
    REPEATED = "repeated id"


_KEYWORDS = {
    "required": Failure.REQUIRED,
    "enum": Failure.ENUM,
    "type": Failure.TYPE,
    "additionalProperties": Failure.ADDITIONAL,
}
SCHEMA_FAILURES = frozenset({Failure.NOT_JSON, *_KEYWORDS.values(), Failure.OTHER_SCHEMA})
BAD_CALL = SCHEMA_FAILURES | {Failure.NO_TOOLS, Failure.UNDECLARED}


def failures(body: Mapping[str, Any], text: str) -> frozenset[Failure]:
    """Judge a turn by its request, `tool_choice` aside, which no prompt shows.

    Args:
        body: the request.
        text: the turn with its markers, the end of turn included if it was generated.

    """
    if not text.endswith("<|im_end|>"):
        return frozenset({Failure.UNFINISHED})
    if _BEGIN not in text:
        return frozenset()
    section = _SECTION.search(text)
    if section is None or _CALL.sub("", section["calls"]) or not section["calls"]:
        return frozenset({Failure.MALFORMED})
    schemas = {
        tool["function"]["name"]: tool["function"].get("parameters", {})
        for tool in body.get("tools", ())
    }
    found = set() if schemas else {Failure.NO_TOOLS}
    seen = {call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()}
    count = sum(len(message.get("tool_calls") or ()) for message in body["messages"])
    for expected, call in enumerate(_CALL.finditer(section["calls"]), count):
        header = _ID.fullmatch(call["id"])
        if header is None:
            found.add(Failure.MALFORMED)
            continue
        if call["id"] in seen:
            found.add(Failure.REPEATED)
        elif int(header["index"]) != expected:
            found.add(Failure.RESTARTED)
        seen.add(call["id"])
        if header["name"] in schemas:
            found |= _schema_failures(schemas[header["name"]], call["arguments"])
        elif schemas:
            found.add(Failure.UNDECLARED)
    return frozenset(found)


def _schema_failures(schema: Mapping[str, Any], arguments: str) -> set[Failure]:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {Failure.NOT_JSON}
    return {
        _KEYWORDS.get(str(error.validator), Failure.OTHER_SCHEMA)
        for error in Draft202012Validator(schema).iter_errors(value)
    }
