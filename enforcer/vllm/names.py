"""The names by which vLLM knows us, without importing vLLM."""

PARSER_NAME = "kimi_k2_enforced"
TESTED_VERSIONS = ("0.32.0", "0.33.0")
