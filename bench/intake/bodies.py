"""Chat requests that declare collected tools, seen before or new.

Owns: which tools, and the bytes that are posted. Must not know: servers, what is timed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from bench.demo.servers import MODEL_NAME
from bench.first_mask import tools as collected
from bench.first_mask.run import vocabulary
from enforcer import Enforcer
from enforcer.errors import EnforcerError
from enforcer.request.spec import Spec
from enforcer.request.tools import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (0, 1, 32, 128, 512)
HIDDEN = "hide_tools"  # a variable of the chat template

_marks = count()


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of one kind.

    Attributes:
        tools: that each declares.
        seen: whether they are the same each time; else no request has a schema of another.
        stream: whether the reply is streamed.

    """

    tools: tuple[dict[str, Any], ...]
    seen: bool
    stream: bool

    def body(self) -> bytes:
        """Return the next request.

        The chat template leaves new tools out of the prompt, which the model would else compute
        anew; seen ones come from vLLM's prefix cache.
        """
        tools, more = list(self.tools), {}
        if not self.seen:
            mark = next(_marks)
            tools = [collected.changed(tool, mark) for tool in tools]
            more = {"chat_template_kwargs": {HIDDEN: True}}
        declared = {"tools": tools} if tools else {}
        messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
        options = {"model": MODEL_NAME, "max_tokens": 1, "temperature": 0, "stream": self.stream}
        return json.dumps({"messages": messages} | options | declared | more).encode()


def loads(sizes: Sequence[int]) -> tuple[str, list[Load]]:
    """Return where the tools come from, and all kinds of requests with so many of them."""
    source, pool = collected.load()
    enforcer = Enforcer(vocabulary()[1])
    taken = (_declared(tool) for tool in pool if _is_taken(enforcer, _declared(tool)))
    tools = tuple(islice(taken, max(sizes)))
    return source, [
        Load(tools[:size], seen, stream)
        for size in sizes
        for seen in ((True, False) if size else (True,))
        for stream in (False, True)
    ]


def _declared(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": tool["type"], "function": tool["function"]}


def _is_taken(enforcer: Enforcer, tool: dict[str, Any]) -> bool:
    try:
        enforcer.check(Spec(parse([tool], "auto", None), 0))
    except EnforcerError:
        return False
    return True
