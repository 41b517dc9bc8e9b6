"""The formats of tool calls, for tests and for a table: what vLLM serves them with.

`catalogue` names the formats, `vocabularies` builds the tokenizers of models that write them
out of published packages, `python -m bench.formats` serves random weights and counts.
"""
