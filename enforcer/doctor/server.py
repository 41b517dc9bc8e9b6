"""Checks of a running server, by requests that only an enforced one answers rightly.

Owns: which probes are sent (what they say: `probes`), and what their answers tell. Must not know:
HTTP (that is `verify.client`), how replies are judged (that is `verify.measure`), or whether the
server is vLLM.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enforcer.diagnosis import Check, Status, bad, note, ok
from enforcer.doctor import probes
from enforcer.doctor.versions import versions
from enforcer.errors import ConfigurationError, InvalidTools, UnsatisfiableSchema, UnsupportedSchema
from enforcer.request.carrier import ALLOW, REQUIRES, Route
from enforcer.turn import dialects
from enforcer.verify import client, measure
from enforcer.verify import expected as expected_
from enforcer.verify.client import Endpoint
from enforcer.verify.expected import Expected
from enforcer.verify.measure import Fault
from enforcer.vllm import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.errors import RequestError
    from enforcer.verify.measure import Finding, Verdict
    from enforcer.verify.replies import Reply

_FLAGS = "start it with --enable-auto-tool-choice --tool-call-parser"
_START = f"{_FLAGS} NAME_enforced, where NAME is vLLM's parser of the model's format"
_WHICH = "which requests are enforced"
_LOADED = "with VLLM_PLUGINS unset or naming `enforcer`"
SOON = 10.0  # seconds in which a server answers what takes no model
_NOT_FOUND = 404
_HOW = {
    Route.PLUGIN: "enforcer.extra_body(…)",
    Route.LOGITS_PROCESSOR: "enforcer.extra_body(…, via=enforcer.Route.LOGITS_PROCESSOR)",
}
_PROCESSES = re.compile(r'^enforcer_processes\{part="(\w+)"\} (\S+)$', re.MULTILINE)
_ON_REQUEST = re.compile(r'^enforcer_api_servers\{enforces="on_request"\} [1-9]', re.MULTILINE)
_ENGINES = re.compile(r'^vllm:num_requests_running\{[^}]*\bengine="(\d+)"', re.MULTILINE)


def checks(
    url: str,
    *,
    key: str | None = None,
    model: str | None = None,
    expected: Expected | None = None,
    timeout: float = 60.0,
    require_all: bool = False,
) -> Iterator[Check]:
    """Probe a server.

    Args:
        url: base of its OpenAI-compatible routes.
        key: API key.
        model: name of the model; None for the first that is served.
        expected: what the replies of its format must look like; None for Kimi K2's.
        timeout: seconds that it may stay silent.
        require_all: whether it is a fault to enforce only requests that ask for it.

    Raises:
        ConfigurationError: `url` is not one.

    """
    endpoint = Endpoint.at(url, key=key, timeout=timeout)
    at_once = replace(endpoint, timeout=min(SOON, timeout))
    served: list[str] = []
    try:
        served = asyncio.run(client.models(at_once))
    except client.NoModelList as error:
        if model is None:
            mend = "mend the path in --url, or name the model of a gateway with --served-model"
            yield bad("server", str(error), mend)
            return
    except client.NoAccess as error:
        yield bad("server", error.found, error.mend)
        return
    except client.NotHttp as error:
        yield bad("server", str(error), "mend --url, or what answers there")
        return
    except ConfigurationError as error:
        yield bad("server", str(error), "start it, or mend --url")
        return
    model = model or next(iter(served), None)
    if model is None:
        yield bad("server", f"{endpoint.url} lists no model", "name it with --served-model")
        return
    if served and model not in served:
        mend = f"it serves {', '.join(served)}: name one of them with --served-model"
        yield bad("server", f"{endpoint.url} does not serve {model!r}", mend)
        return
    yield ok("server", f"{endpoint.url} serves {model}")
    metrics = asyncio.run(client.metrics(at_once))
    start = how_to_start(metrics)
    enforcing, route = _find_route(endpoint, model, metrics, start, require_all=require_all)
    yield enforcing
    if enforcing.status is Status.BAD and route is None:
        return  # an unenforced server may well answer the others rightly by chance
    yield _strictness(endpoint, model, route)
    for streamed in (False, True):
        body = {**probes.required(model), "stream": streamed}
        yield calls(body, _ask(endpoint, probes.asking(body, route)), route, expected)
    body = probes.without_tools(model)
    reply = _ask(endpoint, probes.asking(body, route))
    yield keeps_quiet(body, reply, route, expected, start=start)
    if route is None:
        yield switches(_ask(endpoint, probes.switching_off(model)))
    yield in_time(_ask(endpoint, probes.asking(probes.without_known_end(model), route)))
    if route is not Route.LOGITS_PROCESSOR:  # which counts nothing
        yield processes(metrics)
    compared = versions(metrics)
    if compared is not None:
        yield compared


def how_to_start(metrics: str | None) -> str:
    """Say how the server is to be started; with the parser's name where its metrics tell it."""
    told = expected_.told(metrics)
    parsers = dialects.load(told).parsers if told in dialects.available() else ()
    return f"{_FLAGS} {names.enforced(parsers[0])}" if parsers else _START


