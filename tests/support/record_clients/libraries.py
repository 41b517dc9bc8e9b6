"""Libraries that agents are built with: a program for each.

Owns: programs that make a library ask, call a tool and ask again. Must not know: the enforcer,
what answers. Each runs in an environment of its own, where the client is installed
(`openai-agents`, `langchain-openai`, `pydantic-ai-slim[openai]`, `litellm`).
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Literal


def get_weather(
    city: Literal["Paris", "Rome"], days: int = 1, tags: list[str] | None = None
) -> str:
    """Tell the weather.

    Args:
        city: where.
        days: how many.
        tags: what to look for.

    """
    return f"{city}, {days}, {tags}: sunny"


def _agents(url: str) -> None:
    import agents
    import openai

    agents.set_tracing_disabled(True)
    for kind in ("responses", "chat_completions"):
        client = openai.AsyncOpenAI(base_url=url, api_key="-")
        agents.set_default_openai_client(client, use_for_tracing=False)
        agents.set_default_openai_api(kind)
        agent = agents.Agent(
            name="Asked",
            instructions="Be brief.",
            model="kimi",
            tools=[agents.function_tool(get_weather)],
            handoffs=[agents.Agent(name="Other", instructions="Be brief.")],
        )
        agents.Runner.run_sync(agent, "What is the weather?")


def _langchain(url: str) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Place(BaseModel):
        city: Literal["Paris", "Rome"]

    weather = tool(get_weather)
    model = ChatOpenAI(model="kimi", base_url=url, api_key="-")
    bound = model.bind_tools([weather], tool_choice="any")
    asked = HumanMessage("What is the weather?")
    reply = bound.invoke([asked])
    bound.invoke([asked, reply, weather.invoke(reply.tool_calls[0])])
    model.with_structured_output(Place, method="function_calling").invoke([asked])
    with suppress(ValueError):  # what the server says is no JSON
        model.with_structured_output(Place, method="json_schema").invoke([asked])


def _pydantic_ai(url: str) -> None:
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Place(BaseModel):
        city: Literal["Paris", "Rome"]

    model = OpenAIChatModel("kimi", provider=OpenAIProvider(base_url=url, api_key="-"))
    Agent(model, tools=[get_weather]).run_sync("What is the weather?")
    Agent(model, output_type=Place).run_sync("Which place?")


def _litellm(url: str) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network
    import litellm

    city = {"enum": ["Paris", "Rome"]}
    schema = {"type": "object", "properties": {"city": city}, "required": ["city"]}
    function = {"name": "get_weather", "strict": True, "parameters": schema}
    for provider in ("openai", "hosted_vllm"):
        litellm.completion(
            model=f"{provider}/kimi",
            api_base=url,
            api_key="-",
            messages=[{"role": "user", "content": "What is the weather?"}],
            tools=[{"type": "function", "function": function}],
            tool_choice="required",
            parallel_tool_calls=False,
        )


LIBRARIES: dict[str, Callable[[str], None]] = {
    "openai-agents": _agents,
    "langchain-openai": _langchain,
    "pydantic-ai": _pydantic_ai,
    "litellm": _litellm,
}
