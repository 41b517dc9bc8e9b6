"""The command `enforcer verify`: measurement of a running server.

`tools.verify` makes, sends and counts requests, `judging` judges replies, and `verify_report` shows
the results.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from enforcer import documents
from enforcer.errors import ConfigurationError
from enforcer.judging.judge import Fault, judge
from enforcer.judging.rules import IdRule, ReplyRules, rules_of
from enforcer.schema.bundling.folders import read_schemas
from enforcer.tools.cli import flags, verify_report
from enforcer.tools.cli.flags import finite, path, positive
from enforcer.tools.cli.output import complain, number, remark, say
from enforcer.tools.verify import reference, suites
from enforcer.tools.verify.report import Request, Result
from enforcer.tools.verify.suites import Case, RecordedRequests
from enforcer.turn import dialects
from enforcer.vllm.config import names

if TYPE_CHECKING:
    from enforcer.judging.replies import ChatReply
    from enforcer.tools.verify.client import Endpoint
    from enforcer.tools.verify.reference import ReferenceRun

_DESCRIPTION = """\
Sends requests to an OpenAI-compatible server and counts what is wrong with the replies:
undeclared calls, arguments that fail their schema, ids, finish reasons, markers in the
text. A suite of schemas, each of which must be called with (--schemas), recorded
requests (--requests), or both.

Exit status: 0 if nothing is wrong, 1 if a reply violates what its request demands, a request
was refused or failed, or no reply has a call, 2 if nothing could be measured or a line of
--requests is no JSON, 130 after Ctrl-C, which shows what was measured until then."""
_NO_CALLS = (
    "no complete reply has a call, so nothing was shown of calls: send requests that demand one "
    "(`tool_choice: required`), or --schemas, which does"
)
INTERRUPTED = 130  # as in shells: 128 and the signal's number


_NOT_FOUND = 404
# Whether the requests of each run are streamed; None leaves them as they were recorded.
_STREAMED: Mapping[str, tuple[bool | None, ...]] = {
    "yes": (True,),
    "no": (False,),
    "both": (False, True),
    "recorded": (None,),
}
_SUFFIX = {False: ", whole", True: ", streamed", None: ""}


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    told = "measure a running server, as the vendor verifiers do"
    parser = flags.add_command(commands, run, "verify", told, _DESCRIPTION)
    server = parser.add_argument_group("the server")
    add = server.add_argument
    add("--url", required=True, help="base URL of its routes, as http://localhost:8000/v1")
    add("--model", help="name of the model (by default the only one that the server serves)")
    flags.add_server(server, timeout=300)
    concurrency_help = "requests that are sent at once (%(default)s)"
    add("--concurrency", type=positive(int), default=16, metavar="N", help=concurrency_help)
    add = parser.add_argument_group("what is sent").add_argument
    add("--schemas", type=path, metavar="PATH", help="folder or file of schemas")
    add("--requests", type=path, metavar="FILE", help="recorded chat requests; others are skipped")
    ways = "|".join(_STREAMED)
    add("--stream", choices=_STREAMED, metavar=ways, help="by default both, requests as recorded")
    add("--max-tokens", type=positive(int), metavar="N", help="`max_tokens` of every request")
    add("--temperature", type=finite, metavar="T", help="`temperature` of every request")
    body_help = "fields to add to the body of every request"
    add("--extra-body", type=_object, default={}, metavar="JSON", help=body_help)
    add("--limit", type=positive(int), metavar="N", help="send only the first N")
    judging = parser.add_argument_group("what is judged")
    add = judging.add_argument
    reference_help = "finish reasons that another server gave to --requests"
    add("--reference", type=path, metavar="FILE", help=reference_help)
    flags.add_dialect(judging, None, "by default what the server's metrics say, else kimi_k2")
    rules = "|".join(rule.value for rule in IdRule)
    add("--ids", type=IdRule, metavar=rules, help="form of the ids of calls, if not the dialect's")
    flags.add_documents(judging)
    add("--allow-refused", action="store_true", help="do not count HTTP 400 as wrong")
    parser.add_argument("--report", type=path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--quiet", action="store_true", help="do not show the progress")


def _object(text: str) -> dict[str, Any]:
    try:
        value = documents.value(text)
        json.dumps(value, allow_nan=False)  # 1e999 is read as infinity, and cannot be sent
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"cannot be sent as JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return value


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        ConfigurationError: nothing can be measured.

    """
    endpoint = flags.endpoint_of(options, concurrency=options.concurrency)
    if not (options.schemas or options.requests):
        raise ConfigurationError("nothing to send: give --schemas, --requests or both")
    if options.reference and not options.requests:
        raise ConfigurationError("--reference has the finish reasons of --requests; give both")
    if options.report:
        verify_report.refuse_unwritable(options.report)
    schemas = suites.schema_cases(options.schemas) if options.schemas else []
    recorded = suites.recorded_cases(options.requests) if options.requests else RecordedRequests()
    theirs = reference.read(options.reference) if options.reference else None
    _tell_left_out(recorded)
    model, told = asyncio.run(_asked(endpoint, options.model))
    provided, _ = read_schemas(options.documents)
    dialect = options.dialect or told or "kimi_k2"
    judging = rules_of(dialects.named(names.stock(dialect)), options.ids, provided)
    requests = [
        *_requests(schemas, "schemas", options.stream or "both", model, options),
        *_requests(recorded.cases, "requests", options.stream or "recorded", model, options),
    ]
    results = _measure(endpoint, requests, judging, quiet=options.quiet)
    if len(results) < len(requests):  # Ctrl-C
        if results:
            verify_report.show(results, len(requests), theirs, options.report)
        remark("", f"interrupted: {len(results)} of {len(requests)} requests were measured")
        return INTERRUPTED
    status = _tell(results, theirs, options)
    if recorded.unreadable:
        remark(f"no JSON, and so not measured: {number(len(recorded.unreadable), 'line')}")
        return 2
    return status


