"""Chat completion requests of named kinds, as the tiny model was trained to meet them.

Owns: the bodies, and the mix in which the demo sends them. Must not know: servers,
sampling parameters, what the right reply is.

Needs the standard library only. Run nothing in this folder by path: the folder
would then be searched first, and this module hides the package of its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from bench.demo.tiny_model.scenes import Kind, Scene, scene

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Calls to undeclared tools lead, as in the field; `Kind.THINKING` is for servers that
# have a reasoning parser.
MIX: Mapping[Kind, int] = {
    Kind.UNDECLARED_IN_HISTORY: 5,
    Kind.UNDECLARED_ASKED: 3,
    Kind.PLAIN_QUESTION: 5,
    Kind.SINGLE_CALL: 7,
    Kind.PARALLEL_CALLS: 4,
    Kind.AFTER_RESULT: 3,
    Kind.NONE: 2,
    Kind.NO_TOOLS: 1,
    Kind.NO_TOOLS_AFTER_CALLS: 2,
    Kind.REQUIRED: 2,
    Kind.NAMED: 2,
    Kind.FOREIGN_IDS: 1,
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request's kind, and its body for `/v1/chat/completions` without model and sampling."""

    kind: Kind
    body: dict[str, Any]


def generate(
    count: int, *, seed: int = 0, mix: Mapping[Kind, int] | None = None
) -> Iterator[Request]:
    """Yield `count` requests in a random order; the same ones for the same arguments.

    Args:
        count: how many.
        seed: another seed, other requests; no seed repeats the training dialogues.
        mix: how many of each kind in a round; kinds left out are not sent. Every kind of
            the mix occurs once `count` is at least the sum of the numbers.

    """
    rng = Random(f"requests {seed}")
    kinds = [kind for kind, many in (mix or MIX).items() for _ in range(many)]
    deck: list[Kind] = []
    for _ in range(count):
        if not deck:
            deck = rng.sample(kinds, len(kinds))
        kind = deck.pop()
        yield Request(kind, body(rng, scene(rng, kind)))


def body(rng: Random, drawn: Scene) -> dict[str, Any]:
    """Write a scene as a request body, varying what clients vary."""
    made: dict[str, Any] = {"messages": list(drawn.messages), "stream": rng.random() < 0.5}
    if drawn.tools:
        made["tools"] = list(drawn.tools)
        if drawn.tool_choice != "auto" or rng.random() < 0.5:
            made["tool_choice"] = drawn.tool_choice
        if rng.random() < 0.3:
            made["parallel_tool_calls"] = rng.random() < 0.6
    if drawn.thinking is not None:
        made["chat_template_kwargs"] = {"thinking": drawn.thinking}
    return made
