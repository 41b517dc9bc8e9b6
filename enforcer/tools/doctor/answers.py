"""Verdicts on the answers to the probes, each as the result of a check with its cure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from enforcer.client.body import Route
from enforcer.errors import (
    BudgetTooSmall,
    InvalidTools,
    RequestError,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from enforcer.judging.judge import ReplyVerdict, is_refusal, judge
from enforcer.request.carrier import ALLOW
from enforcer.tools.doctor import CheckResult, bad, note, ok
from enforcer.tools.verify.client import dialect_told, samples
from enforcer.turn import dialects
from enforcer.vllm.config import names
from enforcer.vllm.observe import metric_defs

if TYPE_CHECKING:
    from enforcer.judging.replies import ChatReply
    from enforcer.judging.rules import ReplyRules

_FLAGS = "start it with --enable-auto-tool-choice --tool-call-parser"
_START = f"{_FLAGS} NAME_enforced, where NAME is vLLM's parser of the model's format"
_WHICH = "enforced requests"
_LOADED = "with VLLM_PLUGINS unset or naming `enforcer`"
_NOT_FOUND = 404
_HOW = {
    Route.PLUGIN: "enforcer.extra_body(…)",
    Route.LOGITS_PROCESSOR: "enforcer.extra_body(…, via=enforcer.Route.LOGITS_PROCESSOR)",
}


PROCESSES = "enforcer_processes"


def how_to_start(metrics: str | None) -> str:
    """Return how to start the server, with the parser's name if its metrics name a dialect."""
    told = dialect_told(metrics)
    parsers = dialects.load(told).parsers if told in dialects.available() else ()
    return f"{_FLAGS} {names.enforced(parsers[0])}" if parsers else _START


def is_ours(reply: ChatReply, error: type[RequestError]) -> bool:
    """Return whether the reply is the Enforcer's rejection with this error."""
    return is_refusal(reply) and error.__name__ in reply.error


def enforces(reply: ChatReply, start: str) -> CheckResult:
    """Judge the answer to `probes.twice`, which only our front end rejects."""
    title = _WHICH
    if is_ours(reply, InvalidTools):
        return ok(
            title, f"all: the server refuses a tool that is declared twice (HTTP {reply.status})"
        )
    if reply.answered:
        return bad(title, "none: the server accepts a tool that is declared twice",
                   f"{start}, and run `enforcer doctor` where the server runs")  # fmt: skip
    return _unknown(title, reply, start if is_refusal(reply) else "read the server's log")


def in_shadow_mode(*, require_all: bool) -> CheckResult:
    """Report a server that judges vLLM's own replies."""
    found = "none: the server is in shadow mode, which counts what enforcement would change"
    if require_all:
        return bad(_WHICH, found, "start it without ENFORCER_SHADOW")
    return note(_WHICH, found, caveat="nothing is enforced (ENFORCER_SHADOW=on)")


def _unknown(title: str, reply: ChatReply, mend: str = "read the server's log") -> CheckResult:
    """Report an answer that neither the Enforcer nor plain vLLM gives."""
    if not reply.status:
        mend = "read the server's log; if it is slow or busy, give it longer with --timeout"
        return bad(title, f"not known: the server did not answer: {reply.error}", mend)
    said = "the server did not answer as the Enforcer does"
    if reply.status == _NOT_FOUND:
        said = "the server has no such model or path"
        mend = "mend the path in --url, or --served-model"
    return bad(title, f"not known: {said}: HTTP {reply.status}: {reply.error}", mend)


def by_request(route: Route, start: str, *, alone: bool, require_all: bool) -> CheckResult:
    """Return the result for a server that enforces only requests that ask for it.

    Args:
        route: how a request asks.
        start: how to start one that enforces every request.
        alone: whether the server rejects the others.
        require_all: whether it is a fault to serve the others unenforced.

    """
    asking = f"those that ask for it with {_HOW[route]}"
    if alone:
        found = (
            f"{asking}; the server refuses the others (ENFORCER_REQUIRE=on), apart from those of "
            "ENFORCER_REQUIRE_EXCEPT, which were not tried"
        )
        mend = f"to serve and enforce the others too, {start}"
        return note(_WHICH, found, mend, "requests that do not ask are refused")
    if route is Route.LOGITS_PROCESSOR:
        start = f"{start}, {_LOADED}"
    if require_all:
        return bad(_WHICH, f"only {asking}", start)
    mend = f"to enforce every request, {start}; with --require-all this is a fault"
    return note(_WHICH, f"only {asking}", mend, "only requests that ask for it are enforced")


def switches(reply: ChatReply) -> CheckResult:
    """Judge the answer to `probes.switching_off`: rejected, or served unenforced."""
    title = "switching enforcement off"
    if is_ours(reply, InvalidTools) or (is_refusal(reply) and ALLOW in reply.error):
        return ok(title, f"the server refuses a request that does (HTTP {reply.status})")
    if reply.answered:
        return note(title, "any request may do it for itself (ENFORCER_ALLOW_CLIENT=off)",
                    "take `off` out of ENFORCER_ALLOW_CLIENT once no client needs it: "
                    "enforcer_requests_switched_off_total counts such requests",
                    "requests may switch it off")  # fmt: skip
    return _unknown(title, reply)