def _find_route(
    endpoint: Endpoint, model: str, metrics: str | None, start: str, *, require_all: bool
) -> tuple[Check, Route | None]:
    """Find out whether the server enforces every request, or those that ask for it, and how.

    Both probes are refused whatever `ENFORCER_ON_UNSUPPORTED` says. Without the plugin, an engine
    logs a failure for a request that asks for it: a server whose metrics say that there is none
    is not asked.

    Returns:
        The check, and how a request has to ask; None if it need not.

    """
    plain = _ask(endpoint, probes.twice(model))
    requires = measure.is_refusal(plain) and REQUIRES in plain.error
    if not plain.answered and not requires:
        return enforces(plain, start), None
    without = metrics is not None and "vllm:" in metrics and not _PROCESSES.search(metrics)
    for route in Route:
        if route is Route.PLUGIN and without:
            continue
        body = probes.asking(probes.impossible(model), route, on_unsupported="refuse")
        if _is_ours(_ask(endpoint, body), UnsatisfiableSchema):
            if requires:
                return by_request_alone(route, start), route
            return by_request(route, start, require_all=require_all), route
    if metrics is not None and _ON_REQUEST.search(metrics):
        # Where vLLM has a constraint of its own as well, the probes above cannot ask.
        return by_request(Route.PLUGIN, start, require_all=require_all), Route.PLUGIN
    return enforces(plain, start), None


def _strictness(endpoint: Endpoint, model: str, route: Route | None) -> Check:
    """Find out what the server does with schemas that it cannot enforce exactly."""
    inexact, nothing = (
        _ask(endpoint, probes.asking(probes.never_served(make(model)), route))
        for make in (probes.unenforceable, probes.impossible)
    )
    return refuses(inexact, nothing)


def _ask(endpoint: Endpoint, body: Mapping[str, Any]) -> Reply:
    return asyncio.run(client.send_all(endpoint, [body]))[0]


def _is_ours(reply: Reply, error: type[RequestError]) -> bool:
    return measure.is_refusal(reply) and error.__name__ in reply.error


def enforces(reply: Reply, start: str = _START) -> Check:
    """Judge the answer to `probes.twice`: our front end refuses it, no other one does."""
    title = _WHICH
    if _is_ours(reply, InvalidTools):
        return ok(title, f"every one, by HTTP {reply.status} for a tool that is declared twice")
    if reply.answered:
        return bad(title, "none: a tool that is declared twice was accepted",
                   f"{start}, and run `enforcer doctor` where the server runs")  # fmt: skip
    found = f"HTTP {reply.status}: {reply.error}"
    if measure.is_refusal(reply):
        return bad(title, f"another refusal than ours: {found}", start)
    if reply.status == _NOT_FOUND:
        return bad(title, f"no refusal: {found}", "mend the path in --url, or --served-model")
    if not reply.status:
        return _unanswered(title, reply)
    return bad(title, f"no refusal: {found}", "read the server's log")


