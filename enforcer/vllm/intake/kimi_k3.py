"""Kimi K3's prompts: tools that the dialog's messages declare are shown to the model.

vLLM keeps `tools` of messages whose role is `developer`, and drops them of others; the tokenizer's
encoder renders those of system messages alone. So declarations go through vLLM as a developer's,
and come to the encoder as the system's, a client's own `developer` messages among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vllm.renderers.kimi_k3 import KimiK3Renderer

_KEPT, _RENDERED = "developer", "system"


def kept(renderer: Any, messages: list[Any]) -> list[Any]:
    """Return messages in which vLLM keeps the declarations, for a renderer that can show them."""
    if not isinstance(renderer, KimiK3Renderer):
        return messages
    return [_moved(message, _RENDERED, _KEPT) for message in messages]


class DeclaringRenderer(KimiK3Renderer):  # type: ignore[misc]
    """vLLM's renderer, registered in its place: shows declarations that `kept` has moved."""

    def _apply_chat_template(self, conversation: list[Any], params: Any) -> Any:
        moved = [_moved(each, _KEPT, _RENDERED) for each in conversation]
        return super()._apply_chat_template(moved, params)


def _moved(message: Any, role: str, to: str) -> Any:
    declares = isinstance(message, Mapping) and message.get("tools")
    return {**message, "role": to} if declares and message.get("role") == role else message
