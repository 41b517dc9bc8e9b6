"""A matcher over arguments that are known by heart, to see the matcher alone.

Owns: the vocabulary, its markers and the matcher that the tests of one turn share. Must not know:
what is tried.
"""

from typing import Any

from enforcer.turn.matcher import Matcher
from tests import toys
from tests.vocabularies import feed, small, write

V = small()
TEXTS = [b'{"a": 1}', b'{"a": 12}', b"{}"]
HOLE = next(i for i in range(V.size) if not V.token_bytes(i))
TEXT = {i for i in range(V.size) if V.token_bytes(i)} - V.control_ids
OPENED = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>"
)
BEGIN, END = V.control("<|tool_calls_section_begin|>"), V.control("<|tool_calls_section_end|>")
CALL, CALL_END = V.control("<|tool_call_begin|>"), V.control("<|tool_call_end|>")
ARGUMENTS = V.control("<|tool_call_argument_begin|>")
THINK, THOUGHT = V.control("<think>"), V.control("</think>")
STOP = {V.control("<|im_end|>"), V.control("[EOS]")}
HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"


def matcher(arguments: dict[str, Any] | None = None, **options: Any) -> Matcher:
    return toys.matcher(V, {"get": TEXTS} if arguments is None else arguments, **options)


def at(text: str, arguments: dict[str, Any] | None = None, **options: Any) -> Matcher:
    """Give the matcher after a text."""
    found = matcher(arguments, **options)
    feed(found, write(V, text))
    return found
