"""A filter on vLLM's loggers: no traceback beside the line that says what was refused."""

from __future__ import annotations

import logging
from typing import TypeVar

_Error = TypeVar("_Error", bound=Exception)
# The one route that shows every exception with its stack; others leave a client's to handlers.
LOGGER = "vllm.entrypoints.anthropic.api_router"
_SAID = "_enforcer_said"


def said(error: _Error) -> _Error:
    """Mark an error that a line of the log has told of; return the same error."""
    setattr(error, _SAID, True)
    return error


def install() -> None:
    """Pass over records of errors that have been told of; idempotent."""
    logging.getLogger(LOGGER).addFilter(_tells_more)


def _tells_more(record: logging.LogRecord) -> bool:
    return not (record.exc_info and hasattr(record.exc_info[1], _SAID))
