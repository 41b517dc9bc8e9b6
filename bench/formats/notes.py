"""What `docs/formats.md` says of a format that neither its dialect nor a measurement has.

Owns: the models that write it, a call, and what vLLM 0.32 itself leaves open; a format need not be
here. Must not know: the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_TAG = "*no tag*"
_TEXT = "calls with a marker spelled in a string"
_FIRST = "text or calls, never both"
_THINK = "all reasoning"
_LINES = "line breaks in arguments"
_DROPS = "calls with line breaks in arguments"
_ONE_LINE = "no line break in arguments"


@dataclass(frozen=True, slots=True)
class Note:
    """Notes on a format.

    Attributes:
        models: that write it.
        call: one call as the model writes it.
        special: in what it departs from most others.
        tag: what vLLM's structural tag leaves open or forces.
        parser: what vLLM's parser loses or changes, besides `deviations.MISREAD`.

    """

    models: str
    call: str
    special: str
    tag: str = NO_TAG
    parser: str = ""


NOTES: Mapping[str, Note] = {
    "kimi_k2": Note(
        "Kimi K2, K2.5 and after",
        "<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>",
        "written ids; the index counts the dialog's calls",
        f"index, white space, markers in strings, {_THINK}",
    ),
    "kimi_k3": Note(
        "Kimi K3",
        '<|open|>call tool="NAME" index="1"<|sep|>'
        '<|open|>argument key="a" type="string"<|sep|>b<|close|>argument<|sep|>'
        "<|close|>call<|sep|>",
        "raw strings, written types; the index counts the message's calls",
        "duplicate keys, `pattern`, `format`, all arguments of a tool with a union or `$ref`, "
        f"{_THINK}; closes open schemas",
        "streamed, arguments come only when a value ends",
    ),
    "hermes": Note(
        "Hermes 2 and 3, Qwen2.5, Qwen3",
        '<tool_call>{"name": "NAME", "arguments": {…}}</tool_call>',
        "tags may be special tokens or text",
        "`</tool_call>` in strings",
        _TEXT,
    ),
    "mistral_v3": Note(
        "Mistral 7B v0.3, Nemo (tokenizers before v11)",
        '[TOOL_CALLS] [{"name": "NAME", "arguments": {…}}]',
        "ids of nine letters and digits, perhaps written",
    ),
    "mistral": Note(
        "Mistral Small 3, Magistral, Devstral (v11 and after)",
        "[TOOL_CALLS]NAME[ARGS]{…}",
        "ids of nine letters and digits",
        "mode `mistral`: names and arguments unless a tool is strict (mistral-common 1.13.1 "
        "raises); mode `hf`: all",
    ),
    "llama3_json": Note(
        "Llama 3.1 to 3.3",
        '{"name": "NAME", "parameters": {…}}; {…}',
        _FIRST,
        'calls that do not begin with `{"name": `',
        "reads calls after text unless it streams",
    ),
    "pythonic": Note("Llama 3.2, ToolACE", '[NAME(a="b"), …]', f"Python; {_FIRST}"),
    "llama4_pythonic": Note("Llama 4", '[NAME(a="b"), …]', f"Python; {_FIRST}"),
    "granite": Note(
        "Granite 3.0 and 3.1",
        '<|tool_call|> [{"name": "NAME", "arguments": {…}}]',
        "3.1 spells `<tool_call>`",
    ),
    "granite_20b_fc": Note(
        "Granite 20B FunctionCalling",
        '<function_call> {"name": "NAME", "arguments": {…}}',
        "",
        parser=_TEXT,
    ),
    "internlm": Note(
        "InternLM 2 and 2.5",
        '<|action_start|><|plugin|>{"name": "NAME", "parameters": {…}}<|action_end|>',
        "one call in a turn",
        parser="second calls (raises)",
    ),
    "jamba": Note("Jamba 1.5", '<tool_calls>[{"name": "NAME", "arguments": {…}}]</tool_calls>', ""),
    "deepseek_v3": Note(
        "DeepSeek V3, R1",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{…}\n```<｜tool▁call▁end｜>",
        _ONE_LINE,
        f"{_LINES}; forces one between calls",
        _DROPS,
    ),
    "deepseek_v31": Note(
        "DeepSeek V3.1",
        "<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>",
        _ONE_LINE,
        _LINES,
        _DROPS,
    ),
    "phi4_mini_json": Note(
        "Phi-4-mini",
        'functools[{"name": "NAME", "arguments": {…}}]',
        "an example, not measured",
        parser="streamed, all calls",
    ),
    "qwen3_coder": Note(
        "Qwen3-Coder, Qwen3.5",
        "<tool_call><function=NAME><parameter=a>b</parameter></function></tool_call>",
        "raw strings, without the line break at either end",
        "calls that do not begin with `<tool_call>⏎<function=`; forces the schema's order",
    ),
    "glm45": Note(
        "GLM-4.5, 4.6, 4.7",
        "<tool_call>NAME<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>",
        "raw strings",
        "all but names; at level `parameter` forces the schema's order",
        "types of values, after the check",
    ),
    "minimax_m2": Note(
        "MiniMax-M2",
        '<invoke name="NAME"><parameter name="a">b</parameter></invoke>',
        "raw strings; all calls in one section",
        "calls in any framing but one",
    ),
}
