"""Programs that let a library go through tool loops: `… programs LIBRARY WAY URL`.

Owns: the tools' functions, how each library is told to ask, call and ask again, and a line of JSON
of what happened. Must not know: the enforcer, what answers, whether it is right. Each runs in an
environment of its own, where the library is installed, and needs nothing else of this repository.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    # Given the server's address with `/v1` and a question: what was said at the end, and in how
    # many pieces it came, calls included; none where it came whole.
    Loop = Callable[[str, str], Awaitable[tuple[str, int]]]

MODEL = "tiny-kimi"
# As the demo's model has learnt to be asked. The second leaves out a date that the tool requires,
# which the model does not ask for when nothing makes it.
QUESTIONS = ("I need weather in Paris.", "Get me a hotel in Rome for 2 guests.")
_IDS = 200  # of a reply, at most
_TURNS = 6  # of a loop, at most

_ran: list[dict[str, Any]] = []


def _note(name: str, result: str, **arguments: Any) -> str:
    _ran.append({"name": name, "arguments": arguments, "result": result})
    return result


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Current weather of a city."""  # noqa: D401 - as the demo's model has learnt it
    return _note("get_weather", "sunny", city=city, unit=unit)


def _functions() -> tuple[Callable[..., str], ...]:
    """Give the tools; the schema of one has a pattern and bounds, which pydantic writes."""
    from pydantic import Field

    def book_hotel(city: str, date: str, guests: int) -> str:
        """Book a room."""
        return _note("book_hotel", "booked", city=city, date=date, guests=guests)

    book_hotel.__annotations__ |= {
        "city": str,
        "date": Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")],
        "guests": Annotated[int, Field(ge=1, le=9)],
        "return": str,
    }
    return get_weather, book_hotel


async def _agents(
    url: str, question: str, *, kind: Any, streamed: bool, handed: bool = False
) -> tuple[str, int]:
    import agents
    import openai

    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=url, api_key="-", max_retries=0)
    agents.set_default_openai_client(client, use_for_tracing=False)
    agents.set_default_openai_api(kind)

    def settings(choice: str) -> Any:
        return agents.ModelSettings(temperature=0, max_tokens=_IDS, tool_choice=choice)

    tools = [agents.function_tool(each) for each in _functions()]
    agent = agents.Agent(
        name="Asked", model=MODEL, tools=tools, model_settings=settings("required")
    )
    if handed:
        given = settings("transfer_to_asked")
        agent = agents.Agent(name="First", model=MODEL, handoffs=[agent], model_settings=given)
    if not streamed:
        done = await agents.Runner.run(agent, question, max_turns=_TURNS)
        return done.final_output, 0
    running = agents.Runner.run_streamed(agent, question, max_turns=_TURNS)
    pieces = 0
    async for event in running.stream_events():
        pieces += event.type == "raw_response_event" and "delta" in event.data.type
    return running.final_output, pieces


def _chat_openai(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    options: Any = {"temperature": 0, "max_tokens": _IDS, "max_retries": 0}
    return ChatOpenAI(model=MODEL, base_url=url, api_key="-", **options)


async def _bind_tools(url: str, question: str, *, streamed: bool) -> tuple[str, int]:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    tools = {each.name: each for each in map(tool, _functions())}
    dialog: list[Any] = [HumanMessage(question)]
    pieces = 0
    for choice in ("any", "none"):
        model = _chat_openai(url).bind_tools([*tools.values()], tool_choice=choice)
        if streamed:
            parts = [part async for part in model.astream(dialog)]
            pieces += len(parts)
            reply = parts[0]
            for part in parts[1:]:
                reply += part
        else:
            reply = await model.ainvoke(dialog)
        dialog.append(reply)
        dialog += [await tools[call["name"]].ainvoke(call) for call in reply.tool_calls]
    return dialog[-1].content, pieces


async def _create_agent(url: str, question: str, *, streamed: bool) -> tuple[str, int]:
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessageChunk

    agent = create_agent(_chat_openai(url), [*_functions()])
    sent: Any = {"messages": [{"role": "user", "content": question}]}
    options: Any = {"recursion_limit": 2 * _TURNS}
    if not streamed:
        done = await agent.ainvoke(sent, options)
        return done["messages"][-1].content, 0
    pieces, last = 0, ""
    async for kind, part in agent.astream(sent, options, stream_mode=["messages", "values"]):
        if kind == "messages":
            pieces += isinstance(part[0], AIMessageChunk)
        else:
            last = part["messages"][-1].content
    return last, pieces


async def _pydantic_ai(
    url: str, question: str, *, streamed: bool, formed: bool = False
) -> tuple[str, int]:
    import openai
    from pydantic import BaseModel
    from pydantic_ai import Agent, Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    class Done(BaseModel):
        city: str
        state: Literal["sunny", "booked"]

    async def at_first(context: Any, tool: Any) -> Any:
        # With a form for the answer a call is demanded each time. The tiny model, which has not
        # learnt of such a form, would call its tools without end.
        return None if formed and context.run_step > 1 else tool

    client = openai.AsyncOpenAI(base_url=url, api_key="-", max_retries=0)
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
    settings: Any = {"temperature": 0, "max_tokens": _IDS}
    kind: Any = Done if formed else str
    tools = [Tool(each, prepare=at_first) for each in _functions()]
    agent = Agent(model, tools=tools, output_type=kind, model_settings=settings)
    limits = UsageLimits(request_limit=_TURNS)
    if not streamed:
        done = await agent.run(question, usage_limits=limits)
        return str(done.output), 0
    pieces, output = 0, None
    async with agent.run_stream_events(question, usage_limits=limits) as events:
        async for event in events:
            pieces += event.event_kind == "part_delta"
            if event.event_kind == "agent_run_result":
                output = event.result.output
    return str(output), pieces


def _ways(name: str, loop: Any, **options: Any) -> dict[str, Loop]:
    return {
        f"{name}, {'streamed' if streamed else 'whole'}": partial(
            loop, streamed=streamed, **options
        )
        for streamed in (False, True)
    }


# By library, then by what is special about a way.
WAYS: dict[str, dict[str, Loop]] = {
    "openai-agents": {
        **_ways("Responses", _agents, kind="responses"),
        **_ways("Responses by a handoff", _agents, kind="responses", handed=True),
        **_ways("Chat Completions", _agents, kind="chat_completions"),
        **_ways("Chat Completions by a handoff", _agents, kind="chat_completions", handed=True),
    },
    "langchain": {
        **_ways("bind_tools", _bind_tools),
        **_ways("create_agent", _create_agent),
    },
    "pydantic-ai": {
        **_ways("text", _pydantic_ai),
        **_ways("an output type", _pydantic_ai, formed=True),
    },
}


async def _all(loop: Loop, url: str) -> list[tuple[str, int]]:
    return [await loop(url, question) for question in QUESTIONS]


def main() -> None:
    """Go through a loop a question, and print what happened."""
    library, way, url = sys.argv[1:]
    ended = asyncio.run(_all(WAYS[library][way], url))
    said, pieces = [text for text, _ in ended], sum(count for _, count in ended)
    print(json.dumps({"ran": _ran, "said": said, "pieces": pieces}))


if __name__ == "__main__":
    main()
