"""What a starting server says of its model's chat template and of its front end.

Owns: when they are looked at, and how loudly. Must not know: what is wrong with a template
(that is `enforcer.doctor.template`).

A template that does not open the assistant's turn, or that renders strings as lists, makes
any model look broken. It is no reason to refuse to start: `--chat-template` may replace it,
and a request may bring its own.
"""

from __future__ import annotations

import logging
from typing import Any

from enforcer import dialect as dialects
from enforcer.doctor import Status
from enforcer.doctor.model import template_checks
from enforcer.vllm import settings

logger = logging.getLogger("vllm.enforcer")

_seen: set[int] = set()


def look_at(tokenizer: Any) -> None:
    """Log what must be mended in a tokenizer's chat template; once for each tokenizer."""
    if tokenizer is None or id(tokenizer) in _seen:
        return
    _seen.add(id(tokenizer))
    for check in template_checks(tokenizer, None, dialects.load(settings.current().dialect)):
        if check.status is Status.BAD:
            logger.warning(
                "the model's own chat template: %s: %s. What to do: %s",
                check.name,
                check.found,
                check.mend,
            )


def look_at_front_end(environment: Any) -> None:
    """Log what an engine enforces behind a front end that is not written in Python.

    No plugin sees requests there; see `enforcer.vllm.stock`.

    Args:
        environment: vLLM's `envs`.

    """
    if getattr(environment, "VLLM_USE_RUST_FRONTEND", False):
        logger.warning(
            "vLLM's Rust front end loads no plugins. The engine enforces the tool calls that it "
            "asks for: `tool_choice` required or named; auto with --tool-strict-level function or "
            "parameter, or with a strict tool. Arguments fit the tool's schema only at level "
            "parameter or for a strict tool; else they are any object. Not enforced: replies that "
            "the front end reads no calls from (no tools, `tool_choice` none), and auto below "
            "level function. Start with --tool-call-parser kimi_k2 --tool-strict-level parameter"
        )
