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
from enforcer.vllm.observe.stats import Counter, Gauge, Histogram, Layout

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
    "Requests that passed the admission check and are enforced, by tool_choice.",
    (("tool_choice", tuple(choice.value for choice in ToolChoice)),),
)
REFUSED = Counter(
    "enforcer_requests_refused",
    "Requests refused with HTTP 400, by class of error and by the first "
    "offending keyword of a schema or option of the request.",
    (("error", ERRORS), ("keyword", (*KEYWORDS, *OPTIONS))),
)
OFF = Counter(
    "enforcer_requests_switched_off", "Chat requests for which the client switched enforcement off."
)
RELAXED = Counter(
    "enforcer_tools_relaxed",
    "Tools and response formats whose schema is not enforced exactly, or whose "
    "calls max_tokens may cut off despite finish_within_budget, by what is "
    "enforced instead and the first keyword to blame.",
    (("how", tuple(how.value for how in Relaxed)), ("keyword", KEYWORDS)),
)
CALLS = Counter(
    "enforcer_calls",
    "Tool calls in parsed replies: completed, cut off, demanded but never "
    "begun, or dropped as undeclared or malformed.",
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
    "Schemas and response formats of requests, by how the admission check decided on them.",
    (("how", tuple(how.value for how in Checked)),),
)
CHECK = Histogram(
    "enforcer_check_seconds",
    "Time from asking a worker to check one schema to its answer, the wait in the queue included.",
    _LONG,
)
COMPILE = Histogram(
    "enforcer_compile_seconds",
    "Time to compile one schema into a grammar, or to compute its shortest completions.",
    _LONG,
)
MASK = Histogram("enforcer_mask_seconds", "Time that the engine waited for one bitmask.", _SHORT)
CACHE = Gauge("enforcer_grammar_cache_entries", "Compiled grammars in the engine's cache.")
CACHE_BYTES = Gauge(
    "enforcer_grammar_cache_bytes",
    "Estimated memory of what the engine keeps between requests (grammars, mask rows), in bytes.",
)
HITS = Counter(
    "enforcer_grammar_cache_hits", "Lookups of a compiled grammar that the cache answered."
)
MISSES = Counter(
    "enforcer_grammar_cache_misses", "Lookups of a compiled grammar that had to compile it."
)
FAILED = Counter(
    "enforcer_turns_failed",
    "Turns that the enforcer ended because it could not enforce them any further, by reason.",
    (("reason", tuple(failure.value for failure in Failure)),),
)
PROCESSES = Gauge(
    "enforcer_processes",
    "Running processes of this server that have the plugin, by their role.",
    (("part", tuple(part.value for part in Part)),),
)
DIALECT = Gauge(
    "enforcer_dialect",
    "API servers, by the tool-call format that they serve.",
    (("dialect", tuple(dialects.available())),),
)
SERVERS = Gauge(
    "enforcer_api_servers",
    "API servers, by which chat requests they enforce: every one, or those that ask for it.",
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
