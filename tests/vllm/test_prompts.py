"""Prompts as vLLM's own renderer makes them of an enforced request, without an engine."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.models.serving import OpenAIModelRegistry
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.serve.tokenize.protocol import TokenizeChatRequest
from vllm.entrypoints.serve.tokenize.serving import ServingTokenization

from tests.spec_cases import carried as spec
from tests.vllm.way_in import USER, Server

pytestmark = pytest.mark.usefixtures("installed")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
LOOK = {"name": "look", "description": "Look it up.", "parameters": SCHEMA}


@pytest.fixture(scope="module")
def renderer() -> Any:
    """vLLM's renderer for the tiny model, with our parser."""
    return Server(None).renderer


def chat(renderer: Any, *messages: Any, **more: Any) -> tuple[list[int], Any]:
    """Render a chat request; return the prompt's token ids and the request as it is then."""
    request = ChatCompletionRequest(model="m", messages=list(messages), **more)
    _, (prompt,) = asyncio.run(renderer.render_chat(request))
    return prompt["prompt_token_ids"], request


def responses(renderer: Any, *items: Any, **more: Any) -> tuple[list[int], Any]:
    """Do the same with a request of the Responses API."""
    request = ResponsesRequest(input=list(items), **more)
    found = asyncio.run(renderer.render_responses(request))
    return found.engine_input["prompt_token_ids"], request


def tokenized(renderer: Any, *messages: Any, **more: Any) -> list[int]:
    """Return the token ids that `/tokenize` answers with."""
    models = OpenAIModelRegistry(renderer.model_config, [])
    serving = ServingTokenization(
        models, renderer, chat_template=None, chat_template_content_format="auto"
    )
    request = TokenizeChatRequest(messages=list(messages), **more)
    answer = asyncio.run(serving.create_tokenize(request, SimpleNamespace(headers={})))
    return list(answer.tokens)


def nested(**more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {**LOOK, **more}}


def flat(**more: Any) -> dict[str, Any]:
    return {"type": "function", **LOOK, **more}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("render", "tool"), [(chat, nested), (responses, flat)], ids=["chat", "responses"]
)
def test_strict_is_not_in_prompts(renderer: Any, render: Any, tool: Any, strict: bool) -> None:
    with_it, request = render(renderer, USER, tools=[tool(strict=strict)])
    without, _ = render(renderer, USER, tools=[tool()])
    assert with_it == without
    assert "look" in renderer.renderer.tokenizer.decode(without)
    assert spec(request).toolset.tools.keys() == {"look"}


def test_nor_is_it_in_what_tokenize_shows(renderer: Any) -> None:
    prompt, _ = chat(renderer, USER, tools=[nested()])
    assert tokenized(renderer, USER, tools=[nested(strict=True)]) == prompt


def test_nor_is_that_of_a_tool_that_a_message_declares(renderer: Any, monkeypatch: Any) -> None:
    shows = "{% for m in messages if m.role == 'developer' %}{{ m.tools | tojson }}{% endfor %}"
    monkeypatch.setattr(renderer, "chat_template", shows)
    declares = {"role": "developer", "content": "x"}
    with_it, request = chat(renderer, declares | {"tools": [nested(strict=True)]}, USER)
    without, _ = chat(renderer, declares | {"tools": [nested()]}, USER)
    assert with_it == without
    assert "look" in renderer.renderer.tokenizer.decode(without)
    assert request.tools[0].function.strict


def asks(*names: str, content: str | None = None) -> dict[str, Any]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(names)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def test_tokenize_shows_the_ids_of_calls_that_the_model_is_shown(renderer: Any) -> None:
    answer = {"role": "tool", "tool_call_id": "call_0", "content": "21"}
    dialog = (USER, asks("look"), answer)
    prompt, _ = chat(renderer, *dialog, tools=[nested()])
    # Of the call, and of its result.
    assert renderer.renderer.tokenizer.decode(prompt).count("functions.look:0") == 2
    assert tokenized(renderer, *dialog, tools=[nested()]) == prompt


@pytest.mark.parametrize("continues", [True, False])
def test_calls_behind_continued_content_are_not_counted(renderer: Any, continues: bool) -> None:
    prompt, request = chat(
        renderer,
        *(USER, asks("look"), {"role": "tool", "tool_call_id": "call_0", "content": "21"}),
        asks("look", "look", content="Let me see"),
        tools=[nested()],
        continue_final_message=continues,
        add_generation_prompt=not continues,
    )
    text = renderer.renderer.tokenizer.decode(prompt)
    assert text.count("<|tool_call_begin|>") == spec(request).first_index == (1 if continues else 3)
