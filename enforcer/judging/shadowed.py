"""One request and its reply, both as bytes, judged in a worker process: the task of shadow mode.

Owns: reading the two, judging each choice as `enforcer verify` does, and whether the request could
be enforced. Must not know: servers, how replies are collected and counted.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from enforcer.checking.task import TaskVerdict, WorkerState
from enforcer.errors import RequestError
from enforcer.judging import replies
from enforcer.judging.judge import ReplyVerdict, judge, tools_of
from enforcer.judging.rules import ReplyRules, rules_of
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec, read_fields, refuse_large
from enforcer.schema.bundling.folders import read_schemas
from enforcer.turn import dialects
from enforcer.turn.request_envelope import refuse_names

if TYPE_CHECKING:
    from enforcer.request.options import Options
    from enforcer.request.tools import Tools

# Raised by a body that vLLM reads and the judge does not, or by a response of another form.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
_MOST = 1024  # findings of a reply that are told


@dataclass(frozen=True, slots=True)
class ShadowVerdict(TaskVerdict):
    """The verdict on an exchange.

    Attributes:
        choices: the verdict on each choice of the reply, without messages, which may be long.
        tool: the name of the tool that `error` is about; empty if it is about none.
        spec: the request's spec with only the tools whose schemas may be refused; None if no
            schema may be.

    """

    choices: tuple[ReplyVerdict, ...] = ()
    tool: str = ""
    spec: Spec | None = None


@dataclass(frozen=True, slots=True)
class ShadowedExchange:
    """A request and its unenforced reply, to be judged in a worker.

    Attributes:
        number: distinguishes it from others.
        body: the request's.
        reply: the response's, whole or as a stream of events.
        dialect: the served model's.
        documents: as `ENFORCER_DOCUMENTS` lists them.
        options: what would hold for the request.
        trusts_plain: whether plain schemas can be enforced for sure.

    """

    number: int
    body: bytes
    reply: bytes
    dialect: str
    documents: tuple[str, ...]
    options: Options
    trusts_plain: bool

    def key(self) -> Hashable:
        """Return the key that no other exchange has."""
        return ("shadow", self.number)

    @property
    def size(self) -> int:
        """Bytes of both."""
        return len(self.body) + len(self.reply)

    def perform(self, worker: WorkerState) -> ShadowVerdict:
        """Judge it, in a worker; the verdict has no choices if nothing can be judged."""
        known = _expected(self.dialect, self.documents)
        try:
            body = json.loads(self.body)
            choices = tuple(_judged(body, events, known) for events in _choices(self.reply))
        except _UNREADABLE:
            return ShadowVerdict()
        try:
            return ShadowVerdict(choices=choices, spec=self._doubtful(body, worker))
        except RequestError as error:
            return ShadowVerdict(error, choices=choices, tool=_named(tools_of(body), error.path))

    def _doubtful(self, body: Mapping[str, Any], worker: WorkerState) -> Spec | None:
        """Return the request's spec with the tools alone whose schemas may be refused.

        Raises:
            RequestError: it would be refused for something else.

        """
        choice, parallel = body.get("tool_choice"), body.get("parallel_tool_calls")
        form = body.get("response_format")
        spec = read_fields(tools_of(body), choice, parallel, body["messages"], form)
        enforcer = worker.enforcer(self.dialect)
        refuse_names(enforcer.dialect, spec.toolset, enforcer.vocabulary)
        refuse_large(spec, self.options.limits)
        tools = spec.toolset.tools
        if self.trusts_plain:
            tools = tools_.Tools({tool.name: tool for tool in tools.doubtful})
        if not tools and spec.response_format is None:
            return None
        return replace(spec, toolset=replace(spec.toolset, tools=tools))


def tool_at(tools: Tools, path: str) -> str:
    """Return the name of the tool that a path in a request leads to; else empty."""
    at = tools_.index_at(path)
    return next((one.name for one in tools.values() if one.at == at), "")


def _named(tools: list[Any], path: str) -> str:
    at = tools_.index_at(path)
    try:
        return "" if at is None else str(tools[at]["function"]["name"])
    except (IndexError, KeyError, TypeError):
        return ""


@cache
def _expected(dialect: str, documents: tuple[str, ...]) -> ReplyRules:
    return rules_of(dialects.load(dialect), None, read_schemas(documents)[0])


def _choices(reply: bytes) -> list[list[Any]]:
    """Return the objects of a response for each of its choices, as if it were the only one."""
    is_whole = reply.lstrip().startswith(b"{")
    found: dict[int, list[Any]] = {0: []}
    errors = []
    for event in [json.loads(reply)] if is_whole else replies.events(reply.decode().split("\n")):
        if "error" in event:
            errors.append({"error": event["error"]})
        for choice in event.get("choices") or ():
            own = found.setdefault(choice.get("index") or 0, [])
            own.append({"choices": [{**choice, "index": 0}]})
    return [found[at] + errors for at in sorted(found)]


def _judged(body: Mapping[str, Any], events: list[Any], known: ReplyRules) -> ReplyVerdict:
    verdict = judge(body, replies.joined(events), known)
    findings = tuple(replace(each, message="") for each in verdict.findings[:_MOST])
    return replace(verdict, findings=findings)
