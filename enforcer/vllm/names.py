"""The names by which vLLM knows us, without importing vLLM."""

from __future__ import annotations

from typing import Any

PARSER_NAME = "kimi_k2_enforced"
# On what we have put in the place of a function of vLLM: the original.
PATCHED = "_enforcer_original"
PROCESSOR_NAME = "EnforcerLogitsProcessor"
TESTED_VERSIONS = ("0.32.0", "0.33.0")


def reads_extra(loaded: Any) -> bool:
    """Tell whether our logits processor is among those that a server was started with.

    Args:
        loaded: `ModelConfig.logits_processors`: names or classes, or None.

    """
    names = (each if isinstance(each, str) else each.__name__ for each in loaded or ())
    return any(name.rpartition(":")[2] == PROCESSOR_NAME for name in names)