def _unanswered(title: str, reply: Reply) -> Check:
    mend = "read the server's log; if it is slow or busy, give it longer with --timeout"
    return bad(title, f"no answer: {reply.error}", mend)


def by_request(route: Route, start: str = _START, *, require_all: bool = False) -> Check:
    """Tell that a server enforces, but not by itself; a fault where all requests are meant."""
    title = _WHICH
    found = f"only those that ask for it, by {_HOW[route]}"
    if route is Route.LOGITS_PROCESSOR:
        start = f"{start}, {_LOADED}"
    if require_all:
        return bad(title, found, start)
    mend = f"to enforce every request, {start}; `--require-all` takes this for a fault"
    return note(title, found, mend, "only requests that ask for it are enforced")


def by_request_alone(route: Route, start: str = _START) -> Check:
    """Tell that a server takes requests that ask for it, and no others."""
    found = (
        f"those that ask for it, by {_HOW[route]}; it refuses the others (ENFORCER_REQUIRE=on), "
        "and what ENFORCER_REQUIRE_EXCEPT lets through is not seen from here"
    )
    mend = f"to serve the others as well, enforced, {start}"
    return note(_WHICH, found, mend, "requests that do not ask are refused")


def switches(reply: Reply) -> Check:
    """Judge the answer to `probes.switching_off`: refused, or served as nobody enforces it."""
    title = "switching off"
    if _is_ours(reply, InvalidTools) or (measure.is_refusal(reply) and ALLOW in reply.error):
        return ok(title, f"refused, with HTTP {reply.status}")
    if reply.answered:
        return note(title, "any request may do it for itself (ENFORCER_ALLOW_CLIENT=off)",
                    "take `off` out of ENFORCER_ALLOW_CLIENT once nobody needs it; "
                    "enforcer_requests_switched_off_total counts who does",
                    "requests may switch it off")  # fmt: skip
    if not reply.status:
        return _unanswered(title, reply)
    return bad(
        title, f"no refusal of ours: HTTP {reply.status}: {reply.error}", "read the server's log"
    )


def in_time(reply: Reply) -> Check:
    """Judge the answer to `without_known_end`: what must end in time is refused, or begun."""
    title = "the end of a call"
    if _is_ours(reply, UnsupportedSchema) and "finish_within_budget" in reply.error:
        return ok(title, "in time: a call that has begun ends before `max_tokens` does "
                  "(ENFORCER_FINISH_WITHIN_BUDGET=on)")  # fmt: skip
    if reply.answered:
        return ok(title, "`max_tokens` may cut a call off, which is then not reported "
                  "(ENFORCER_FINISH_WITHIN_BUDGET is off)")  # fmt: skip
    if not reply.status:
        return _unanswered(title, reply)
    mend = "the settings that the server names when it starts tell it"
    return note(title, f"not known: HTTP {reply.status}: {reply.error}", mend)


