"""Structural tags as vLLM's Python front end builds them for the tiny model.

Owns: how one is had without a server. Must not know: what is made of it.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager

from tests.vllm_servers import TINY

if TYPE_CHECKING:
    from transformers.tokenization_utils_tokenizers import TokenizersBackend


@cache
def tokenizer() -> TokenizersBackend:
    return AutoTokenizer.from_pretrained(TINY)


def python_tag(body: dict[str, Any], level: str) -> str | None:
    """What vLLM's Python front end sends for a request."""
    sent = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **copy.deepcopy(body)}
    request = ChatCompletionRequest.model_validate(sent)
    parser_class = ParserManager.get_parser(
        tool_parser_name="kimi_k2",
        reasoning_parser_name=None,
        enable_auto_tools=True,
        model_name="m",
        tool_strict_level=level,
        tokenizer=tokenizer(),
    )
    parser = parser_class(tokenizer(), request.tools)
    before = request.structured_outputs
    parser._apply_structural_tag(request)
    after = request.structured_outputs
    found: str | None = None if after is before or after is None else after.structural_tag
    return found
