"""The structural tags that vLLM's front ends build for Kimi K3's format, read back.

Owns: their shapes, what each means, and the tools that a prompt declares. Must not know: vLLM's
code, how a spec is enforced.

A tag has the names of its tools, and their schemas only in pieces: which keys are required, how
long a text may be, what else may be there, its arguments do not say. The prompt does: vLLM
renders each declaration as a message of its own, in which nothing that a user writes can stand,
since only the encoder writes control tokens. So the tag says which tools, how many calls and
whether one is demanded, and the prompt says what they take.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools
from enforcer.layouts import Escape
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.vllm.native.stock_shapes import PATH, UnlikeError, answer, expect, items, take

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.turn.dialect import Dialect
    from enforcer.vocabulary import Vocabulary

OPEN, CLOSE, SEP = "<|open|>", "<|close|>", "<|sep|>"
_RESPONSE, _RESPONSE_END = f"{OPEN}response{SEP}", f"{CLOSE}response{SEP}"
_TOOLS, _TOOLS_END = f"{OPEN}tools{SEP}", f"{CLOSE}tools{SEP}"
_THINK_END, _MESSAGE_END = f"{CLOSE}think{SEP}", f"{CLOSE}message{SEP}"
_CALL, _CALL_END = f'{OPEN}call tool="', f"{CLOSE}call{SEP}"
_BEFORE_INDEX = '" index="'
_INDEX = ("[0-9]+", "[1-9][0-9]*")
_FRAMING = (_RESPONSE, _RESPONSE + _RESPONSE_END, _RESPONSE_END)
_DECLARES = 'message role="system" type="tool-declare"'
_FENCE, _FENCE_END = "```json\n", "\n```"
# What a turn may be, in letters: R a response, T the tools, F markers of a response without
# text. Behind each, whether a call is demanded.
_TURNS = {
    "F? R T?": False,  # the Python front end
    "F? R T": True,
    "R T?": False,  # the Rust one; the prompt has begun the response
    "R T": True,
    "((R T?)|(F T))": False,
    "(R|F) T": True,
    "((R T?)|T)": False,  # a think comes first
    "((R T?)|(F? T))": False,
    "(R? T)": True,
    "((R|F)? T)": True,
}


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Give the markers of calls, if they look like Kimi K3's; else none."""
    return (_TOOLS, _CALL) if {OPEN, CLOSE, SEP} <= set(dialect.controls) else ()


def turn(data: Any, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> tuple[Spec, bool]:
    """Read a whole tag.

    Returns:
        What it means, and whether it has the think apart.

    Raises:
        UnlikeError: it has another shape, or names a tool that the prompt does not declare.
        InvalidTools: a name or schema is not what a chat request carries.

    """
    (node,) = take(data, "structural_tag", "format")
    parts = items(take(node, "sequence", "elements")[0])
    think_apart = _is_think(parts[0])
    *parts, last = parts[1:] if think_apart else parts
    expect(take(take(last, "optional", "content")[0], "const_string", "value"), [_MESSAGE_END])
    seen = _Seen()
    shape = " ".join(seen.shape(part) for part in parts)
    if shape not in _TURNS:
        raise UnlikeError
    demanded = _TURNS[shape]
    names, only_one = seen.calls()
    text_format = seen.text_format()
    known = dict(_declared(vocabulary, prompt_ids))
    if not known.keys() >= set(names):
        raise UnlikeError
    listed = [known[name] for name in names]
    toolset = tools_.parse(listed, "required" if demanded else "auto", not only_one)
    # Beside a call that is demanded there need be no text.
    return Spec(toolset, 0, None if demanded else text_format), think_apart


def _is_think(node: Any) -> bool:
    """Tell whether a node is the rest of a think."""
    try:
        begin, content, end = take(node, "tag", "begin", "content", "end")
        expect([begin, end], ["", _THINK_END])
    except UnlikeError:
        return False
    take(content, "any_text", "excludes")
    return True


class _Seen:
    """What the parts of a turn are, and what stands in those that are alike."""

    def __init__(self) -> None:
        self._lists: list[Any] = []
        self._texts: list[Any] = []

    def shape(self, node: Any) -> str:
        """Write a part in the letters of `_TURNS`."""
        kind = node.get("type") if isinstance(node, dict) else None
        if kind == "optional":
            return f"{self.shape(take(node, 'optional', 'content')[0])}?"
        if kind in ("sequence", "or"):
            inside = [self.shape(each) for each in items(take(node, kind, "elements")[0])]
            return f"({(' ' if kind == 'sequence' else '|').join(inside)})"
        if kind == "const_string":
            if take(node, "const_string", "value")[0] not in _FRAMING:
                raise UnlikeError
            return "F"
        begin, content, end = take(node, "tag", "begin", "content", "end")
        if (begin, end) == (_TOOLS, _TOOLS_END):
            self._lists.append(content)
            return "T"
        if begin not in ("", _RESPONSE) or end != _RESPONSE_END:
            raise UnlikeError
        self._texts.append(content)
        return "R"

    def calls(self) -> tuple[list[str], bool]:
        """Give the names of the tools, and whether there is one call at most."""
        node = _alike(self._lists)
        tags, separator, at_least_one, only_one = take(
            node, "tags_with_separator", "tags", "separator", "at_least_one", "stop_after_first"
        )
        expect([separator, at_least_one], ["", True])
        if not isinstance(only_one, bool):
            raise UnlikeError
        return [_name(tag) for tag in items(tags)], only_one

    def text_format(self) -> formats.ResponseFormat | None:
        """Give the format that the response must fit."""
        node = _alike(self._texts)
        if isinstance(node, dict) and node.get("type") == "any_text":
            take(node, "any_text", "excludes")
            return None
        return formats.parse(answer(node))


def _alike(nodes: list[Any]) -> Any:
    for node in nodes[1:]:
        expect(node, nodes[0])
    return nodes[0]


def _name(node: Any) -> str:
    """Read the name of a call; its arguments are not looked at."""
    begin, content, end = take(node, "tag", "begin", "content", "end")
    expect(end, _CALL_END)
    index, middle, _ = items(take(content, "sequence", "elements")[0], 3)
    if take(index, "regex", "pattern")[0] not in _INDEX:
        raise UnlikeError
    expect(take(middle, "const_string", "value"), [f'"{SEP}'])
    if not (isinstance(begin, str) and begin.startswith(_CALL) and begin.endswith(_BEFORE_INDEX)):
        raise UnlikeError
    name = begin.removeprefix(_CALL).removesuffix(_BEFORE_INDEX)
    return Escape.XML.read(name)


def _declared(vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """Give the tools that a prompt declares, by their names.

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
    """Give the tags of a prompt that has been rendered, each with the text right behind it."""
    controls = vocabulary.control_ids
    opens, seps = vocabulary.control(OPEN), vocabulary.control(SEP)
    marks = [at for at, token in enumerate(prompt_ids) if token in controls]

    def text(begin: int, end: int) -> str:
        return vocabulary.decode(prompt_ids[begin + 1 : end]).decode(errors="replace")

    for begin, middle, end in zip(marks, marks[1:], marks[2:], strict=False):
        if prompt_ids[begin] == opens and prompt_ids[middle] == seps:
            yield text(begin, middle), text(middle, end)
