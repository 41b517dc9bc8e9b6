"""A tokenizer class that renders chats as Kimi K3's own encoder does.

Owns: the prompt's form (`apply_chat_template`). Must not know: this repository: a model folder
has a copy of this file as its remote code, as Kimi K3's has its own.
"""

import json
from functools import cached_property
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

OPEN, CLOSE, SEP, END = "<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"
_EFFORT = (
    "`thinking_effort` guides on how much to think in your thinking channel (not including the "
    "response channel), supported values include `low`, `medium`, `high`, and `max`.\n"
    "Now the system is invoked with `thinking_effort={}`."
)
_CHOICES = {
    "required": "You MUST call tools in the next message.",
    "none": "You MUST NOT call any tools in the next message.",
}


class KimiK3Tokenizer(PreTrainedTokenizerFast):
    """Text of messages never becomes a control token."""

    def apply_chat_template(
        self,
        conversation: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        *,
        tokenize: bool = True,
        **options: Any,
    ) -> str | list[int]:
        parts = rendered(conversation, tools, **options)
        if not tokenize:
            return "".join(parts)
        ids: list[int] = []
        for part in parts:
            if isinstance(part, Control):
                ids.append(self.convert_tokens_to_ids(str(part)))
            else:
                ids += self._bare.encode(part, add_special_tokens=False).ids
        return ids

    @cached_property
    def _bare(self) -> Tokenizer:
        bare = Tokenizer.from_str(self.backend_tokenizer.to_str())
        bare.encode_special_tokens = True  # as the text that they are spelled by
        return bare


class Control(str):
    """The name of a control token."""

    __slots__ = ()


def rendered(
    conversation: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None = None,
    *,
    add_generation_prompt: bool = False,
    thinking: bool = True,
    thinking_effort: str = "max",
    tool_choice: object = None,
    response_format: dict[str, Any] | None = None,
    **_: Any,
) -> list[str]:
    """Write a prompt as control tokens and texts, each of which is encoded by itself."""
    parts = _declared(tools)
    if thinking:
        parts += _note("thinking-effort", _EFFORT.format(thinking_effort))
    for message in conversation:
        parts += _message(message, thinking=thinking)
    demanded = _CHOICES.get(tool_choice) if isinstance(tool_choice, str) else None
    if demanded is not None:  # a named tool adds nothing
        said = f"The system is invoked with `tool_choice={tool_choice}`.\n"
        parts += _note("tool-choice", said + demanded)
    if response_format is not None:
        parts += _note("response-format", _format(response_format))
    if add_generation_prompt:
        parts += _open("message", role="assistant")
        parts += _open("think" if thinking else "response")
    return parts


def _open(tag: str, **attributes: str) -> list[str]:
    parts: list[str] = [Control(OPEN), tag]
    for key, value in attributes.items():
        parts += [f" {key}", '="', value.replace("&", "&amp;").replace('"', "&quot;"), '"']
    return [*parts, Control(SEP)]


def _close(tag: str) -> list[str]:
    return [Control(CLOSE), tag, Control(SEP)]


def _block(tag: str, *inside: str, **attributes: str) -> list[str]:
    return [*_open(tag, **attributes), *inside, *_close(tag)]


def _note(kind: str, text: str) -> list[str]:
    return [*_block("message", text, role="system", type=kind), Control(END)]


def _declared(tools: list[dict[str, Any]] | None) -> list[str]:
    if not tools:
        return []
    head = "# Tools\nHere are the available tools, described in JSONSchema.\n\n```json\n"
    return _note("tool-declare", f"{head}{_compact(tools)}\n```")


def _message(message: dict[str, Any], *, thinking: bool) -> list[str]:
    role, text = message["role"], _text(message.get("content"))
    if role == "system" and message.get("tools"):
        return [*_declared(message["tools"]), *(_said(role, text) if text else [])]
    if role == "assistant":
        said = _block("think", message.get("reasoning") or "") if thinking else []
        said += _block("response", text)
        calls = [_call(call, at) for at, call in enumerate(message.get("tool_calls") or (), 1)]
        if calls:
            said += _block("tools", *(part for call in calls for part in call))
        return _said(role, *said)
    if role == "tool":
        return _said(role, text, tool=message["tool"], index=str(message["index"]))
    return _said(role, text)


def _said(role: str, *parts: str, **attributes: str) -> list[str]:
    return [*_block("message", *parts, role=role, **attributes), Control(END)]


def _call(call: dict[str, Any], index: int) -> list[str]:
    function = call["function"]
    arguments = function["arguments"]
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    parts: list[str] = []
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts += _block("argument", text, key=key, type=_type(value))
    return _block("call", *parts, tool=function["name"], index=str(index))


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _format(wanted: dict[str, Any]) -> str:
    text = (
        f"The system is invoked with `response_format={wanted['type']}`.\n"
        "Your response must be raw JSON data without markdown code blocks (```json) or any "
        "additional formatting."
    )
    schema = wanted.get("json_schema", {}).get("schema")
    if schema is None:
        return text
    said = "The JSON data must match the following schema:"
    return f"{text}\n{said}\n```json\n{_compact(schema)}\n```"


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return str(content or "")


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
