"""What a chat template, or a model's reference encoder, writes for a turn.

Owns: one writer a format, in a few styles (`../shared/reference/formats.md` has the sources).
Must not know: dialects, vLLM, our parser.

A marker is spelled here and stands for its token where the tokenizer has one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.formats.catalogue import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DS_CALL = "<｜tool▁call▁begin｜>"
_DS_SEP = "<｜tool▁sep｜>"
_DS_END = "<｜tool▁call▁end｜>"


@dataclass(frozen=True, slots=True)
class Call:
    """A call: the tool's name, and its arguments as a value."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model says.

    Attributes:
        reasoning: None where the prompt has no think to come.

    """

    content: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """How it says it.

    Attributes:
        compact: JSON without spaces.
        tight: framing without the white space that is optional, or in the other of two ways.

    """

    compact: bool = False
    tight: bool = False


STYLES = tuple(Style(compact, tight) for compact in (False, True) for tight in (False, True))


def write(name: str, turn: Turn, style: Style | None = None) -> str:
    """Write a turn of a row, from where the prompt ends to the token that ends it."""
    return _WRITERS[ROWS[name].name](turn, style or Style())


def _json(value: Any, style: Style) -> str:
    separators = (",", ":") if style.compact else (", ", ": ")
    return json.dumps(value, ensure_ascii=False, separators=separators)


def _named(call: Call, style: Style, key: str = "arguments", **more: Any) -> str:
    return _json({"name": call.name, key: call.arguments, **more}, style)


def _kimi_k2(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"{turn.reasoning}</think>"
    text += turn.content
    if turn.calls:
        calls = "".join(
            f"<|tool_call_begin|>functions.{call.name}:{index}<|tool_call_argument_begin|>"
            f"{_json(call.arguments, style)}<|tool_call_end|>"
            for index, call in enumerate(turn.calls)
        )
        text += f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>"
    return text + "<|im_end|>"


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


_K3_TYPES = {str: "string", bool: "boolean", type(None): "null", list: "array", dict: "object"}


def _kimi_k3(turn: Turn, style: Style) -> str:
    text = ""
    if turn.reasoning is not None:
        text = f"{turn.reasoning}<|close|>think<|sep|><|open|>response<|sep|>"
    text += f"{turn.content}<|close|>response<|sep|>"
    if turn.calls:
        text += "<|open|>tools<|sep|>"
        for index, call in enumerate(turn.calls, 1):
            text += f'<|open|>call tool="{_attribute(call.name)}" index="{index}"<|sep|>'
            for key, value in call.arguments.items():
                kind = _K3_TYPES.get(type(value), "number")
                raw = value if isinstance(value, str) else _json(value, style)
                text += f'<|open|>argument key="{_attribute(key)}" type="{kind}"<|sep|>{raw}'
                text += "<|close|>argument<|sep|>"
            text += "<|close|>call<|sep|>"
        text += "<|close|>tools<|sep|>"
    return text + "<|close|>message<|sep|><|end_of_msg|>"


def _hermes(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"<think>\n{turn.reasoning}\n</think>\n\n"
    text += turn.content
    line = "" if style.tight else "\n"
    between = line if turn.content else ""
    for call in turn.calls:
        text += f"{between}<tool_call>{line}{_named(call, style)}{line}</tool_call>"
        between = line
    return text + "<|im_end|>"


def _mistral_v3(turn: Turn, style: Style) -> str:
    text = turn.content
    if turn.calls:
        # The id is in the prompts of its history; a model may or may not write one.
        more = [{} if style.tight else {"id": f"abcdefgh{n}"} for n in range(len(turn.calls))]
        calls = zip(turn.calls, more, strict=True)
        joined = (",", ", ")[not style.compact].join(_named(c, style, **i) for c, i in calls)
        text += f"[TOOL_CALLS] [{joined}]"
    return text + "</s>"


def _mistral(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"[THINK]{turn.reasoning}[/THINK]"
    text += turn.content
    for call in turn.calls:
        text += f"[TOOL_CALLS]{call.name}[ARGS]{_json(call.arguments, style)}"
    return text + "</s>"


def _llama3_json(turn: Turn, style: Style) -> str:
    if not turn.calls:
        return turn.content + "<|eot_id|>"
    begin = "<|python_tag|>" if style.tight else ""
    calls = "; ".join(_named(call, style, "parameters") for call in turn.calls)
    return begin + calls + "<|eot_id|>"


def _python(value: Any, style: Style) -> str:
    """Spell a value as a Python literal."""
    comma, colon = (",", ":") if style.compact else (", ", ": ")
    if isinstance(value, dict):
        pairs = (f"{_python(k, style)}{colon}{_python(v, style)}" for k, v in value.items())
        return "{" + comma.join(pairs) + "}"
    if isinstance(value, list):
        return "[" + comma.join(_python(item, style) for item in value) + "]"
    if isinstance(value, str) and not style.tight:
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _pythonic(turn: Turn, style: Style, end: str = "<|eot_id|>") -> str:
    if not turn.calls:
        return turn.content + end
    comma = "," if style.compact else ", "
    calls = (
        f"{call.name}({comma.join(f'{k}={_python(v, style)}' for k, v in call.arguments.items())})"
        for call in turn.calls
    )
    return f"[{comma.join(calls)}]" + end


def _llama4_pythonic(turn: Turn, style: Style) -> str:
    text = _pythonic(turn, style, "")
    if turn.calls and style.tight:
        text = f"<|python_start|>{text}<|python_end|>"
    return text + "<|eot|>"


def _granite(turn: Turn, style: Style) -> str:
    text = turn.content
    if turn.calls:
        marker = "<tool_call>" if style.tight else "<|tool_call|>"  # of 3.1, of 3.0
        comma = "," if style.compact else ", "
        text += "\n" if text else ""
        text += f"{marker} [{comma.join(_named(call, style) for call in turn.calls)}]"
    return text + "<|end_of_text|>"


def _granite_20b_fc(turn: Turn, style: Style) -> str:
    line = "" if style.tight else "\n"
    text = turn.content
    text += line.join(f"<function_call> {_named(call, style)}" for call in turn.calls)
    return text + "<|endoftext|>"


def _internlm(turn: Turn, style: Style) -> str:
    text = turn.content
    key = "arguments" if style.tight else "parameters"  # of the history, of the model
    for call in turn.calls:
        body = _named(call, style, key)
        text += f"<|action_start|><|plugin|>\n{body}<|action_end|>"
    return text + "<|im_end|>"


def _jamba(turn: Turn, style: Style) -> str:
    text = turn.content
    if turn.calls:
        line, comma = ("", ", ") if style.tight else ("\n    ", ",")
        calls = (comma + line).join(_named(call, style) for call in turn.calls)
        text += f"<tool_calls>[{line}{calls}{line[:1]}]</tool_calls>"
    return text + "<|eom|>"


def _deepseek_v3(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"{turn.reasoning}\n</think>\n\n"
    text += turn.content
    if turn.calls:
        line = "" if style.tight else "\n"
        calls = line.join(
            f"{_DS_CALL}function{_DS_SEP}{call.name}\n```json\n"
            f"{_json(call.arguments, style)}\n```{_DS_END}"
            for call in turn.calls
        )
        text += f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>"
    return text + "<｜end▁of▁sentence｜>"


def _deepseek_v31(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"{turn.reasoning}</think>"
    text += turn.content
    if turn.calls:
        calls = "".join(
            f"{_DS_CALL}{call.name}{_DS_SEP}{_json(call.arguments, style)}{_DS_END}"
            for call in turn.calls
        )
        text += f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>"
    return text + "<｜end▁of▁sentence｜>"


def _raw(value: Any, style: Style) -> str:
    return value if isinstance(value, str) else _json(value, style)


def _qwen_value(value: Any, style: Style) -> str:
    """Spell a value with its newlines, without which a newline of its own would be trimmed."""
    raw = _raw(value, style)
    line = "" if style.tight and raw == raw.strip("\n") else "\n"
    return line + raw + line


def _qwen3_coder(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"{turn.reasoning}\n</think>\n\n"
    text += turn.content
    line = "" if style.tight else "\n"
    between = 2 * line if turn.content else ""
    for call in turn.calls:
        pairs = "".join(
            f"<parameter={key}>{_qwen_value(value, style)}</parameter>{line}"
            for key, value in call.arguments.items()
        )
        text += f"{between}<tool_call>{line}<function={call.name}>{line}{pairs}</function>{line}"
        text += "</tool_call>"
        between = line
    return text + "<|im_end|>"


def _glm45(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"{turn.reasoning}</think>"
    text += turn.content
    line = "" if style.tight else "\n"  # of 4.7, of 4.5
    between = line if turn.content else ""
    for call in turn.calls:
        pairs = "".join(
            f"<arg_key>{key}</arg_key>{line}<arg_value>{_raw(value, style)}</arg_value>{line}"
            for key, value in call.arguments.items()
        )
        text += f"{between}<tool_call>{call.name}{line}{pairs}</tool_call>"
        between = line
    return text + ("<|observation|>" if turn.calls else "<|user|>")


def _minimax_m2(turn: Turn, style: Style) -> str:
    text = "" if turn.reasoning is None else f"{turn.reasoning}\n</think>\n\n"
    text += turn.content
    if turn.calls:
        text += "\n" if text else ""
        text += "<minimax:tool_call>\n"
        for call in turn.calls:
            text += f'<invoke name="{call.name}">\n'
            for key, value in call.arguments.items():
                text += f'<parameter name="{key}">{_raw(value, style)}</parameter>\n'
            text += "</invoke>\n"
        text += "</minimax:tool_call>"
    return text + "[e~["


_WRITERS: Mapping[str, Callable[[Turn, Style], str]] = {
    "kimi_k2": _kimi_k2,
    "kimi_k3": _kimi_k3,
    "hermes": _hermes,
    "mistral_v3": _mistral_v3,
    "mistral": _mistral,
    "llama3_json": _llama3_json,
    "pythonic": _pythonic,
    "llama4_pythonic": _llama4_pythonic,
    "granite": _granite,
    "granite_20b_fc": _granite_20b_fc,
    "internlm": _internlm,
    "jamba": _jamba,
    "deepseek_v3": _deepseek_v3,
    "deepseek_v31": _deepseek_v31,
    "qwen3_coder": _qwen3_coder,
    "glm45": _glm45,
    "minimax_m2": _minimax_m2,
}
