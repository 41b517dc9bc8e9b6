"""The metric families on `/metrics` and the values that their labels have.

No label has a value that a client can choose, except `tool` in shadow mode, of which a process has
64 values.
"""

from __future__ import annotations

from enum import Enum
from importlib.metadata import PackageNotFoundError, version

from enforcer.request.tools import ToolChoice
from enforcer.schema import keywords
from enforcer.turn import dialects
from enforcer.vllm.observe.stats import OTHER, Count, Family, Gauge, Histogram, Named, ValuesLayout

_LONG = tuple(ms * 10**6 for ms in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000))
_SHORT = tuple(us * 1000 for us in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 20_000))

OPTION = "Option"
ERRORS = (
    *("InvalidTools", "IllegalPrefix", "BudgetTooSmall", "InvalidSchema"),
    *("UnsupportedSchema", "UnsatisfiableSchema", "SchemaLimit", OPTION, "other"),
)
# Fields of a request that can be rejected for themselves.
_OPTIONS = """
allowed_token_ids bad_words closed_objects finish_within_budget logit_bias min_tokens on_unsupported
repetition_penalty response_format settled stop stop_sequences stop_token_ids structured_outputs
thinking_token_budget tools trace_decode_token_ids use_beam_search vllm_xargs
"""
OPTIONS = tuple(_OPTIONS.split())
KEYWORDS = ("", *keywords.KEYWORDS, "other")


def installed(package: str) -> str:
    """Return the version of a package; "unknown" for a checkout that is only imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


class Relaxed(Enum):
    """The substitute for a schema that cannot be enforced."""

    RELAXED = "relaxed"  # the nearest superset
    ISOLATED = "isolated"  # only that the value is an object
    FREE = "free"  # the same, since a front end of vLLM's own has left the schema out


class Outcome(Enum):
    """What became of a call that the model began, or was made to."""

    COMPLETED = "completed"
    CUT_OFF = "cut_off"
    NOT_BEGUN = "not_begun"  # demanded, and the reply ended before it
    DROPPED = "dropped"


class Failure(Enum):
    """Why a turn was ended by the enforcer."""

    START = "start"  # no matcher could be made; vLLM answers with an error
    REFUSED = "refused"  # as `start`, for a request from a front end without our checks
    GATE_CLOSED = "gate_closed"  # the matcher could not go on; vLLM answers with an error
    REJECTED = "rejected"  # an id came that was masked; vLLM answers with an error
    UNENFORCED = "unenforced"  # the engine took in nothing to enforce, against ENFORCER_REQUIRE


class CheckOutcome(Enum):
    """How it was found out whether a schema can be enforced."""

    PLAIN = "plain"  # it is so plain that it is sure to be
    KEPT = "kept"  # it had been checked before
    PASSED = "passed"  # a worker found no fault
    REFUSED = "refused"  # a worker found one, or the request's schemas took too long
    BUSY = "busy"  # not checked, since too much was; the request was rejected with 503


class Drafted(Enum):
    """What became of a draft token by the grammar."""

    ACCEPTED = "accepted"  # the model wrote it
    REJECTED = "rejected"  # it wrote another one, or the step had no room for it


class Judged(Enum):
    """What became of a reply in shadow mode."""

    COMPLETE = "complete"
    CUT_OFF = "cut_off"  # by `max_tokens`
    REFUSED = "refused"  # vLLM answered with HTTP 400 or 422
    FAILED = "failed"  # vLLM answered with another error
    CANCELLED = "cancelled"  # its client went away
    UNJUDGED = "unjudged"  # judging it failed, or took too long


class Change(Enum):
    """What enforcement would have changed about a reply, by the judge of `enforcer verify`."""

    UNDECLARED = "undeclared"  # a call to a tool that the request does not declare or allow
    SCHEMA = "schema"  # arguments that do not fit the tool's schema
    ID = "id"  # a call's id has another form or index
    CHOICE = "choice"  # against `tool_choice` or `parallel_tool_calls`
    FINISH = "finish"  # a finish reason that does not go with the calls
    LEAK = "leak"  # markers in the text: a call that vLLM's parser has not read
    EMPTY = "empty"  # neither text nor call
    REJECTED = "rejected"  # the request would have been an HTTP 400


def _by(**labels: tuple[str, ...] | type[Enum]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the labels of a family, each with its values."""
    return tuple(
        (name, values if isinstance(values, tuple) else tuple(each.value for each in values))
        for name, values in labels.items()
    )


