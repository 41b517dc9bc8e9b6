"""Texts that stock vLLM reads as right though no chat template writes them so.

Owns: the texts, and what stock makes of each. Must not know: which of them a dialect accepts
(`deviations.REFUSED` has those that none does, with the reason).

Every text is the call `w(a="b")` unless another is given, and is read so when it is not
streamed; the test of that is `test_tolerances.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.formats.writers import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

W = Call("w", {"a": "b"})
T = Call("t", {})


@dataclass(frozen=True, slots=True)
class Text:
    """A turn as a text, and how stock reads it.

    Attributes:
        what: the liberty that it takes; a key, with the format, of `deviations.REFUSED`.
        text: markers are spelled, and stand for their tokens.
        streams: whether stock reads it so when it is streamed, too.

    """

    what: str
    text: str
    calls: tuple[Call, ...] = (W,)
    content: str = ""
    streams: bool = True


_HERMES = (
    Text("no newlines", '<tool_call>{"name": "w", "arguments": {"a": "b"}}</tool_call><|im_end|>'),
    Text(
        "a space everywhere",
        '<tool_call> { "name" : "w" , "arguments" : { "a" : "b" } } </tool_call><|im_end|>',
    ),
    Text(
        "indented",
        '<tool_call>\n{\n  "name": "w",\n  "arguments": {\n    "a": "b"\n  }\n}\n</tool_call>'
        "<|im_end|>",
    ),
    Text(
        "runs of white space",
        '<tool_call> \n { "name" :  "w",\n\n"arguments": {"a": "b"}}\n\n</tool_call><|im_end|>',
    ),
    Text(
        "arguments first",
        '<tool_call>\n{"arguments": {"a": "b"}, "name": "w"}\n</tool_call><|im_end|>',
        streams=False,
    ),
    Text(
        "a further key",
        '<tool_call>\n{"name": "w", "arguments": {"a": "b"}, "id": "1"}\n</tool_call><|im_end|>',
        streams=False,
    ),
    Text("last tag missing", '<tool_call>\n{"name": "w", "arguments": {"a": "b"}}\n<|im_end|>'),
    Text(
        "text between calls",
        '<tool_call>{"name": "w", "arguments": {"a": "b"}}</tool_call> and '
        '<tool_call>{"name": "t", "arguments": {}}</tool_call><|im_end|>',
        (W, T),
    ),
    Text(
        "text after the calls",
        '<tool_call>{"name": "w", "arguments": {"a": "b"}}</tool_call>\nDone.<|im_end|>',
    ),
    Text(
        "an escaped name",
        '<tool_call>\n{"name": "\\u0077", "arguments": {"a": "b"}}\n</tool_call><|im_end|>',
        streams=False,
    ),
    Text(
        "an empty line between calls",
        '<tool_call>\n{"name": "w", "arguments": {"a": "b"}}\n</tool_call>\n\n'
        '<tool_call>\n{"name": "t", "arguments": {}}\n</tool_call><|im_end|>',
        (W, T),
    ),
    Text(
        "white space at the end",
        '<tool_call>\n{"name": "w", "arguments": {"a": "b"}}\n</tool_call>\n<|im_end|>',
    ),
)

_MISTRAL_V3 = (
    Text("no space", '[TOOL_CALLS][{"name": "w", "arguments": {"a": "b"}}]</s>'),
    Text(
        "a space everywhere",
        '[TOOL_CALLS] [ { "name" : "w" , "arguments" : { "a" : "b" } } ] </s>',
    ),
    Text(
        "runs of white space",
        '[TOOL_CALLS] \n [ {"name": "w", "arguments": {"a": "b"}} ] \n</s>',
    ),
    Text("arguments first", '[TOOL_CALLS] [{"arguments": {"a": "b"}, "name": "w"}]</s>'),
    Text(
        "id first", '[TOOL_CALLS] [{"id": "abcdefgh1", "name": "w", "arguments": {"a": "b"}}]</s>'
    ),
    Text(
        "id between",
        '[TOOL_CALLS] [{"name": "w", "id": "abcdefgh1", "arguments": {"a": "b"}}]</s>',
    ),
    Text(
        "arguments as a string",
        '[TOOL_CALLS] [{"name": "w", "arguments": "{\\"a\\": \\"b\\"}"}]</s>',
    ),
    Text("a bare object", '[TOOL_CALLS] {"name": "w", "arguments": {"a": "b"}}</s>'),
    Text(
        "text after the calls",
        '[TOOL_CALLS] [{"name": "w", "arguments": {"a": "b"}}] Done.</s>',
        streams=False,
    ),
    Text(
        "the marker twice", '[TOOL_CALLS][TOOL_CALLS] [{"name": "w", "arguments": {"a": "b"}}]</s>'
    ),
    Text(
        "text before",
        'Look.[TOOL_CALLS] [{"name": "w", "arguments": {"a": "b"}}]</s>',
        content="Look.",
    ),
    Text("no arguments", '[TOOL_CALLS] [{"name": "t"}]</s>', (T,), streams=False),
)

_MISTRAL = (
    Text("no [ARGS]", '[TOOL_CALLS]w{"a": "b"}</s>'),
    Text("white space around the name", '[TOOL_CALLS] w [ARGS]{"a": "b"}</s>', streams=False),
    Text("white space around the arguments", '[TOOL_CALLS]w[ARGS] {"a": "b"} </s>'),
    Text("text after the calls", '[TOOL_CALLS]w[ARGS]{"a": "b"} Done.</s>', streams=False),
    Text("no arguments", "[TOOL_CALLS]t[ARGS]</s>", (T,), streams=False),
    Text(
        "a newline between calls",
        '[TOOL_CALLS]w[ARGS]{"a": "b"}\n[TOOL_CALLS]t[ARGS]{}</s>',
        (W, T),
    ),
)

_LLAMA3_JSON = (
    Text("arguments", '{"name": "w", "arguments": {"a": "b"}}<|eot_id|>'),
    Text("the tag", '<|python_tag|>{"name": "w", "parameters": {"a": "b"}}<|eot_id|>'),
    Text("parameters first", '{"parameters": {"a": "b"}, "name": "w"}<|eot_id|>'),
    Text("type first", '{"type": "function", "name": "w", "parameters": {"a": "b"}}<|eot_id|>'),
    Text("no spaces", '{"name":"w","parameters":{"a":"b"}}<|eot_id|>'),
    Text("a space everywhere", '{ "name" : "w" , "parameters" : { "a" : "b" } }<|eot_id|>'),
    Text(
        "white space before", '\n{"name": "w", "parameters": {"a": "b"}}<|eot_id|>', streams=False
    ),
    Text("white space after", '{"name": "w", "parameters": {"a": "b"}}\n<|eot_id|>'),
    Text(
        "a newline between calls",
        '{"name": "w", "parameters": {"a": "b"}}\n{"name": "t", "parameters": {}}<|eot_id|>',
        (W, T),
        streams=False,
    ),
    Text(
        "a semicolon without a space",
        '{"name": "w", "parameters": {"a": "b"}};{"name": "t", "parameters": {}}<|eot_id|>',
        (W, T),
        streams=False,
    ),
    Text("text before", 'Look: {"name": "w", "parameters": {"a": "b"}}<|eot_id|>', streams=False),
    Text("text after", '{"name": "w", "parameters": {"a": "b"}} Done.<|eot_id|>'),
    Text("ends with <|eom_id|>", '{"name": "w", "parameters": {"a": "b"}}<|eom_id|>'),
)

_PYTHON = (
    Text("single quotes", "[w(a='b')]"),
    Text("no spaces", '[w(a="b"),t()]', (W, T)),
    Text("white space", '[w(a= "b" ), t()\n]', (W, T)),
    Text("newlines between calls", '[w(a="b"),\nt()]', (W, T)),
    Text(
        "JSON's literals",
        "[w(a=true, b=false, c=null)]",
        (Call("w", {"a": True, "b": False, "c": None}),),
    ),
    Text("a tuple", "[w(a=(1, 2))]", (Call("w", {"a": [1, 2]}),)),
    Text("a hexadecimal number", "[w(a=0x1F)]", (Call("w", {"a": 31}),)),
    Text("a grouped number", "[w(a=1_000)]", (Call("w", {"a": 1000}),)),
    Text("a raw string", "[w(a=r'b')]"),
    Text("strings beside one another", "[w(a='' 'b')]"),
    Text("escapes", "[w(a='\\x62')]"),
    Text("triple quotes", "[w(a='''b''')]"),
    Text("a comma after the arguments", "[w(a='b',)]"),
    Text("a comma in a list", "[w(a=[1, ])]", (Call("w", {"a": [1]}),)),
    Text("a float without zero", "[w(a=.5)]", (Call("w", {"a": 0.5}),)),
    Text("white space after", '[w(a="b")]\n'),
)


def _ended(end: str) -> tuple[Text, ...]:
    return tuple(Text(each.what, each.text + end, each.calls) for each in _PYTHON)


_LLAMA4_PYTHONIC = (
    *_ended("<|eot|>"),
    Text("wrapped", '<|python_start|>[w(a="b")]<|python_end|><|eot|>'),
    Text("begun, not ended", '<|python_start|>[w(a="b")]<|eot|>'),
    Text("ends with <|eom|>", '<|python_start|>[w(a="b")]<|python_end|><|eom|>'),
)

_GRANITE = (
    Text("no space", '<|tool_call|>[{"name": "w", "arguments": {"a": "b"}}]<|end_of_text|>'),
    Text("3.1's marker", '<tool_call> [{"name": "w", "arguments": {"a": "b"}}]<|end_of_text|>'),
    Text(
        "3.1's marker, no space",
        '<tool_call>[{"name": "w", "arguments": {"a": "b"}}]<|end_of_text|>',
    ),
    Text(
        "arguments first",
        '<|tool_call|> [{"arguments": {"a": "b"}, "name": "w"}]<|end_of_text|>',
    ),
    Text(
        "indented",
        '<|tool_call|>[\n    {\n        "name": "w",\n        "arguments": {\n            "a": "b"'
        "\n        }\n    }\n]<|end_of_text|>",
    ),
    Text(
        "text after the calls",
        '<|tool_call|> [{"name": "w", "arguments": {"a": "b"}}] Done.<|end_of_text|>',
        streams=False,
    ),
    Text(
        "text before",
        'Look.<|tool_call|> [{"name": "w", "arguments": {"a": "b"}}]<|end_of_text|>',
        content="Look.",
    ),
    Text(
        "a further key",
        '<|tool_call|> [{"name": "w", "arguments": {"a": "b"}, "id": "1"}]<|end_of_text|>',
    ),
)

_GRANITE_20B = (
    Text("no space", '<function_call>{"name": "w", "arguments": {"a": "b"}}<|endoftext|>'),
    Text("a newline", '<function_call>\n{"name": "w", "arguments": {"a": "b"}}<|endoftext|>'),
    Text(
        "no newline between calls",
        '<function_call> {"name": "w", "arguments": {"a": "b"}} '
        '<function_call> {"name": "w", "arguments": {"a": "b"}}<|endoftext|>',
        (W, W),
    ),
    Text("arguments first", '<function_call> {"arguments": {"a": "b"}, "name": "w"}<|endoftext|>'),
    Text(
        "text before",
        'Look. <function_call> {"name": "w", "arguments": {"a": "b"}}<|endoftext|>',
        content="Look.",
        streams=False,
    ),
    Text(
        "text after the calls",
        '<function_call> {"name": "w", "arguments": {"a": "b"}} Done.<|endoftext|>',
    ),
)

_INTERNLM = (
    Text(
        "no newline",
        '<|action_start|><|plugin|>{"name": "w", "parameters": {"a": "b"}}<|action_end|><|im_end|>',
    ),
    Text(
        "a newline after",
        '<|action_start|><|plugin|>\n{"name": "w", "parameters": {"a": "b"}}\n<|action_end|>'
        "<|im_end|>",
    ),
    Text(
        "arguments",
        '<|action_start|><|plugin|>\n{"name": "w", "arguments": {"a": "b"}}<|action_end|>'
        "<|im_end|>",
    ),
    Text(
        "parameters first",
        '<|action_start|><|plugin|>\n{"parameters": {"a": "b"}, "name": "w"}<|action_end|>'
        "<|im_end|>",
    ),
    Text(
        "no end marker",
        '<|action_start|><|plugin|>\n{"name": "w", "parameters": {"a": "b"}}<|im_end|>',
    ),
    Text(
        "text after the call",
        '<|action_start|><|plugin|>\n{"name": "w", "parameters": {"a": "b"}}<|action_end|>Done.'
        "<|im_end|>",
    ),
    Text(
        "text before",
        'Look.<|action_start|><|plugin|>\n{"name": "w", "parameters": {"a": "b"}}<|action_end|>'
        "<|im_end|>",
        content="Look.",
    ),
    Text(
        "no arguments",
        '<|action_start|><|plugin|>\n{"name": "t"}<|action_end|><|im_end|>',
        (T,),
        streams=False,
    ),
)

_JAMBA = (
    Text("one line", '<tool_calls>[{"name": "w", "arguments": {"a": "b"}}]</tool_calls><|eom|>'),
    Text(
        "a space everywhere",
        '<tool_calls> [ {"name" : "w" , "arguments" : { "a" : "b" } } ] </tool_calls><|eom|>',
    ),
    Text(
        "arguments first",
        '<tool_calls>[{"arguments": {"a": "b"}, "name": "w"}]</tool_calls><|eom|>',
    ),
    Text(
        "text before",
        ' Look.<tool_calls>[{"name": "w", "arguments": {"a": "b"}}]</tool_calls><|eom|>',
        content="Look.",
    ),
    Text(
        "text after the calls",
        '<tool_calls>[{"name": "w", "arguments": {"a": "b"}}]</tool_calls> Done.<|eom|>',
    ),
)

_DS3 = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>w\n```json\n"
    '{"a": "b"}\n```<｜tool▁call▁end｜>'
)
_DEEPSEEK_V3 = (
    Text("no end of calls", _DS3 + "<｜end▁of▁sentence｜>"),
    Text(
        "text after the calls",
        _DS3 + "<｜tool▁calls▁end｜>Done.<｜end▁of▁sentence｜>",
        streams=False,
    ),
    Text(
        "no newline between calls",
        _DS3 + "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{}\n```<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        (W, T),
    ),
    Text(
        "a space everywhere",
        _DS3.replace('{"a": "b"}', '{ "a" : "b" }') + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
    Text(
        "spaces around the arguments",
        _DS3.replace('{"a": "b"}', ' {"a": "b"} ') + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
)
_DS31 = '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>w<｜tool▁sep｜>{"a": "b"}<｜tool▁call▁end｜>'
_DEEPSEEK_V31 = (
    Text("no end of calls", _DS31 + "<｜end▁of▁sentence｜>"),
    Text(
        "text after the calls",
        _DS31 + "<｜tool▁calls▁end｜>Done.<｜end▁of▁sentence｜>",
        streams=False,
    ),
    Text(
        "a newline between calls",
        _DS31 + "\n<｜tool▁call▁begin｜>t<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        (W, T),
    ),
    Text(
        "spaces around the arguments",
        _DS31.replace('{"a": "b"}', ' {"a": "b"} ') + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
    Text(
        "tabs",
        _DS31.replace('{"a": "b"}', '{\t"a":\t"b"}') + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
    Text(
        "a space everywhere",
        _DS31.replace('{"a": "b"}', '{ "a" : "b" }') + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
)

_QWEN = (
    Text(
        "no newlines",
        "<tool_call><function=w><parameter=a>b</parameter></function></tool_call><|im_end|>",
    ),
    Text(
        "no </parameter> between",
        "<tool_call>\n<function=w>\n<parameter=a>\nb\n<parameter=n>\n3\n</parameter>\n</function>\n"
        "</tool_call><|im_end|>",
        (Call("w", {"a": "b", "n": 3}),),
    ),
    Text(
        "no <tool_call>",
        "<function=w>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call><|im_end|>",
    ),
    Text(
        "no </tool_call>",
        "<tool_call>\n<function=w>\n<parameter=a>\nb\n</parameter>\n</function><|im_end|>",
    ),
    Text(
        "white space between",
        "<tool_call> \n\n<function=w> \n<parameter=a>\nb\n</parameter>\n\n</function> \n"
        "</tool_call><|im_end|>",
    ),
    Text(
        "two calls in one",
        "<tool_call>\n<function=w>\n<parameter=a>\nb\n</parameter>\n</function>\n<function=t>\n"
        "</function>\n</tool_call><|im_end|>",
        (W, T),
    ),
    Text(
        "text after the calls",
        "<tool_call>\n<function=w>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call>Done."
        "<|im_end|>",
        streams=False,
    ),
    Text(
        "Python's literals",
        "<tool_call>\n<function=w>\n<parameter=y>\nTrue\n</parameter>\n</function>\n</tool_call>"
        "<|im_end|>",
        (Call("w", {"y": True}),),
    ),
)

_GLM = (
    Text(
        "4.5's newlines",
        "<tool_call>w\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call><|observation|>",
    ),
    Text(
        "4.7's",
        "<tool_call>w<arg_key>a</arg_key><arg_value>b</arg_value></tool_call><|observation|>",
    ),
    Text(
        "white space around name and key",
        "<tool_call> w \n<arg_key> a </arg_key> <arg_value>b</arg_value> </tool_call>"
        "<|observation|>",
    ),
    Text(
        "text after the calls",
        "<tool_call>w<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>Done.<|observation|>",
        streams=False,
    ),
    Text(
        "Python's literals",
        "<tool_call>w<arg_key>y</arg_key><arg_value>True</arg_value></tool_call><|observation|>",
        (Call("w", {"y": True}),),
    ),
    Text(
        "ends with <|user|>",
        "<tool_call>w<arg_key>a</arg_key><arg_value>b</arg_value></tool_call><|user|>",
    ),
)

_MM = '<minimax:tool_call>\n<invoke name="w">\n<parameter name="a">b</parameter>\n</invoke>\n'
_MINIMAX = (
    Text("single quotes", _MM.replace('"', "'") + "</minimax:tool_call>[e~["),
    Text("no quotes", _MM.replace('"', "") + "</minimax:tool_call>[e~["),
    Text("no newlines", _MM.replace("\n", "") + "</minimax:tool_call>[e~["),
    Text("no end of calls", _MM + "[e~["),
    Text("text after the calls", _MM + "</minimax:tool_call>Done.[e~[", streams=False),
    Text(
        "white space between",
        _MM.replace("\n", " \n\n ") + "</minimax:tool_call>\n[e~[",
    ),
    Text(
        "two sections",
        _MM + '</minimax:tool_call>\n<minimax:tool_call>\n<invoke name="t">\n</invoke>\n'
        "</minimax:tool_call>[e~[",
        (W, T),
    ),
)

_K3 = (
    '<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="w" index="1"<|sep|>'
    '<|open|>argument key="a" type="string"<|sep|>b<|close|>argument<|sep|><|close|>call<|sep|>'
    "<|close|>tools<|sep|>"
)
_K3_END = "<|close|>message<|sep|><|end_of_msg|>"
_KIMI_K3 = (
    Text("an index of the dialog", _K3.replace('index="1"', 'index="7"') + _K3_END),
    Text("attributes swapped", _K3.replace('tool="w" index="1"', 'index="1" tool="w"') + _K3_END),
    Text(
        "attributes of an argument swapped",
        _K3.replace('key="a" type="string"', 'type="string" key="a"') + _K3_END,
    ),
    Text("no index", _K3.replace(' index="1"', "") + _K3_END),
    Text("no type", _K3.replace(' type="string"', "") + _K3_END),
    Text("no end of message", _K3 + "<|end_of_msg|>"),
    Text("no end of calls", _K3.removesuffix("<|close|>tools<|sep|>") + "<|end_of_msg|>"),
    Text("white space between tags", _K3.replace("<|close|>call", "\n<|close|>call") + _K3_END),
    Text("white space in a tag", _K3.replace("<|open|>tools", "<|open|> tools") + _K3_END),
    Text("no end of the response", _K3.removeprefix("<|close|>response<|sep|>") + _K3_END),
    Text(
        "spaced JSON",
        _K3.replace('"string"<|sep|>b', '"object"<|sep|>{ "k" : [ 1 ] }') + _K3_END,
        (Call("w", {"a": {"k": [1]}}),),
    ),
    Text(
        "the arguments as one JSON",
        '<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="t" index="1"<|sep|>'
        '<|open|>json type="object"<|sep|>{}<|close|>json<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|>" + _K3_END,
        (T,),
    ),
)

_K2 = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.w:0<|tool_call_argument_begin|>"
    '{"a": "b"}<|tool_call_end|><|tool_calls_section_end|>'
)
_KIMI_K2 = (
    Text("spaced JSON", _K2.replace('{"a": "b"}', ' { "a" :\n"b" }') + "<|im_end|>"),
    Text("runs of white space", _K2.replace('{"a": "b"}', '{  "a":\t"b"} ') + "<|im_end|>"),
    Text("another index", _K2.replace(":0", ":7") + "<|im_end|>"),
    Text("no prefix", _K2.replace("functions.", "") + "<|im_end|>"),
)

TEXTS: Mapping[str, tuple[Text, ...]] = {
    "kimi_k2": _KIMI_K2,
    "kimi_k3": _KIMI_K3,
    "hermes": _HERMES,
    "mistral_v3": _MISTRAL_V3,
    "mistral": _MISTRAL,
    "llama3_json": _LLAMA3_JSON,
    "pythonic": _ended("<|eot_id|>"),
    "llama4_pythonic": _LLAMA4_PYTHONIC,
    "granite": _GRANITE,
    "granite_20b_fc": _GRANITE_20B,
    "internlm": _INTERNLM,
    "jamba": _JAMBA,
    "deepseek_v3": _DEEPSEEK_V3,
    "deepseek_v31": _DEEPSEEK_V31,
    "qwen3_coder": _QWEN,
    "glm45": _GLM,
    "minimax_m2": _MINIMAX,
}
