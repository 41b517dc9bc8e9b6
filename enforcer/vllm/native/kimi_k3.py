"""The structural tags that vLLM's front ends build for Kimi K3's format.

A tag has its tools' schemas only in pieces. The prompt has them whole: vLLM renders each
declaration as a message of its own, and only the encoder writes its special tokens. So the tools'
names, how many calls there may be and whether one is demanded are read from the tag, and the
schemas from the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools
from enforcer.layouts import Escape
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.request.tools import Tools
from enforcer.vllm.native import tags
from enforcer.vllm.native.tags import PATH, NativeTurn, UnlikeError

if TYPE_CHECKING:
    from enforcer.turn.dialect import Dialect
    from enforcer.vocabulary import Vocabulary

OPEN, CLOSE, SEP = "<|open|>", "<|close|>", "<|sep|>"
_TOOLS, _CALL = "<|open|>tools<|sep|>", '<|open|>call tool="'
_HEADER = re.compile(r'<\|open\|>call tool="(.*)" index="', re.DOTALL)
_INDICES = ("regex", "[0-9]+"), ("regex", "[1-9][0-9]*")
_RESPONSE, _RESPONSE_END = "<|open|>response<|sep|>", "<|close|>response<|sep|>"
_FRAMING = (_RESPONSE, _RESPONSE + _RESPONSE_END, _RESPONSE_END)
_DECLARES = 'message role="system" type="tool-declare"'
_FENCE, _FENCE_END = "```json\n", "\n```"
# Turns in letters: K is the think, R the response, F markers of a response without text, T the
# tools, M the end of the message. `F? R` is the Python front end's; of the Rust one's, those that
# begin with R go on with a response that the prompt has begun, the last four follow a think.
_TURNS = (
    "F? R T?;F? R T;R T?;R T;((R T?)|(F T));(R|F) T;((R T?)|T);((R T?)|(F? T));(R? T);((R|F)? T)"
)
_SHAPES = {f"({think}{turn} M?)" for think in ("", "K ") for turn in _TURNS.split(";")}


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Return the markers of calls, if they look like Kimi K3's; else none."""
    return (_TOOLS, _CALL) if {OPEN, CLOSE, SEP} <= set(dialect.controls) else ()


def turn(data: Any, vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> NativeTurn:
    """Read a whole tag.

    Raises:
        UnlikeError: it has another shape, or names a tool that the prompt does not declare.
        InvalidTools: a name or schema is not what a chat request carries.

    """
    texts, calls = [], []

    def spelled(node: Any) -> str:
        """Return a format in letters, as `(R T?)` or `(R|F)`; append its parts to `texts`, `calls`.

        Raises:
            UnlikeError: a part is none of those of this format.

        """
        match node:
            case ("tag", "", ("any_text", _, None, None), "<|close|>think<|sep|>"):
                return "K"
            case ("tag", "" | "<|open|>response<|sep|>", text, "<|close|>response<|sep|>"):
                is_free = text[:1] == ("any_text",) and text[2:] == (None, None)
                texts.append(None if is_free else tags.text_format(text))
                return "R"
            case ("tag", "<|open|>tools<|sep|>", several, "<|close|>tools<|sep|>"):
                calls.append(tags.calls(several, _name))
                return "T"
            case "<|close|>message<|sep|>":
                return "M"
            case str() if node in _FRAMING:
                return "F"
            case ("optional", part):
                return f"{spelled(part)}?"
            case ("sequence", [*parts]):
                return f"({' '.join(map(spelled, parts))})"
            case ("or", [*parts]):
                return f"({'|'.join(map(spelled, parts))})"
        raise UnlikeError

    shape = spelled(tags.read(data))
    if shape not in _SHAPES or any(each != calls[0] for each in calls):
        raise UnlikeError
    names, only_one = calls[0]
    known = _declared(vocabulary, prompt_ids)
    tools = Tools((name, known[name]) for name in names if name in known)
    if len(tools) < len(names):
        raise UnlikeError
    choice = "auto" if "T?" in shape else "required"
    # Read again, as paths count the tag's tools.
    toolset = tools_.choose(tools_.read(tools_.rewritten(tools)), choice, not only_one)
    # Beside a call that is demanded there need be no text.
    wanted = formats.parse(texts[0]) if choice == "auto" else None
    return NativeTurn(Spec(toolset, 0, wanted), shape.startswith("(K"))


def _name(node: Any) -> str:
    """Read the tool's name in the tag of a call, whose arguments are not looked at."""
    match node:
        case ("tag", str(header), ("sequence", [index, '"<|sep|>', _]), "<|close|>call<|sep|>"):
            found = _HEADER.fullmatch(header)
            if found is not None and index in _INDICES:
                return Escape.XML.read(found[1])
    raise UnlikeError


def _declared(vocabulary: Vocabulary, prompt_ids: Sequence[int]) -> Tools:
    """Return the tools that a prompt declares.

    Raises:
        InvalidTools: a declaration cannot be read.

    """
    found = Tools()
    opens, seps = vocabulary.control(OPEN), vocabulary.control(SEP)
    marks = [at for at, token in enumerate(prompt_ids) if token in vocabulary.control_ids]

    def text(begin: int, end: int) -> str:
        return vocabulary.decode(prompt_ids[begin + 1 : end]).decode(errors="replace")

    for begin, middle, end in zip(marks, marks[1:], marks[2:], strict=False):
        is_tag = prompt_ids[begin] == opens and prompt_ids[middle] == seps
        if is_tag and text(begin, middle) == _DECLARES:
            body = text(middle, end)
            listed = body[body.find(_FENCE) + len(_FENCE) : body.rfind(_FENCE_END)]
            try:
                found |= tools_.read(listed.encode())
            except InvalidTools as error:
                reason = f"the prompt's declaration of the tools cannot be read: {error}"
                raise InvalidTools(PATH, reason) from error
    return found