def finishes_within_budget(reply: ChatReply) -> CheckResult:
    """Judge the answer to `too_long`: a server with a token budget rejects it."""
    title = "call at `max_tokens`"
    if is_ours(reply, BudgetTooSmall):
        return ok(title, "a call that has begun ends, valid, before `max_tokens` does "
                  "(ENFORCER_FINISH_WITHIN_BUDGET=on)")  # fmt: skip
    if reply.answered:
        return ok(title, "`max_tokens` may cut a call off; the reply then reports no call "
                  "(ENFORCER_FINISH_WITHIN_BUDGET is off)")  # fmt: skip
    if not reply.status:
        return _unknown(title, reply)
    mend = "read ENFORCER_FINISH_WITHIN_BUDGET in the line that the server logs when it starts"
    return note(title, f"not known: HTTP {reply.status}: {reply.error}", mend)


def refuses(inexact: ChatReply, nothing: ChatReply) -> CheckResult:
    """Judge the answers to `unenforceable` and `impossible`, each with an unsatisfiable format.

    The rejected part of the request shows the mode: a tool, or the format if the tools passed.
    """
    title = "schema that cannot be enforced exactly"
    mend = "serve with ENFORCER_ON_UNSUPPORTED=refuse once clients have mended their schemas"
    inexactly = "schemas that cannot be enforced exactly are"
    if is_ours(inexact, UnsupportedSchema):
        return ok(title, f"the server refuses it with path and keyword (HTTP {inexact.status})")
    if _is_at_format(inexact) and _is_at_format(nothing):
        return note(title, "isolated: the server enforces the nearest schema that it can, or only "
                    "that arguments are an object (ENFORCER_ON_UNSUPPORTED=isolate)", mend,
                    f"{inexactly} isolated")  # fmt: skip
    if _is_at_format(inexact) and is_ours(nothing, UnsatisfiableSchema):
        return note(title, "relaxed: the server enforces the nearest schema that it can "
                    "(ENFORCER_ON_UNSUPPORTED=relax)", mend, f"{inexactly} relaxed")  # fmt: skip
    wrong = nothing if _is_at_format(inexact) else inexact
    if wrong.answered:
        found = "the server accepts a response format that no text fits"
        return bad(title, found, "read the server's log")
    return _unknown(title, wrong)


def _is_at_format(reply: ChatReply) -> bool:
    return is_ours(reply, UnsatisfiableSchema) and "$.response_format" in reply.error


def calls(body: Mapping[str, Any], reply: ChatReply, expected: ReplyRules) -> CheckResult:
    """Judge the answer to `required`: it shows that the engine process enforces as well."""
    title = f"required call, {'streamed' if body.get('stream') else 'not streamed'}"
    if not reply.status:
        return _unknown(title, reply)
    verdict = judge(body, reply, expected)
    if verdict.findings:
        mend = "read the engine's log for `enforcer`: it may run without the plugin"
        return bad(title, _wrong(verdict), mend)
    if not verdict.complete:
        mend = "if the model reasons longer, try it with `enforcer verify --max-tokens`"
        return note(title, f"the reply ends after {body['max_tokens']} tokens, before a call", mend)
    [call] = reply.calls
    arguments = json.dumps(json.loads(call.arguments))
    return ok(title, f"the reply calls {call.name} with {arguments}")


def _wrong(verdict: ReplyVerdict) -> str:
    return "; ".join(finding.message for finding in verdict.findings)


def calls_nothing(
    body: Mapping[str, Any], reply: ChatReply, expected: ReplyRules, start: str
) -> CheckResult:
    """Judge the answer to `without_tools`."""
    title = "reply to a request without tools"
    if not reply.status:
        return _unknown(title, reply)
    verdict = judge(body, reply, expected)
    if verdict.findings:
        return bad(title, _wrong(verdict), start)
    return ok(title, "it calls nothing, though earlier replies of the dialog do")


def processes(shown: str | None) -> CheckResult:
    """Judge the counts of processes with the plugin on `/metrics`.

    An engine without it would have failed the probes; the counts show processes that no probe
    reached.
    """
    title = "processes with the plugin"
    if shown is None or "vllm:" not in shown:
        mend = "name the server itself with --url, not a gateway, to count them"
        return note(title, "not known: this URL shows no metrics of vLLM's", mend)
    counts = {labels["part"]: int(count) for labels, count in samples(shown, PROCESSES)}
    if not counts:
        mend = f"{how_to_start(shown)}, {_LOADED}"
        return bad(title, "none: /metrics has no `enforcer_processes`", mend)
    said = f"{counts.get('front', 0)} of the front end, {counts.get('engine', 0)} of the engine"
    said += f", {counts['worker']} of workers" if counts.get("worker") else ""
    engines = len({labels["engine"] for labels, _ in samples(shown, "vllm:num_requests_running")})
    if counts.get("engine", 0) < engines:
        mend = "those of another node are on its ENFORCER_METRICS_PORT; else read their logs"
        return note(title, f"{said}; but vLLM has {engines} engines", mend)
    return ok(title, said)


def versions(shown: str | None) -> Iterator[CheckResult]:
    """Compare the version on `/metrics` with the installed one, which `enforcer check` uses."""
    title = "versions"
    told = samples(shown, metric_defs.VERSION.name)
    found = sorted({f"kimi-enforcer {labels['version']}" for labels, count in told if count})
    here = f"kimi-enforcer {metric_defs.installed('kimi-enforcer')}"
    if len(found) > 1:
        yield note(title, f"the API servers run {'; '.join(found)}", "finish the upgrade")
    elif found == [here]:
        yield ok(title, f"the server runs {here}, as installed here")
    elif found:
        mend = "before you rely on `enforcer check` here, install what the server runs"
        yield note(title, f"the server runs {found[0]}; installed here is {here}", mend)
