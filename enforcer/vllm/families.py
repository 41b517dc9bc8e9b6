"""Which numbers there are on `/metrics`, and which values their labels have.

Owns: the metric families and their labels. Must not know: when something is counted, how numbers
are kept or shown.

No label has a value that a client can choose.
"""

from __future__ import annotations

from enum import Enum
from importlib.metadata import PackageNotFoundError, version

from enforcer.request.tools import ToolChoice
from enforcer.turn import dialects
from enforcer.vllm.stats import Counter, Gauge, Histogram, Layout

_MICRO, _MILLI = 1_000, 1_000_000
_LONG = tuple(n * _MILLI for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000))
_SHORT = tuple(n * _MICRO for n in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 20_000))

OPTION = "Option"
ERRORS = (
    *("InvalidTools", "IllegalPrefix", "BudgetTooSmall", "UnknownLength", "InvalidSchema"),
    *("UnsupportedSchema", "UnsatisfiableSchema", "SchemaLimit", OPTION, "other"),
)
# Fields of a request that can be refused for themselves.
OPTIONS = (
    *("allowed_token_ids", "bad_words", "closed_objects", "finish_within_budget", "logit_bias"),
    *("min_tokens", "on_unsupported", "repetition_penalty", "response_format", "settled"),
    *("stop_token_ids", "structured_outputs"),
    *("stop", "stop_sequences", "thinking_token_budget", "tools", "trace_decode_token_ids"),
    *("use_beam_search", "vllm_xargs"),
)
KEYWORDS = (
    *("", "$anchor", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef", "$ref"),
    *("$schema", "additionalItems", "additionalProperties", "allOf", "anyOf", "const"),
    *("contains", "contentEncoding", "contentMediaType", "contentSchema", "definitions"),
    *("dependencies", "dependentRequired", "dependentSchemas", "else", "enum"),
    *("exclusiveMaximum", "exclusiveMinimum", "format", "id", "if", "items", "maxContains"),
    *("maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems"),
    *("minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern"),
    *("patternProperties", "prefixItems", "properties", "propertyNames", "required", "then"),
    *("type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "other"),
)


def installed(package: str) -> str:
    """Return the version of a package; "unknown" for a checkout that is only imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


class Relaxed(Enum):
    """What is enforced in the place of a schema that cannot be."""

    RELAXED = "relaxed"  # the nearest superset
    ISOLATED = "isolated"  # that it is an object
    UNTIMED = "untimed"  # all of it, but a call may be cut off against `finish_within_budget`
    FREE = "free"  # the same, since a front end of vLLM's own has left the schema out


class Outcome(Enum):
    """What became of a call that the model began, or was made to."""

    COMPLETED = "completed"
    CUT_OFF = "cut_off"
    NOT_BEGUN = "not_begun"  # demanded, and the reply ended before it
    DROPPED = "dropped"


class Probed(Enum):
    """What came of a request of `enforcer doctor` that no other metric counts."""

    REFUSED = "refused"
    CUT_OFF = "cut_off"  # before or inside its call


class Failure(Enum):
    """Why a turn was ended by the enforcer."""

    START = "start"  # no matcher could be made; vLLM answers with an error
    REFUSED = "refused"  # likewise, for what a client sent to a front end that checks nothing
    GATE_CLOSED = "gate_closed"  # the matcher could not go on; vLLM answers with an error
    REJECTED = "rejected"  # an id came that was masked; vLLM answers with an error
    UNENFORCED = "unenforced"  # the engine took in nothing to enforce, against ENFORCER_REQUIRE


class Checked(Enum):
    """How it was found out whether a schema can be enforced."""

    PLAIN = "plain"  # it is so plain that it is sure to be
    KEPT = "kept"  # it had been checked before
    PASSED = "passed"  # by a worker
    REFUSED = "refused"  # likewise, or its request's schemas took too long together
    BUSY = "busy"  # not at all: too much was being checked; the request was refused with 503


class Part(Enum):
    """What a process of a server does."""

    FRONT = "front"  # an API server, what launches several, or a program that uses vLLM offline
    ENGINE = "engine"
    WORKER = "worker"


class Enforced(Enum):
    """Which requests by chat routes an API server enforces."""

    EVERY = "every_request"
    ASKED = "on_request"  # those that bring a spec, or a tag of vLLM's own


REQUESTS = Counter(
    "enforcer_requests",
    "Requests that passed the check and are enforced, by what was asked of calls.",
    (("tool_choice", tuple(choice.value for choice in ToolChoice)),),
)
REFUSED = Counter(
    "enforcer_requests_refused",
    "Requests refused with HTTP 400, by class of error and the first offending keyword, or the "
    "option that is refused.",
    (("error", ERRORS), ("keyword", (*KEYWORDS, *OPTIONS))),
)
OFF = Counter(
    "enforcer_requests_switched_off", "Chat requests that their clients had not enforced."
)
RELAXED = Counter(
    "enforcer_tools_relaxed",
    "Tools and formats of enforced requests whose schemas are not enforced exactly, or whose calls "
    "may be cut off though they were to end in time, by the first keyword that is why.",
    (("how", tuple(how.value for how in Relaxed)), ("keyword", KEYWORDS)),
)
CALLS = Counter(
    "enforcer_calls",
    "Calls in replies that were parsed: completed, cut off, demanded and not begun, or dropped as "
    "undeclared.",
    (("outcome", tuple(outcome.value for outcome in Outcome)),),
)
PROBES = Counter(
    "enforcer_probes",
    "Requests of `enforcer doctor`, told by their ids, that were refused, or whose calls were cut "
    "off. Other metrics do not count these.",
    (("outcome", tuple(outcome.value for outcome in Probed)),),
)
CHECKS = Counter(
    "enforcer_schema_checks",
    "Schemas and formats of requests, by how it was found out whether they can be enforced.",
    (("how", tuple(how.value for how in Checked)),),
)
CHECK = Histogram(
    "enforcer_check_seconds",
    "Time until a worker had checked one schema, its wait included.",
    _LONG,
)
COMPILE = Histogram(
    "enforcer_compile_seconds", "Time to compile one schema, or to find its shortest texts.", _LONG
)
MASK = Histogram("enforcer_mask_seconds", "Time to fill one mask.", _SHORT)
CACHE = Gauge("enforcer_grammar_cache_entries", "Compiled grammars kept in the engine.")
CACHE_BYTES = Gauge("enforcer_grammar_cache_bytes", "What they weigh.")
HITS = Counter("enforcer_grammar_cache_hits", "Grammars found in the cache.")
MISSES = Counter("enforcer_grammar_cache_misses", "Grammars that had to be compiled.")
FAILED = Counter(
    "enforcer_turns_failed",
    "Turns that the enforcer had to end.",
    (("reason", tuple(failure.value for failure in Failure)),),
)
PROCESSES = Gauge(
    "enforcer_processes",
    "Running processes of this server that have the plugin, by the part they take.",
    (("part", tuple(part.value for part in Part)),),
)
DIALECT = Gauge(
    "enforcer_dialect",
    "API servers that say which format they serve, by its dialect.",
    (("dialect", tuple(dialects.available())),),
)
SERVERS = Gauge(
    "enforcer_api_servers",
    "API servers, by which requests they enforce: every one, or those that ask for it.",
    (("enforces", tuple(which.value for which in Enforced)),),
)
VERSION = Gauge(
    "enforcer_version",
    "API servers, by the versions of the Enforcer and of llguidance.",
    (("version", (installed("kimi-enforcer"),)), ("llguidance", (installed("llguidance"),))),
)
LAYOUT = Layout(
    (
        *(REQUESTS, REFUSED, PROBES, OFF, RELAXED, CALLS, CHECKS, CHECK, COMPILE, MASK),
        *(CACHE, CACHE_BYTES, HITS, MISSES, FAILED, PROCESSES, DIALECT, SERVERS, VERSION),
    )
)


def known(keyword: str) -> str:
    """Give the label of a keyword."""
    return keyword if keyword in KEYWORDS else "other"
