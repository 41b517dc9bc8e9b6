"""The names by which vLLM knows us, without importing vLLM."""

PARSER_NAME = "kimi_k2_enforced"
# On what we have put in the place of a function of vLLM: the original.
PATCHED = "_enforcer_original"
PROCESSOR_NAME = "EnforcerLogitsProcessor"
TESTED_VERSIONS = ("0.32.0", "0.33.0")
