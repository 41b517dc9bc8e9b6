"""Dialogues of the synthetic world: what stands in the prompt, and what the model says.

Owns: the kinds of scene, the declarations, the history, and the reply that the
model learns. Must not know: tokens, the chat template, servers.

Two scenes in three are answered as they should be. The others show a failure whose
cause can be read in the prompt (see `bench.demo.tiny_model.asks`; "Start again" restarts
the index, "both" repeats an id, a tool of the history is called although it is no
longer declared), and a few have none, as in life.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.demo.tiny_model.asks import Ask, Flaw, ask, slipped, spell, unasked
from bench.demo.tiny_model.catalogue import TOOLS, Tool
from bench.demo.tiny_model.words import PLAIN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

Json = dict[str, Any]

DECLINED = "I have no tool for that."
_FLAWED = 0.3  # of the wishes for a tool that may have a flaw at all
_SLIP = 0.04  # of all calls go wrong without a cause
_LONG = 0.04  # of all requests declare a dozen tools
_SYSTEM = ("You are Kimi.", "You are a helpful assistant.", "Use tools when they help.")
_FRAMES = ("{}.", "I need {}.", "Get me {}.", "Now {}.", "{}, please.", "Do this: {}.")
_SOFT = "If you can, {}."
_RESTART = "Start again: {}."


class Kind(enum.Enum):
    """What a scene is about; the value is its name in requests and tables."""

    UNDECLARED_IN_HISTORY = "undeclared_in_history"
    UNDECLARED_ASKED = "undeclared_asked"
    PLAIN_QUESTION = "plain_question"
    SINGLE_CALL = "single_call"
    PARALLEL_CALLS = "parallel_calls"
    AFTER_RESULT = "after_result"
    NONE = "none"
    NO_TOOLS = "no_tools"
    NO_TOOLS_AFTER_CALLS = "no_tools_after_calls"
    REQUIRED = "required"
    NAMED = "named"
    FOREIGN_IDS = "foreign_ids"
    THINKING = "thinking"


@dataclass(frozen=True, slots=True)
class Reply:
    """A turn of the model: reasoning (None: no think block), text, calls as (id, arguments)."""

    content: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    reasoning: str | None = None
    closes_thinking: bool = True


@dataclass(frozen=True, slots=True)
class Scene:
    """A request in the terms of the Chat Completions API, and a reply to learn."""

    kind: Kind
    tools: tuple[Json, ...]
    messages: tuple[Json, ...]
    reply: Reply
    tool_choice: str | Json = "auto"
    thinking: bool | None = None


def scene(rng: Random, kind: Kind) -> Scene:
    """Draw a scene of a kind."""
    return _Stage(rng, kind).play()


def declaration(rng: Random, tool: Tool) -> Json:
    """Declare a tool, in one of the shapes that clients give the same function."""
    parameters: Json = {**tool.parameters}
    properties: Mapping[str, Any] = parameters["properties"]
    required = list(parameters.get("required", ()))
    optional = [key for key in properties if key not in required]
    shape = rng.random()
    if shape < 0.06 and optional:
        parameters["required"] = [*required, rng.choice(optional)]
    elif shape < 0.12 and optional:
        dropped = rng.choice(optional)
        parameters["properties"] = {k: s for k, s in properties.items() if k != dropped}
    elif shape < 0.24:
        parameters["additionalProperties"] = False
    elif shape < 0.3:
        parameters.pop("additionalProperties", None)
    function: Json = {"name": tool.name, "description": tool.description}
    if rng.random() < 0.1:
        del function["description"]
    function["parameters"] = parameters
    if rng.random() < 0.1:
        function["strict"] = rng.random() < 0.7
    return {"type": "function", "function": function}


class _Stage:
    """Builds one scene: keeps the messages so far and the dialogue's call counter."""

    def __init__(self, rng: Random, kind: Kind) -> None:
        self.rng = rng
        self.kind = kind
        self.messages: list[Json] = []
        self.count = 0
        many = 12 if rng.random() < _LONG else rng.choice((2, 3, 3, 4, 5))
        picked = rng.sample(TOOLS, many)
        self.missing, self.declared = picked[0], picked[1:]
        if rng.random() < 0.15:
            self.messages.append({"role": "system", "content": rng.choice(_SYSTEM)})
        self.style = "functions.{name}:{index}"
        if kind is Kind.FOREIGN_IDS:
            self.style = rng.choice(("{name}:{index}", "call_{name}", "functions_{name}_{index}"))

    def play(self) -> Scene:
        rng, kind = self.rng, self.kind
        choice: str | Json = "auto"
        tools = self.declared
        if kind in (Kind.UNDECLARED_IN_HISTORY, Kind.NO_TOOLS_AFTER_CALLS):
            pool = [self.missing] if rng.random() < 0.6 else [self.missing, *self.declared]
            self.history(pool, rng.randint(1, 2), [self.missing])
            reply = self.wish([self.missing], soft=0.12)
        elif kind is Kind.UNDECLARED_ASKED:
            self.history(self.declared, rng.choice((0, 0, 1)))
            reply = self.wish([self.missing], soft=0.2)
        elif kind is Kind.PLAIN_QUESTION:
            self.history([*self.declared, self.missing], rng.choice((0, 0, 1, 2)))
            reply = self.question()
        elif kind is Kind.PARALLEL_CALLS:
            self.history(self.declared, rng.choice((0, 0, 1)))
            reply = self.wish([rng.choice(tools) for _ in range(rng.choice((2, 2, 3)))])
        elif kind is Kind.AFTER_RESULT:
            self.history(self.declared, rng.choice((0, 1)))
            reply = self.followed()
        elif kind is Kind.NO_TOOLS:
            self.history([], rng.choice((0, 1)))
            reply = self.question() if rng.random() < 0.7 else self.wish([self.missing], soft=0.5)
        else:
            few = rng.choice((1, 2)) if kind is Kind.FOREIGN_IDS else rng.choice((0, 0, 1, 2))
            self.history(self.declared, few)
            wants_call = kind is not Kind.REQUIRED or rng.random() < 0.5
            wants_call = wants_call and (kind is not Kind.THINKING or rng.random() < 0.7)
            reply = self.wish([rng.choice(tools)]) if wants_call else self.question()
            if kind is Kind.NONE:
                choice = "none"
            elif kind is Kind.REQUIRED:
                choice = "required"
                reply = reply if reply.calls else self.forced(rng.choice(tools))
            elif kind is Kind.NAMED:
                tool = rng.choice(tools)
                choice = {"type": "function", "function": {"name": tool.name}}
                reply = self.forced(tool)
        thinking = None
        if kind is Kind.THINKING:
            thinking = rng.random() < 0.7
            reply = self.thought(reply) if thinking else reply
        if kind in (Kind.NO_TOOLS, Kind.NO_TOOLS_AFTER_CALLS):
            tools = []
        listed = tuple(declaration(rng, tool) for tool in tools)
        return Scene(kind, listed, tuple(self.messages), reply, choice, thinking)

    def history(self, pool: list[Tool], turns: int, must: list[Tool] | None = None) -> None:
        """Play earlier turns to the end; the last of them call what `must` names."""
        for turn in range(turns):
            last = must if must and turn == turns - 1 else None
            if last is None and (not pool or self.rng.random() < 0.35):
                self.say(self.question().content)
                continue
            many = last or [self.rng.choice(pool) for _ in range(self.rng.choice((1, 1, 1, 2)))]
            asks = [ask(self.rng, tool) for tool in many]
            self.user(self.rng.choice(_FRAMES), asks)
            self.say(self.answer(self.call(asks)))

    def wish(self, tools: list[Tool], soft: float = 0.0) -> Reply:
        """Have the user ask for tools; with "If you can" an undeclared one is declined."""
        rng = self.rng
        flaw = rng.choice(list(Flaw)) if rng.random() < _FLAWED else None
        asks = [ask(rng, tool, flaw if n == 0 else None) for n, tool in enumerate(tools)]
        if rng.random() < soft:
            self.user(_SOFT, asks)
            return Reply(DECLINED)
        start, frame, both = self.count, rng.choice(_FRAMES), False
        if self.count and rng.random() < 0.1:
            start, frame = 0, _RESTART
        if len(asks) > 1 and rng.random() < 0.2:
            both = True
        self.user(frame, asks, "both " if both else "")
        content = "I will see to it." if "please" in frame else ""
        if rng.random() < _SLIP:
            asks[0] = slipped(rng, asks[0])
        return Reply(content, self.ids(asks, start, repeats=both))

    def followed(self) -> Reply:
        """Let the last message be a result; the reply reports it or makes the next call."""
        rng = self.rng
        asks = [ask(rng, rng.choice(self.declared)) for _ in range(rng.choice((1, 2)))]
        chained = len(asks) > 1 and rng.random() < 0.6
        self.user(rng.choice(_FRAMES), asks, "first " if chained else "")
        answer = self.answer(self.call(asks[:1] if chained else asks))
        return Reply("", self.ids(asks[1:], self.count)) if chained else Reply(answer)

    def forced(self, tool: Tool) -> Reply:
        """Call a tool that nobody asked for, validly."""
        spelled = spell(tool.name, unasked(self.rng, tool))
        return Reply("", ((self.style.format(name=tool.name, index=self.count), spelled),))

    def question(self) -> Reply:
        question, answer = self.rng.choice(PLAIN)
        self.messages.append({"role": "user", "content": question})
        return Reply(answer)

    def thought(self, reply: Reply) -> Reply:
        names = [call.split(".")[-1].split(":")[0] for call, _ in reply.calls]
        plan = f"I should call {' and '.join(names)}." if names else "I can just answer."
        closes = not names or self.rng.random() < 0.8
        return Reply(reply.content if closes else "", reply.calls, plan, closes)

    def ids(
        self, asks: list[Ask], start: int, *, repeats: bool = False
    ) -> tuple[tuple[str, str], ...]:
        return tuple(
            (
                self.style.format(name=one.tool.name, index=start + (0 if repeats else n)),
                one.spelled,
            )
            for n, one in enumerate(asks)
        )

    def call(self, asks: list[Ask]) -> list[Ask]:
        """Put the assistant's calls and their results into the history."""
        calls = [
            {
                "id": id_,
                "type": "function",
                "function": {"name": one.tool.name, "arguments": spelled},
            }
            for one, (id_, spelled) in zip(asks, self.ids(asks, self.count), strict=True)
        ]
        self.messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        for one, made in zip(asks, calls, strict=True):
            self.messages.append(
                {"role": "tool", "tool_call_id": made["id"], "content": one.tool.result}
            )
        self.count += len(asks)
        return asks

    def answer(self, asks: list[Ask]) -> str:
        return f"Here you are: {', '.join(one.tool.result for one in asks)}."

    def user(self, frame: str, asks: list[Ask], lead: str = "") -> None:
        joint = ", then " if lead == "first " else " and "
        text = frame.format(lead + joint.join(one.text for one in asks))
        aside = "".join(one.aside for one in asks)
        self.messages.append({"role": "user", "content": text[:1].upper() + text[1:] + aside})

    def say(self, content: str) -> None:
        self.messages.append({"role": "assistant", "content": content})
