"""Filters on vLLM's loggers: no traceback beside the line that says what was refused.

Owns: which of vLLM's loggers show every exception of their route with its stack, and which records
of theirs say nothing new. Must not know: what is refused, what is said of it.
"""

from __future__ import annotations

import logging
from typing import TypeVar

_Error = TypeVar("_Error", bound=Exception)
# Other routes leave exceptions to vLLM's handlers, which show a client's without a stack.
LOGGERS = ("vllm.entrypoints.anthropic.api_router",)
_SAID = "_enforcer_said"


def said(error: _Error) -> _Error:
    """Mark an error of which a line of the log has told; gives the same error."""
    setattr(error, _SAID, True)
    return error


def install() -> None:
    """Pass over records of what has been said; idempotent."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_tells_more)


def take_back() -> None:
    """Let all records through again."""
    for name in LOGGERS:
        logging.getLogger(name).removeFilter(_tells_more)


def _tells_more(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not hasattr(error, _SAID)
