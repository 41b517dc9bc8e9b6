"""One chat request, sent by every route that vLLM has for it.

Owns: what a chat request looks like on each route, and reading the route's answer,
streamed or not, into one `Reply`; by the official clients where there is one. Must not
know: what is right.
"""

from __future__ import annotations

import asyncio
import json
from enum import Enum
from typing import TYPE_CHECKING, Any

import anthropic
import openai

import enforcer
from enforcer.judging.replies import OK, ChatCall, ChatReply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


_STOPS = {"tool_use": "tool_calls", "max_tokens": "length"}


class Route(Enum):
    """A route of the server."""

    CHAT = "/v1/chat/completions"
    RESPONSES = "/v1/responses"
    MESSAGES = "/v1/messages"
    COMPLETIONS = "/v1/completions"


class Client:
    """Sends to one server.

    Args:
        url: the server's, without `/v1`.
        model: the name it serves.
        reader: reads what `/v1/completions` returns; needs the model's tokenizer.
        via: how the server enforces what comes by `/v1/completions`.

    """

    def __init__(
        self,
        url: str,
        model: str,
        reader: enforcer.Enforcer,
        via: enforcer.Route = enforcer.Route.PLUGIN,
    ) -> None:
        self._model = model
        self._reader = reader
        self._via = via
        options: Any = {"api_key": "-", "max_retries": 0, "timeout": 600}
        # A kept connection may be closed by the server just as the next request is written.
        options["default_headers"] = {"Connection": "close"}
        self._openai = openai.AsyncOpenAI(base_url=f"{url}/v1", **options)
        self._anthropic = anthropic.AsyncAnthropic(base_url=url, **options)
        self._send: dict[Route, Callable[[dict[str, Any]], Awaitable[ChatReply]]] = {
            Route.CHAT: self._chat,
            Route.RESPONSES: self._responses,
            Route.MESSAGES: self._messages,
            Route.COMPLETIONS: self._completions,
        }

    async def close(self) -> None:
        """Close the connections, in the loop that opened them."""
        await self._openai.close()
        await self._anthropic.close()

    async def send(self, route: Route, body: dict[str, Any]) -> ChatReply:
        """Send a chat request by a route; an error of the server becomes part of the reply."""
        try:
            return await self._send[route](body)
        except (openai.APIStatusError, anthropic.APIStatusError) as error:
            return ChatReply(error.status_code, str(error))
        except (openai.APIError, anthropic.APIError) as error:
            return ChatReply(0, repr(error))

    async def send_all(
        self, jobs: list[tuple[Route, dict[str, Any]]], concurrency: int
    ) -> list[ChatReply]:
        """Send many, so many at a time; replies in the order of the jobs."""
        gate = asyncio.Semaphore(concurrency)

        async def one(route: Route, body: dict[str, Any]) -> ChatReply:
            async with gate:
                return await self.send(route, body)

        return await asyncio.gather(*(one(*job) for job in jobs))

    async def _chat(self, body: dict[str, Any]) -> ChatReply:
        known = {
            *("messages", "tools", "tool_choice", "parallel_tool_calls", "temperature"),
            *("max_tokens", "stream", "response_format", "stop", "n", "logprobs"),
        }
        extra = {key: value for key, value in body.items() if key not in known}
        sent = {key: value for key, value in body.items() if key in known}
        if "tool_choice" in sent and sent["tool_choice"] is None:
            extra["tool_choice"] = sent.pop("tool_choice")
        answer = await self._openai.chat.completions.create(
            model=self._model, extra_body=extra, **sent
        )
        if not body.get("stream"):
            choice = answer.choices[0]
            return ChatReply(
                OK,
                finish_reason=choice.finish_reason,
                content=choice.message.content or "",
                calls=tuple(
                    ChatCall(call.id, call.function.name, call.function.arguments)
                    for call in choice.message.tool_calls or ()
                ),
                reasoning=getattr(choice.message, "reasoning", "") or "",
            )
        content, reasoning, finish = "", "", None
        calls: dict[int, list[str]] = {}
        async for chunk in answer:
            for choice in chunk.choices:
                content += choice.delta.content or ""
                reasoning += getattr(choice.delta, "reasoning", "") or ""
                finish = choice.finish_reason or finish
                for delta in choice.delta.tool_calls or ():
                    call = calls.setdefault(delta.index, ["", "", ""])
                    call[0] += delta.id or ""
                    call[1] += delta.function.name or ""
                    call[2] += delta.function.arguments or ""
        return ChatReply(
            OK,
            "",
            finish,
            content,
            tuple(ChatCall(*call) for call in calls.values()),
            (),
            reasoning,
        )

    async def _responses(self, body: dict[str, Any]) -> ChatReply:
        sent: dict[str, Any] = {"input": list(_items(body["messages"])), "extra_body": {}}
        sent["max_output_tokens"] = body["max_tokens"]
        sent["temperature"] = body.get("temperature", 0)
        if body.get("tools"):
            sent["tools"] = [{"type": "function", **_flat(tool)} for tool in body["tools"]]
        choice = body.get("tool_choice")
        if isinstance(choice, dict) and choice["type"] == "allowed_tools":
            allowed = choice["allowed_tools"]
            names = [{"type": "function", **tool["function"]} for tool in allowed["tools"]]
            choice = {"type": "allowed_tools", "mode": allowed["mode"], "tools": names}
        elif isinstance(choice, dict):
            choice = {"type": "function", "name": choice["function"]["name"]}
        if choice is not None:
            sent["tool_choice"] = choice
        for key in ("parallel_tool_calls", "chat_template_kwargs"):
            if key in body:
                sent["extra_body"][key] = body[key]
        if body.get("stream"):
            final = None
            async for event in await self._openai.responses.create(
                model=self._model, stream=True, **sent
            ):
                if event.type in ("response.completed", "response.incomplete"):
                    final = event.response
            if final is None:
                return ChatReply(0, "the stream has no end")
        else:
            final = await self._openai.responses.create(model=self._model, **sent)
        calls = tuple(
            ChatCall(item.call_id, item.name, item.arguments)
            for item in final.output
            if item.type == "function_call"
        )
        content = "".join(
            part.text for item in final.output if item.type == "message" for part in item.content
        )
        finish = "tool_calls" if calls else "stop"
        if final.status == "incomplete":
            finish = "length"
        return ChatReply(OK, "", finish, content, calls)

    async def _messages(self, body: dict[str, Any]) -> ChatReply:
        sent: dict[str, Any] = {
            "messages": _blocks(body["messages"]),
            "max_tokens": body["max_tokens"],
            "extra_body": {"temperature": body.get("temperature", 0)},
        }
        if body.get("tools"):
            sent["tools"] = [
                {"name": tool["name"], "input_schema": tool.get("parameters", {"type": "object"})}
                for tool in map(_flat, body["tools"])
            ]
        choice = body.get("tool_choice")
        if isinstance(choice, dict):
            sent["tool_choice"] = {"type": "tool", "name": choice["function"]["name"]}
        elif choice is not None:
            sent["tool_choice"] = {"type": {"required": "any"}.get(choice, choice)}
        if body.get("parallel_tool_calls") is False and body.get("tools"):
            sent.setdefault("tool_choice", {"type": "auto"})["disable_parallel_tool_use"] = True
        if "chat_template_kwargs" in body:
            sent["extra_body"]["chat_template_kwargs"] = body["chat_template_kwargs"]
        if body.get("stream"):
            return await self._message_events(sent)
        final = await self._anthropic.messages.create(model=self._model, **sent)
        calls = tuple(
            ChatCall(block.id, block.name, json.dumps(block.input))
            for block in final.content
            if block.type == "tool_use"
        )
        content = "".join(block.text for block in final.content if block.type == "text")
        return ChatReply(OK, "", _STOPS.get(final.stop_reason or "", "stop"), content, calls)

    async def _message_events(self, sent: dict[str, Any]) -> ChatReply:
        """Put the events together; the client's own helper fails on a call that is cut off."""
        content, stop = "", None
        blocks: list[list[str]] = []
        async for event in await self._anthropic.messages.create(
            model=self._model, stream=True, **sent
        ):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                blocks.append([event.content_block.id, event.content_block.name, ""])
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                blocks[-1][2] += event.delta.partial_json
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                content += event.delta.text
            elif event.type == "message_delta":
                stop = event.delta.stop_reason
        finish = _STOPS.get(stop or "", "stop")
        if finish == "length":
            blocks = []  # a prefix, which the judge of whole replies must not see
        return ChatReply(OK, "", finish, content, tuple(ChatCall(*block) for block in blocks))

    async def _completions(self, body: dict[str, Any]) -> ChatReply:
        tools, choice = body.get("tools"), body.get("tool_choice")
        spec = enforcer.extra_body(
            tools,
            choice,
            parallel_tool_calls=body.get("parallel_tool_calls", True),
            messages=body["messages"],
            via=self._via,
        )
        prompt = self._prompt(thinking=body.get("chat_template_kwargs", {}).get("thinking"))
        extra = {**spec, "skip_special_tokens": False, "return_token_ids": True}
        answer: Any = await self._openai.completions.create(
            model=self._model,
            prompt=prompt,
            max_tokens=body["max_tokens"],
            temperature=body.get("temperature", 0),
            stream=bool(body.get("stream")),
            extra_body=extra,
        )
        ids: list[int] = []
        finish = None
        if body.get("stream"):
            async for chunk in answer:
                for part in chunk.choices:
                    ids += part.token_ids or ()
                    finish = part.finish_reason or finish
        else:
            ids, finish = answer.choices[0].token_ids, answer.choices[0].finish_reason
        turn = self._reader.parse(ids, prompt_ids=prompt)
        calls = tuple(ChatCall(call.id, call.name, call.arguments) for call in turn.calls)
        if turn.stray is not None and self._counts(ids[turn.stray], tools, choice):
            return ChatReply(OK, f"id {ids[turn.stray]} is illegal where it stands")
        if finish == "length":
            calls = ()
        elif calls:
            finish = "tool_calls"
        return ChatReply(OK, "", finish, turn.content, calls, (), turn.reasoning)

    def _counts(self, stray: int, tools: Any, choice: Any) -> bool:
        """Tell whether an id out of its place is a fault.

        Where nothing may be called, V2's runner is asked to ban the markers of calls and no
        others (decision 0011): a think may begin in the middle of a text then.
        """
        controls = self._reader.vocabulary.controls
        of_calls = {token for name, token in controls.items() if name.startswith("<|tool_call")}
        return stray in of_calls or (bool(tools) and choice != "none")

    def _prompt(self, *, thinking: bool | None) -> list[int]:
        vocabulary = self._reader.vocabulary
        tails = {True: ("<think>",), False: ("<think>", "</think>"), None: ()}
        pieces = (
            *("<|im_user|>", "user", "<|im_middle|>", "Hi", "<|im_end|>"),
            *("<|im_assistant|>", "assistant", "<|im_middle|>", *tails[thinking]),
        )
        controls = vocabulary.controls
        ids: list[int] = []
        for piece in pieces:
            ids += [controls[piece]] if piece in controls else vocabulary.encode(piece)
        return ids


def _flat(tool: dict[str, Any]) -> dict[str, Any]:
    return dict(tool["function"])


def _items(messages: list[dict[str, Any]]) -> Any:
    for message in messages:
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            yield {"type": "function_call_output", "call_id": call_id, "output": message["content"]}
            continue
        if message["content"]:
            yield {"role": message["role"], "content": message["content"]}
        for call in message.get("tool_calls", ()):
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            call_id, content = message["tool_call_id"], message["content"]
            block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
            out.append({"role": "user", "content": [block]})
            continue
        blocks: list[dict[str, Any]] = []
        if message["content"]:
            blocks.append({"type": "text", "text": message["content"]})
        for call in message.get("tool_calls", ()):
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            blocks.append({"type": "tool_use", "id": call["id"], "name": name, "input": arguments})
        out.append({"role": message["role"], "content": blocks})
    return out
