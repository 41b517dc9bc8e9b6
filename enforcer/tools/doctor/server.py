"""Checks of a running server: sends the `probes`, and has `answers` judge the replies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enforcer.client.body import Route
from enforcer.errors import UnsatisfiableSchema
from enforcer.judging.judge import is_refusal
from enforcer.judging.rules import ReplyRules, rules_of
from enforcer.request.carrier import REQUIRES
from enforcer.tools.doctor import CheckResult, CheckStatus, answers, bad, ok, probes
from enforcer.tools.verify import client
from enforcer.turn import dialects
from enforcer.vllm.config import names, settings

if TYPE_CHECKING:
    from enforcer.judging.replies import ChatReply
    from enforcer.tools.verify.client import Endpoint

_SOON = 10.0  # seconds in which a server answers what takes no model


def checks(
    endpoint: Endpoint,
    *,
    model: str | None = None,
    dialect: str | None = None,
    require_all: bool = False,
) -> Iterator[CheckResult]:
    """Probe a server.

    Args:
        endpoint: the server.
        model: name of the model; None for the first that is served.
        dialect: name of its format's dialect, or of vLLM's parser for it; None for the one
            that its metrics name, else the one of this shell's settings.
        require_all: whether it is a fault to enforce only requests that ask for it.

    Raises:
        ConfigurationError: the dialect is unknown here.

    """
    at_once = replace(endpoint, timeout=min(_SOON, endpoint.timeout))
    found, model = _find_model(at_once, model)
    yield found
    if model is None:
        return
    metrics = asyncio.run(client.metrics(at_once))
    if _counts(metrics, "nothing"):  # probes would be among what it counts
        yield answers.in_shadow_mode(require_all=require_all)
        return
    start = answers.how_to_start(metrics)
    enforcing, route = _find_route(endpoint, model, metrics, start, require_all=require_all)
    yield enforcing
    if enforcing.status is CheckStatus.BAD and route is None:
        return  # an unenforced server may well answer the others rightly by chance
    if dialect is None:
        dialect = client.dialect_told(metrics) or settings.read(os.environ).dialect
    format_ = rules_of(dialects.named(names.stock(dialect)))
    if route is not None:
        # vLLM's own parser reads replies, and takes --reasoning-parser to split reasoning off.
        markers = [each for each in format_.markers if "think>" not in each]
        format_ = replace(format_, markers=markers)
    yield from _enforced(endpoint, model, route, format_, start)
    if route is not Route.LOGITS_PROCESSOR:  # the logits processor counts nothing
        yield answers.processes(metrics)
    yield from answers.versions(metrics)


def _find_model(endpoint: Endpoint, model: str | None) -> tuple[CheckResult, str | None]:
    """Return the check of the served model, and its name; None if there is nothing to probe."""
    served: list[str] = []
    try:
        served = asyncio.run(client.models(endpoint))
    except client.Unanswered as error:
        if model is None or not error.is_listless:
            found, _, mend = str(error).rpartition("; ")
            return bad("server", found, mend), None
    model = model or next(iter(served), None)
    if model is None:
        return bad("server", f"{endpoint.url} lists no model", "name it with --served-model"), None
    if served and model not in served:
        mend = f"it serves {', '.join(served)}: name one of them with --served-model"
        return bad("server", f"{endpoint.url} does not serve {model!r}", mend), None
    return ok("server", f"{endpoint.url} serves {model}"), model


def _enforced(
    endpoint: Endpoint, model: str, route: Route | None, expected: ReplyRules, start: str
) -> Iterator[CheckResult]:
    """Send the probes of a server that enforces, all at once, and judge the answers."""
    demand, quiet = probes.required(model), probes.without_tools(model)
    streamed = {**probes.required(model), "stream": True}
    bodies = [
        probes.never_served(probes.unenforceable(model)),
        probes.never_served(probes.impossible(model)),
        *(demand, streamed, quiet),
        probes.too_long(model),
    ]
    bodies = [probes.asking(body, route) for body in bodies]
    if route is None:
        bodies.append(probes.switching_off(model))
    replies = asyncio.run(client.send_all(endpoint, bodies))
    inexact, nothing, whole, in_parts, text, long, *off = replies
    yield answers.refuses(inexact, nothing)
    yield answers.calls(demand, whole, expected)
    yield answers.calls(streamed, in_parts, expected)
    yield answers.calls_nothing(quiet, text, expected, start)
    yield from map(answers.switches, off)
    yield answers.finishes_within_budget(long)


def _find_route(
    endpoint: Endpoint, model: str, metrics: str | None, start: str, *, require_all: bool
) -> tuple[CheckResult, Route | None]:
    """Probe whether the server enforces every request, or only those that ask for it.

    Both probes are rejected whatever `ENFORCER_ON_UNSUPPORTED` is. Without the plugin, an engine
    logs a failure for a request that asks: a server whose metrics show no plugin is not asked.

    Returns:
        The check, and how a request has to ask; None if it need not.

    """
    plain = _ask(endpoint, probes.twice(model))
    requires = is_refusal(plain) and REQUIRES in plain.error
    if not plain.answered and not requires:
        return answers.enforces(plain, start), None
    shown = metrics or ""
    without = "vllm:" in shown and not client.samples(shown, answers.PROCESSES)
    for route in Route:
        if route is Route.PLUGIN and without:
            continue
        body = probes.asking(probes.impossible(model), route, on_unsupported="refuse")
        if answers.is_ours(_ask(endpoint, body), UnsatisfiableSchema):
            break
    else:
        # Where vLLM has a constraint of its own as well, the probes above cannot ask.
        if not _counts(metrics, "on_request"):
            return answers.enforces(plain, start), None
        route, requires = Route.PLUGIN, False
    found = answers.by_request(route, start, alone=requires, require_all=require_all)
    return found, route


def _counts(metrics: str | None, enforces: str) -> bool:
    """Return whether the metrics count an API server that enforces so."""
    told = client.samples(metrics, "enforcer_api_servers")
    return any(count and labels["enforces"] == enforces for labels, count in told)


def _ask(endpoint: Endpoint, body: Mapping[str, Any]) -> ChatReply:
    return asyncio.run(client.send_all(endpoint, [body]))[0]
