"""The requests: ten agents with four tools each, a hundred questions, each greedy and sampled.

Eight questions of ten name the tool and the values of its arguments, so that a call can be compared
with them. One question of three is asked with `tool_choice: required`, the others with `auto`.
The declarations are written as clients write them: by hand, by zod and by Pydantic.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.judging.replies import ChatReply

MODEL_NAME = "smollm2"
MAX_TOKENS = 160
_AGENTS = Path(__file__).with_name("agents.json")
# No seed: vLLM's CPU build ends at a seeded request whose prompt is read in chunks.
_SAMPLED = {"temperature": 0.7, "top_p": 0.95}


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and the call that its prompt describes, if it describes one.

    Attributes:
        body: of the HTTP request.
        named: the tool and the arguments that the prompt names.

    """

    body: Mapping[str, Any]
    named: tuple[str, Any] | None

    @property
    def greedy(self) -> bool:
        """Whether the temperature is zero."""
        return not self.body["temperature"]

    def is_answered(self, reply: ChatReply) -> bool:
        """Return whether the reply is the one call that the prompt describes, and no other."""
        if len(reply.calls) != 1 or self.named is None:
            return False
        (call,) = reply.calls
        return call.name == self.named[0] and json.loads(call.arguments) == self.named[1]


def requests(number: int) -> list[Request]:
    """Return the first `number` requests; a question's greedy and sampled ones are adjacent."""
    found: list[Request] = []
    for agent in json.loads(_AGENTS.read_text(encoding="utf-8")):
        tools = [{"type": "function", "function": tool} for tool in agent["tools"]]
        for ask in agent["asks"]:
            choice = "required" if len(found) // 2 % 3 == 2 else "auto"
            named = (ask["name"], ask["arguments"]) if "name" in ask else None
            for options in ({"temperature": 0.0}, _SAMPLED):
                body = {
                    "model": MODEL_NAME,
                    "messages": [{"role": "user", "content": ask["ask"]}],
                    "tools": tools,
                    "tool_choice": choice,
                    "max_tokens": MAX_TOKENS,
                    "return_token_ids": True,
                    **options,
                }
                found.append(Request(body, named))
    return found[:number]