# In the order of docs/vllm/metrics.md, which has the whole meaning of each.
REQUESTS = Count("enforcer_requests", "Enforced requests.", _by(tool_choice=ToolChoice))
REFUSED = Count(
    "enforcer_requests_refused",
    "Requests rejected with HTTP 400, by error and the first offending keyword or option.",
    _by(error=ERRORS, keyword=(*KEYWORDS, *OPTIONS)),
)
OFF = Count("enforcer_requests_switched_off", "Requests that clients had not enforced.")
RELAXED = Count(
    "enforcer_tools_relaxed", "Inexactly enforced tools.", _by(how=Relaxed, keyword=KEYWORDS)
)
CALLS = Count("enforcer_calls", "Tool calls in parsed replies.", _by(outcome=Outcome))
CHECKS = Count("enforcer_schema_checks", "Schemas of requests, checked.", _by(how=CheckOutcome))
CHECK = Histogram("enforcer_check_seconds", "Checking a schema, with its wait.", bounds=_LONG)
COMPILE = Histogram("enforcer_compile_seconds", "Compiling a schema.", bounds=_LONG)
MASK = Histogram("enforcer_mask_seconds", "Waiting for a bitmask.", bounds=_SHORT)
CACHE = Gauge("enforcer_grammar_cache_entries", "Compiled grammars in the cache.")
CACHE_BYTES = Gauge("enforcer_grammar_cache_bytes", "Memory kept between requests, estimated.")
TEXT_BYTES = Gauge("enforcer_live_text_bytes", "Memory of arguments that are being written.")
HITS = Count("enforcer_grammar_cache_hits", "Lookups that the grammar cache answered.")
MISSES = Count("enforcer_grammar_cache_misses", "Lookups that had to compile a grammar.")
SHORTENED = Count("enforcer_turns_shortened", "Turns whose budget forbade tokens within a call.")
FAILED = Count("enforcer_turns_failed", "Turns that the enforcer ended.", _by(reason=Failure))
DRAFTS = Count("enforcer_draft_tokens", "Draft tokens by the grammar.", _by(outcome=Drafted))
CALL_PASSES = Count("enforcer_call_passes", "Forward passes within calls, with drafts on.")
# An API server, what launches several, or a program that uses vLLM offline is a front.
PARTS = FRONT, ENGINE, WORKER = "front", "engine", "worker"
PROCESSES = Gauge("enforcer_processes", "Running processes with the plugin.", _by(part=PARTS))
DIALECT = Gauge(
    "enforcer_dialect", "API servers, by tool-call format.", _by(dialect=(*dialects.available(),))
)
EVERY, ASKED = "every_request", "on_request"  # requests with a spec or a native tag
NOTHING = "nothing"  # a server in shadow mode
SERVERS = Gauge(
    "enforcer_api_servers",
    "API servers, by what they enforce.",
    _by(enforces=(EVERY, ASKED, NOTHING)),
)
VERSION = Gauge(
    "enforcer_version",
    "API servers, by the versions of the Enforcer.",
    _by(version=(installed("kimi-enforcer"),)),
)
SHADOWED = Count("enforcer_shadow_replies", "Replies in shadow mode.", _by(outcome=Judged))
CHANGED = Count(
    "enforcer_shadow_would_change",
    "Replies in shadow mode that enforcement would have changed, by kind.",
    _by(kind=Change),
)
CHANGED_TOOLS = Named(
    "enforcer_shadow_tools",
    "The same, by the tool that was called.",
    (("tool", (OTHER,)), *_by(kind=Change)),
)
DROPPED = Count("enforcer_shadow_dropped", "Replies in shadow mode that were not judged.")
LAYOUT = ValuesLayout([each for each in tuple(vars().values()) if isinstance(each, Family)])


def label(value: str, values: tuple[str, ...] = KEYWORDS) -> str:
    """Return a label's value: `value` if it is declared, else "other"."""
    return value if value in values else "other"
