"""The structural tags that vLLM's front ends build for Kimi K3's format.

A tag has its tools' schemas only in pieces. The prompt has them whole: vLLM renders each
declaration as a message of its own, and only the encoder writes its special tokens. So the tools'
names, how many calls there may be and whether one is demanded are read from the tag, and the
schemas from the prompt.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools
from enforcer.layouts import Escape
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.vllm.native import patterns
from enforcer.vllm.native.patterns import PATH, Hole, Stock, UnlikeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.turn.dialect import Dialect
    from enforcer.vocabulary import Vocabulary

OPEN, CLOSE, SEP = "<|open|>", "<|close|>", "<|sep|>"
_RESPONSE, _RESPONSE_END = f"{OPEN}response{SEP}", f"{CLOSE}response{SEP}"
_TOOLS, _TOOLS_END = f"{OPEN}tools{SEP}", f"{CLOSE}tools{SEP}"
_CALL, _CALL_END = f'{OPEN}call tool="', f"{CLOSE}call{SEP}"
_BEFORE_INDEX = '" index="'
_DECLARES = 'message role="system" type="tool-declare"'
_FENCE, _FENCE_END = "```json\n", "\n```"


def _name(header: Any) -> str:
    begins = isinstance(header, str) and header.startswith(_CALL)
    if not begins or not header.endswith(_BEFORE_INDEX):
        raise UnlikeError
    return Escape.XML.read(header.removeprefix(_CALL).removesuffix(_BEFORE_INDEX))


def _text(node: Any) -> dict[str, Any]:
    if isinstance(node, dict) and node.get("type") == "any_text":
        patterns.values({"type": "any_text", "excludes": Hole("")}, node)
        return {"type": "text"}
    return patterns.text_format(node)


# A call's arguments are not looked at.
_INDEX = {"type": "regex", "pattern": Hole("", patterns.among("[0-9]+", "[1-9][0-9]*"))}
_TOOL = patterns.tag(
    Hole("name", _name), patterns.sequence(_INDEX, patterns.const(f'"{SEP}'), Hole("")), _CALL_END
)
_FRAMING = patterns.among(_RESPONSE, _RESPONSE + _RESPONSE_END, _RESPONSE_END)
_LETTERS = {
    "K": patterns.tag("", {"type": "any_text", "excludes": Hole("")}, f"{CLOSE}think{SEP}"),
    "R": patterns.tag(Hole("", patterns.among("", _RESPONSE)), Hole("text", _text), _RESPONSE_END),
    "T": patterns.tag(_TOOLS, patterns.calls(_TOOL), _TOOLS_END),
    "F": patterns.const(Hole("", _FRAMING)),
    "M": patterns.const(f"{CLOSE}message{SEP}"),
}
_AROUND = {"({} M?)": False, "(K {} M?)": True}
# A turn between its think and the message's end: R is the response, T the tools, F markers of a
# response without text. Each with its `tool_choice`.
_TURNS = {
    "F? R T?": "auto",  # the Python front end
    "F? R T": "required",
    "R T?": "auto",  # the Rust one; the prompt has begun the response
    "R T": "required",
    "((R T?)|(F T))": "auto",
    "(R|F) T": "required",
    "((R T?)|T)": "auto",  # a think comes first
    "((R T?)|(F? T))": "auto",
    "(R? T)": "required",
    "((R|F)? T)": "required",
}


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Return the markers of calls, if they look like Kimi K3's; else none."""
    return (_TOOLS, _CALL) if {OPEN, CLOSE, SEP} <= set(dialect.controls) else ()


def turn(data: Any, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> Stock:
    """Read a whole tag.

    Raises:
        UnlikeError: it has another shape, or names a tool that the prompt does not declare.
        InvalidTools: a name or schema is not what a chat request carries.

    """
    choice, think_apart, found = patterns.read(_LETTERS, _AROUND, _TURNS, data)
    names = [tool["name"] for tool in found["tools"]]
    known = dict(_declared(vocabulary, prompt_ids))
    if not known.keys() >= set(names):
        raise UnlikeError
    toolset = tools_.parse([known[name] for name in names], choice, not found["only_one"])
    # Beside a call that is demanded there need be no text.
    wanted = formats.parse(found["text"]) if choice == "auto" else None
    return Stock(Spec(toolset, 0, wanted), think_apart)


def _declared(vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """Yield the tools that a prompt declares, by their names.

    Raises:
        InvalidTools: a declaration cannot be read.

    """
    for header, body in _messages(vocabulary, prompt_ids):
        if header != _DECLARES:
            continue
        begin, end = body.find(_FENCE) + len(_FENCE), body.rfind(_FENCE_END)
        try:
            listed = json.loads(body[begin:end])
            yield from ((tool["function"]["name"], tool) for tool in listed)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidTools(
                PATH, f"the prompt's declaration of the tools cannot be read: {error!r}"
            ) from error


def _messages(vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield the tags of a rendered prompt, each with the text right behind it."""
    controls = vocabulary.control_ids
    opens, seps = vocabulary.control(OPEN), vocabulary.control(SEP)
    marks = [at for at, token in enumerate(prompt_ids) if token in controls]

    def text(begin: int, end: int) -> str:
        return vocabulary.decode(prompt_ids[begin + 1 : end]).decode(errors="replace")

    for begin, middle, end in zip(marks, marks[1:], marks[2:], strict=False):
        if prompt_ids[begin] == opens and prompt_ids[middle] == seps:
            yield text(begin, middle), text(middle, end)