def refuses(inexact: Reply, nothing: Reply) -> Check:
    """Judge the answers to `unenforceable` and `impossible`, each with a format that nothing fits.

    Which part of a request is refused tells the mode: a tool, or the format once the tools have
    been let in.
    """
    title = "what cannot be enforced"
    mend = "serve with ENFORCER_ON_UNSUPPORTED=refuse once clients have mended their schemas"
    inexactly = "schemas that cannot be enforced exactly are"
    if _is_ours(inexact, UnsupportedSchema):
        return ok(title, f"refused, by HTTP {inexact.status} with path and keyword")
    if _is_at_format(inexact) and _is_at_format(nothing):
        return note(title, "isolated: a schema that cannot be enforced exactly is enforced in "
                    "part or not at all (ENFORCER_ON_UNSUPPORTED=isolate)", mend,
                    f"{inexactly} isolated")  # fmt: skip
    if _is_at_format(inexact) and _is_ours(nothing, UnsatisfiableSchema):
        return note(title, "relaxed: a schema that cannot be enforced exactly is enforced in part "
                    "(ENFORCER_ON_UNSUPPORTED=relax)", mend, f"{inexactly} relaxed")  # fmt: skip
    wrong = nothing if _is_at_format(inexact) else inexact
    if not wrong.status:
        return _unanswered(title, wrong)
    if wrong.answered:
        return bad(title, "a response format that nothing fits was accepted",
                   "read the server's log")  # fmt: skip
    return bad(title, f"no refusal of ours: HTTP {wrong.status}: {wrong.error}",
               "read the server's log")  # fmt: skip


def _is_at_format(reply: Reply) -> bool:
    return _is_ours(reply, UnsatisfiableSchema) and "$.response_format" in reply.error


def calls(
    body: Mapping[str, Any],
    reply: Reply,
    route: Route | None = None,
    expected: Expected | None = None,
) -> Check:
    """Judge the answer to `required`: it shows that the engine process enforces as well."""
    title = f"a demanded call, {'streamed' if body.get('stream') else 'whole'}"
    if not reply.status:
        return _unanswered(title, reply)
    verdict = (expected or Expected()).judge(body, reply)
    if findings := _findings(verdict, route):
        found = "; ".join(finding.message for finding in findings)
        mend = "the engine process may run without the plugin: read its log for `enforcer`"
        return bad(title, found, mend)
    if not verdict.complete:
        mend = "a model that thinks longer shows it with `enforcer verify --max-tokens`"
        return note(title, f"cut off after {body['max_tokens']} tokens, before the call", mend)
    [call] = reply.calls
    return ok(title, f"{call.name} {json.dumps(json.loads(call.arguments))}")


def _findings(verdict: Verdict, route: Route | None) -> list[Finding]:
    """List what is wrong, apart from thinks in the text where vLLM's own parser reads replies.

    There it takes --reasoning-parser to split them off, which is no matter of enforcement.
    """
    return [
        finding
        for finding in verdict.findings
        if route is None or finding.fault is not Fault.LEAK or "think>" not in finding.message
    ]


def keeps_quiet(
    body: Mapping[str, Any],
    reply: Reply,
    route: Route | None = None,
    expected: Expected | None = None,
    *,
    start: str = _START,
) -> Check:
    """Judge the answer to `without_tools`."""
    title = "a reply where no tool is declared"
    if not reply.status:
        return _unanswered(title, reply)
    findings = _findings((expected or Expected()).judge(body, reply), route)
    if findings:
        return bad(title, "; ".join(finding.message for finding in findings), start)
    return ok(title, "text alone, after a history of calls")


def processes(shown: str | None) -> Check:
    """Judge what `/metrics` says of the processes that have the plugin.

    An engine that lacks it would have failed the probes; this shows all the others, which
    the probes did not meet.
    """
    title = "processes with the plugin"
    if shown is None or "vllm:" not in shown:
        return note(title, "the server shows no metrics of vLLM's here", "ask it directly")
    counts = {part: int(float(count)) for part, count in _PROCESSES.findall(shown)}
    if not counts:
        mend = f"{how_to_start(shown)}, {_LOADED}"
        return bad(title, "/metrics has no `enforcer_processes`", mend)
    said = ", ".join(f"{counts.get(part, 0)} {part}" for part in ("front", "engine"))
    said += f", {counts['worker']} worker" if counts.get("worker") else ", no worker of its own"
    engines = len(set(_ENGINES.findall(shown)))
    if counts.get("engine", 0) < engines:
        mend = "engines on other hosts, and Ray's, cannot be counted; else read their logs"
        return note(title, f"{said}; vLLM has {engines} engines", mend)
    return ok(title, said)
