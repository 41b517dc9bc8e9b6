"""`enforcer verify`: measures a running server.

Owns: the command's options, the runs, and its exit status. Must not know: what is printed of the
results (`verify_report`), how requests are made, sent, judged or counted (`enforcer.verify`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from enforcer import documents
from enforcer.cli import verify_report
from enforcer.cli.options import add_command, add_documents, finite, missing, path, positive
from enforcer.cli.output import complain, remark, say
from enforcer.cli.progress import progress
from enforcer.errors import ConfigurationError
from enforcer.schema.bundling.folders import read_schemas
from enforcer.turn import dialects
from enforcer.verify import KEY_VARIABLE, expected, measure, reference, suites
from enforcer.verify.measure import Fault, IdRule
from enforcer.verify.report import Result
from enforcer.verify.suites import Recorded
from enforcer.vllm.config import names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from enforcer.verify.client import Endpoint
    from enforcer.verify.expected import Expected
    from enforcer.verify.replies import Reply
    from enforcer.verify.suites import Case

_DESCRIPTION = """\
Sends requests to an OpenAI-compatible server and counts what is wrong with the replies:
undeclared calls, arguments that fail their schema, ids, finish reasons, markers in the
text. A suite of schemas, each of which must be called with (--schemas), recorded
requests (--requests), or both.

