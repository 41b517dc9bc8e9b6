"""The plugin's names in vLLM, and vLLM's tested versions; importable without vLLM."""

from __future__ import annotations

from typing import Any

_SUFFIX = "_enforced"
# Where a launcher tells the processes that it starts which parser it was given.
PARSER_VARIABLE = "ENFORCER_PARSER"
# Where it tells them which of these flags of `--structured-outputs-config` are set.
TEXT_VARIABLE = "ENFORCER_TEXT_FLAGS"
COMPACT_TEXT, CLOSED_TEXT = "disable_any_whitespace", "disable_additional_properties"
# On what we have put in the place of a function of vLLM: the original.
PATCHED = "_enforcer_original"
# Classes of ASGI middleware: of a server that enforces, and in shadow mode.
MIDDLEWARE = "enforcer.vllm.server.bodies.RequestMiddleware"
SHADOW_MIDDLEWARE = "enforcer.vllm.shadow.middleware.ShadowMiddleware"
PROCESSOR_NAME = "EnforcerLogitsProcessor"
PROBE = "enforcer-doctor-"  # begins the id of a request of `enforcer doctor`
TESTED_VERSIONS = ("0.32.0", "0.33.0")


def enforced(parser: str) -> str:
    """Return the name of our parser in the place of one of vLLM's."""
    return parser + _SUFFIX


def stock(parser: str) -> str:
    """Return the name of vLLM's parser of the same format."""
    return parser.removesuffix(_SUFFIX)


def is_enforced(parser: str | None) -> bool:
    """Return whether a parser's name is one of ours."""
    return parser is not None and parser.endswith(_SUFFIX)


def reads_extra(loaded: Any) -> bool:
    """Return whether a server was started with our logits processor.

    Args:
        loaded: `ModelConfig.logits_processors`: names or classes, or None.

    """
    names = (each if isinstance(each, str) else each.__name__ for each in loaded or ())
    return any(name.rpartition(":")[2] == PROCESSOR_NAME for name in names)
