"""What a starting server says of its model's chat template.

Owns: when the template is looked at, and how loudly. Must not know: what is wrong with a
template (that is `enforcer.doctor.template`).

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