Exit status: 0 if nothing is wrong, 1 if a reply violates what its request demands, a
request was refused (unless --allow-refused) or failed, or no reply has a call, which
shows nothing of calls, 2 if nothing could be measured or a line of --requests is no JSON
(the others are measured all the same), 130 after Ctrl-C, which shows what was measured
until then.
A reply that max_tokens cut off is counted as such; it is no violation unless it
reports a call."""
_NO_CALLS = (
    "no complete reply has a call, so nothing was shown of calls: send requests that demand one "
    "(`tool_choice: required`), or --schemas, which does"
)
INTERRUPTED = 130  # as shells have it, 128 and the signal's number


class Stream(Enum):
    """Whether the requests are streamed."""

    YES = "yes"
    NO = "no"
    BOTH = "both"
    RECORDED = "recorded"


_NOT_FOUND = 404
_SUFFIX = {Stream.NO: ", whole", Stream.YES: ", streamed", Stream.RECORDED: ""}


@dataclass(frozen=True, slots=True)
class _Run:
    """Requests that are counted together, in one column."""

    name: str
    stream: Stream  # any but BOTH
    cases: Sequence[Case]


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = add_command(
        commands,
        run,
        "verify",
        "measure a running server, as the vendor verifiers do",
        _DESCRIPTION,
    )
    server = parser.add_argument_group("the server")
    server.add_argument(
        "--url",
        required=True,
        help="base URL of the OpenAI-compatible routes, such as http://localhost:8000/v1",
    )
    server.add_argument(
        "--model", help="name of the model (by default the only one that the server serves)"
    )
    server.add_argument("--key", help=f"API key (${KEY_VARIABLE} by default)")
    server.add_argument(
        "--timeout", type=positive(float), default=300, metavar="S",
        help="seconds without any data after which a request has failed (%(default)s)",
    )  # fmt: skip
    server.add_argument(
        "--concurrency", type=positive(int), default=16, metavar="N",
        help="requests that are sent at once (%(default)s)",
    )  # fmt: skip
    _add_requests(parser.add_argument_group("what is sent"))
    _add_rules(parser.add_argument_group("what is judged"))
    parser.add_argument("--report", type=path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_requests(what: Any) -> None:
    what.add_argument("--schemas", type=path, metavar="PATH", help="folder or file of schemas")
    what.add_argument(
        "--requests", type=path, metavar="FILE", help="recorded chat requests; others are skipped"
    )
    what.add_argument(
        "--reference", type=path, metavar="FILE",
        help="finish reasons that another server gave to --requests, for the similarity; at a "
        "temperature above 0 a server sent the same twice is not quite like itself either",
    )  # fmt: skip
    what.add_argument(
        "--stream", type=Stream, default=None, metavar="|".join(s.value for s in Stream),
        help="whether to stream (schemas: both, requests: as recorded)",
    )  # fmt: skip
    what.add_argument(
        "--max-tokens", type=positive(int), metavar="N", help="`max_tokens` of every request"
    )
    what.add_argument(
        "--temperature", type=finite, metavar="T", help="`temperature` of every request"
    )
    what.add_argument(
        "--extra-body",
        type=_object,
        default={},
        metavar="JSON",
        help="fields to add to the body of every request",
    )
    what.add_argument("--limit", type=positive(int), metavar="N", help="send only the first N")


def _add_rules(judging: Any) -> None:
    judging.add_argument(
        "--dialect", metavar="NAME",
        help="the model's tool-call format, by the name of its dialect or of vLLM's "
        "parser for it (by default what the server's metrics say, else kimi_k2)",
    )  # fmt: skip
    judging.add_argument(
        "--ids", type=IdRule, metavar="|".join(r.value for r in IdRule),
        help="form that the ids of calls must have: functions.NAME:IDX (kimi), "
        "anything:IDX, nine letters and digits, or any that are not repeated (by "
        "default the dialect's)",
    )  # fmt: skip
    add_documents(judging)
    judging.add_argument(
        "--allow-refused",
        action="store_true",
        help="do not count refused requests (HTTP 400) as wrong",
    )


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
    try:
        from enforcer.verify import client
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"`enforcer verify` needs the package {error.name!r}: {missing(error)}"
        ) from error
    if not (options.schemas or options.requests):
        raise ConfigurationError("nothing to send: give --schemas, --requests or both")
    if options.reference and not options.requests:
        raise ConfigurationError("--reference has the finish reasons of --requests; give both")
    endpoint = client.Endpoint.at(
        options.url,
        key=options.key or os.environ.get(KEY_VARIABLE),
        timeout=options.timeout,
        concurrency=options.concurrency,
    )
    if options.report:
        verify_report.refuse_unwritable(options.report)
    recorded = suites.recorded_cases(options.requests) if options.requests else Recorded()
    if options.reference:
        # What is wrong with it is told now, and not after everything has been sent.
        places = (one.at for one in recorded.cases if one.at is not None)
        reference.read(options.reference, 1 + max(places, default=-1))
    runs = _runs(options, recorded)
    _tell_left_out(recorded)
    model = options.model or _only_model(asyncio.run(client.models(endpoint)), endpoint)
    provided, _ = read_schemas(options.documents)
    told = None if options.dialect else expected.told(asyncio.run(client.metrics(endpoint)))
    dialect = dialects.named(names.stock(options.dialect or told or "kimi_k2"))
    judging = expected.of(dialect, options.ids, provided)
    results: dict[str, list[Result]] = {}
    total = sum(len(one.cases) for one in runs)
    with progress(total, quiet=options.quiet) as advance:
        for one in runs:
            results[one.name] = _measure(endpoint, model, one, options, advance, judging=judging)
            if len(results[one.name]) < len(one.cases):
                return _tell_part(
                    {name: run for name, run in results.items() if run}, total, options
                )
    status = _tell(results, options)
    if recorded.unreadable:
        count = len(recorded.unreadable)
        said = (
            "1 line is not JSON, and was" if count == 1 else f"{count} lines are not JSON, and were"
        )
        remark(f"{said} not measured")
        return 2
    return status


def _tell_part(
    results: Mapping[str, Sequence[Result]], total: int, options: argparse.Namespace
) -> int:
    """Tell what was measured before Ctrl-C."""
    if results:
        verify_report.show(results, total, options.reference, options.report)
    measured = sum(map(len, results.values()))
    remark("", f"interrupted: {measured} of {total} requests were measured")
    return INTERRUPTED


def _only_model(served: list[str], endpoint: Endpoint) -> str:
    if len(served) == 1:
        return served[0]
    known = f"one of {', '.join(served)}" if served else "it does not say which it serves"
    raise ConfigurationError(f"name the model of {endpoint.url} with --model: {known}")


def _runs(options: argparse.Namespace, recorded: Recorded) -> list[_Run]:
    runs = []
    if options.schemas:
        cases = suites.schema_cases(options.schemas)[: options.limit]
        runs += [
            _Run("schemas" + _SUFFIX[stream], stream, cases)
            for stream in _ways(options.stream or Stream.BOTH)
        ]
    if recorded.cases:
        sent = recorded.cases[: options.limit]
        runs += [
            _Run("requests" + _SUFFIX[stream], stream, sent)
            for stream in _ways(options.stream or Stream.RECORDED)
        ]
    return runs


def _tell_left_out(recorded: Recorded) -> None:
    """Tell of what is not sent; each line that cannot be read is to be mended, so all are named."""
    complain(*recorded.unreadable)
    if skipped := recorded.skipped:
        count = "1 record is" if len(skipped) == 1 else f"{len(skipped)} records are"
        first = f", of which the first {suites.SHOWN}" if len(skipped) > suites.SHOWN else ""
        complain(f"{count} skipped{first}:", *skipped[: suites.SHOWN])


def _ways(stream: Stream) -> tuple[Stream, ...]:
    return (Stream.NO, Stream.YES) if stream is Stream.BOTH else (stream,)


def _measure(
    endpoint: Endpoint,
    model: str,
    one: _Run,
    options: argparse.Namespace,
    advance: Callable[[], None],
    *,
    judging: Expected,
) -> list[Result]:
    from enforcer.verify import client

    bodies = [_body(case, model, one.stream, options) for case in one.cases]
    ids = [_request_id(case, at) for at, case in enumerate(one.cases)]
    replies: dict[int, Reply] = {}

    def arrived(at: int, reply: Reply) -> None:
        replies[at] = reply
        advance()

    with suppress(KeyboardInterrupt):  # fewer results than cases say so
        asyncio.run(client.send_all(endpoint, bodies, arrived, ids))
    return [
        Result(case, bool(body.get("stream")), reply, judging.judge(body, reply), ids[at])
        for at, (case, body) in enumerate(zip(one.cases, bodies, strict=True))
        if (reply := replies.get(at)) is not None
    ]


def _request_id(case: Case, at: int) -> str:
    """Name a request by its record's number, or a schema's place among the schemas, from 1."""
    return f"enforcer-verify-{1 + (at if case.at is None else case.at)}"


def _body(case: Case, model: str, stream: Stream, options: argparse.Namespace) -> Mapping[str, Any]:
    body = {**case.body, "model": model, **options.extra_body}
    if stream is not Stream.RECORDED:
        body["stream"] = stream is Stream.YES
    if options.max_tokens is not None:
        body.pop("max_completion_tokens", None)
        body["max_tokens"] = options.max_tokens
    if options.temperature is not None:
        body["temperature"] = options.temperature
    return body


def _tell(results: Mapping[str, Sequence[Result]], options: argparse.Namespace) -> int:
    every = [result for run in results.values() for result in run]
    if not any(one.reply.answered or measure.is_refusal(one.reply) for one in every):
        [finding] = every[0].verdict.findings
        # The server's own word for it, as vLLM's `Valid aliases`, is not that of our option.
        is_named = options.model is not None and every[0].reply.status == _NOT_FOUND
        mend = f" (is {options.model} a model of that server? --model names it)" if is_named else ""
        raise ConfigurationError(f"no request was answered: {finding.message}{mend}")
    verify_report.show(results, len(every), options.reference, options.report)
    say("", verify_report.summary(every))
    wrong = any(result.verdict.faults - _allowed(options) for result in every)
    if wrong and not any(result.verdict.faults - {Fault.REFUSED} for result in every):
        say("where refusals are meant, --allow-refused makes them nothing wrong")
    if not any(result.verdict.complete for result in every):
        cut_off = any(result.reply.answered for result in every)
        mend = "raise --max-tokens" if cut_off else "every request was refused or failed"
        say(f"no reply was complete, so nothing was shown: {mend}")
        return 1 if wrong else 2
    if not any(result.verdict.complete and result.reply.calls for result in every):
        say(_NO_CALLS)
        return 1
    return int(wrong)


def _allowed(options: argparse.Namespace) -> set[Fault]:
    return {Fault.REFUSED} if options.allow_refused else set()
