"""Checks for workers: one that is quick, and ones that no bound but time ends.

Owns: their schemas. Must not know: how they are checked.
"""

import json
import pickle
from typing import TypeVar

from enforcer.checking.task import TaskVerdict
from enforcer.checking.work import SchemaCheck
from enforcer.request.options import Options
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import Limits, Root

_Sent = TypeVar("_Sent", SchemaCheck, TaskVerdict)

# Without bounds but those on processes, so that a compiler that has become faster at refusing
# does not make the tests of those pass by themselves.
_UNBOUNDED = Limits(
    branches=10**9,
    definitions=10**9,
    regex_size=10**9,
    regex_growth=10**12,
    regex_states=10**9,
    steps=10**12,
)


def check(schema: object, limits: Limits | None = None) -> SchemaCheck:
    """Ask for a schema of arguments."""
    wanted = ResponseFormat(FormatKind.JSON_SCHEMA, json.dumps(schema), Root.OBJECT)
    return SchemaCheck(wanted, Options(limits=limits or Limits()))


def sent(one: _Sent) -> _Sent:
    """Give what arrives where a check or a verdict is sent to another process."""
    arrived: _Sent = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own
    return arrived


def quick(number: int = 0) -> SchemaCheck:
    """Give one of milliseconds, which is not plain."""
    return check({"type": "object", "properties": {"a": {"pattern": f"^a{number}$"}}})


def slow(number: int = 0) -> SchemaCheck:
    """Give one of minutes: patterns that overlap in 65,536 ways."""
    lengths = {
        letter: {"type": "string", "minLength": number + at}
        for at, letter in enumerate("abcdefghijklmnop")
    }
    return check({"type": "object", "patternProperties": lengths}, _UNBOUNDED)