async def _asked(endpoint: Endpoint, model: str | None) -> tuple[str, str | None]:
    """Return the model's name, by default that of the only one, and the server's dialect."""
    from enforcer.tools.verify import client

    name = model or await client.only_model(endpoint, "with --model")
    return name, client.dialect_told(await client.metrics(endpoint))


def _tell_left_out(recorded: RecordedRequests) -> None:
    """Report the records that are not sent: all unreadable lines, which must be mended."""
    complain(*recorded.unreadable)
    if skipped := recorded.skipped:
        first = f", of which the first {suites.SHOWN}" if len(skipped) > suites.SHOWN else ""
        complain(f"skipped {number(len(skipped), 'record')}{first}:", *skipped[: suites.SHOWN])


def _requests(
    cases: Sequence[Case], kind: str, stream: str, model: str, options: argparse.Namespace
) -> Iterator[Request]:
    """Yield the requests of all cases, in one run, or in two: whole and streamed."""
    for streamed in _STREAMED[stream]:
        for at, case in enumerate(cases[: options.limit]):
            # Named by its record's number, or a schema's place among the schemas, from 1.
            place = at if case.at is None else case.at
            body = _body(case, model, options, stream=streamed)
            yield Request(case, kind + _SUFFIX[streamed], body, f"enforcer-verify-{1 + place}")


def _measure(
    endpoint: Endpoint, requests: Sequence[Request], judging: ReplyRules, *, quiet: bool
) -> list[Result]:
    """Send the requests and judge the replies; fewer than requests after Ctrl-C."""
    from enforcer.tools.verify import client

    replies: dict[int, ChatReply] = {}

    def arrived(at: int, reply: ChatReply) -> None:
        replies[at] = reply
        done, total = len(replies), len(requests)
        if not quiet and done * 10 // total > (done - 1) * 10 // total:  # a tenth of the way
            remark(f"{done} of {total} answered")

    bodies, ids = [each.body for each in requests], [each.id for each in requests]
    with suppress(KeyboardInterrupt):
        asyncio.run(client.send_all(endpoint, bodies, arrived, ids))
    return [
        Result(request, replies[at], judge(request.body, replies[at], judging))
        for at, request in enumerate(requests)
        if at in replies
    ]


def _body(
    case: Case, model: str, options: argparse.Namespace, *, stream: bool | None
) -> Mapping[str, Any]:
    body = {**case.body, "model": model, **options.extra_body}
    if stream is not None:
        body["stream"] = stream
    if options.max_tokens is not None:
        body.pop("max_completion_tokens", None)
        body["max_tokens"] = options.max_tokens
    if options.temperature is not None:
        body["temperature"] = options.temperature
    return body


def _tell(
    results: Sequence[Result], theirs: ReferenceRun | None, options: argparse.Namespace
) -> int:
    """Print the results, and return the exit status."""
    if all(Fault.FAILED in result.verdict.faults for result in results):
        first = results[0]
        [finding] = first.verdict.findings
        # The server's own word for it, as vLLM's `Valid aliases`, is not that of our option.
        is_named = options.model is not None and first.reply.status == _NOT_FOUND
        mend = f" (is {options.model} a model of that server? --model names it)" if is_named else ""
        raise ConfigurationError(f"no request was answered: {finding.message}{mend}")
    row = verify_report.show(results, len(results), theirs, options.report)
    say("", verify_report.summary(row))
    wrong = {fault for fault, count in row.faults.items() if count}
    if options.allow_refused:
        wrong.discard(Fault.REFUSED)
    if wrong == {Fault.REFUSED}:
        say("where refusals are meant, --allow-refused makes them nothing wrong")
    if not row.complete:
        mend = "raise --max-tokens" if row.cut_off else "every request was refused or failed"
        say(f"no reply was complete, so nothing was shown: {mend}")
        return 1 if wrong else 2
    if not row.with_calls:
        say(_NO_CALLS)
        return 1
    return int(bool(wrong))
