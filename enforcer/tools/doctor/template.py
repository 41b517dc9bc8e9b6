"""Checks of a chat template, by rendering small dialogs with it.

The three failures that made Kimi K2 unusable on early servers were all in how the prompt
was built: no assistant header at its end, texts rendered as Python lists, call ids of
another form. Each of them is looked for here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enforcer.tools.doctor import CheckResult, bad, ok
from enforcer.tools.explain.trace import read_spelled, split_markers
from enforcer.turn.dialect import Dialect, Ids
from enforcer.turn.pattern import plain
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    Render = Callable[..., str]

_TEXTS = {"system": "Text of Sam.", "user": "Text of Una.", "assistant": "Text of Ann."}
_RESULT = "Text of Tom."
_ANY_ID = "abcdefgh1"  # some templates demand nine letters and digits, others nothing
_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
_HEADER = "the prompt's end"
_TAIL = 80  # last characters of the prompt that are shown
_STRINGS = "texts in the prompt"
_CALLS = "calls in the prompt"


def checks(render: Render, dialect: Dialect) -> Iterator[CheckResult]:
    """Check a template against the dialect of its model.

    Args:
        render: `render(messages, *, tools, generate)` returns the prompt; `generate` asks for the
            header of the turn to be generated. It raises whatever the template raises.
        dialect: the model's.

    """
    for check, name in ((_header, _HEADER), (_strings, _STRINGS), (_calls, _CALLS)):
        try:
            yield check(render, dialect)
        except Exception as error:  # noqa: BLE001 - a template is foreign code
            yield bad(name, f"the template fails: {error!r}", "use the template of the model")


def _header(render: Render, dialect: Dialect) -> CheckResult:
    if not dialect.turn.begin:
        return ok(_HEADER, "text alone, which is not looked at")
    dialog = [{"role": "user", "content": _TEXTS["user"]}]
    closed = render(dialog, tools=None, generate=False)
    prompt = render(dialog, tools=None, generate=True)
    added = prompt.removeprefix(closed) if prompt.startswith(closed) else ""
    vocabulary = Vocabulary.of_bytes(dialect.controls)
    state, begun = Table(dialect, vocabulary).opened(read_spelled(vocabulary, prompt))
    opened = state == dialect.turn_state and any(each in prompt for each in dialect.turn.begin)
    # Markers that begin no call may follow, such as reasoning markers, and white space.
    markers = [
        plain(each)
        for name in dialect.speaking
        for role, transition in dialect.states[name].on.items()
        for each in (dialect.markers[role] if transition.to in dialect.speaking else ())
    ]
    parts = split_markers(vocabulary.decode(begun).decode(), markers)
    if opened and not any(part.strip() for is_marker, part in parts if not is_marker):
        return ok(_HEADER, added or prompt[-_TAIL:])
    turn = dialect.turn
    header = f"{turn.begin[0]}{turn.role or ''}{turn.end or ''}"
    return bad(
        _HEADER,
        f"{(added or prompt[-_TAIL:])!r} is not the header of the assistant's turn, {header!r} for "
        "example: the model does not know that it is to answer",
        "let the template write it where `add_generation_prompt` is set, or serve with "
        "--chat-template FILE",
    )


def _strings(render: Render, _: Dialect) -> CheckResult:
    dialog = [{"role": role, "content": text} for role, text in _TEXTS.items()]
    full = render(dialog, tools=None, generate=True)
    lost = [role for role, text in _TEXTS.items() if full.count(text) != 1]
    empty = [{"role": role, "content": ""} for role in _TEXTS]
    wrapped = [mark for mark in ("'type'", '"type"', "[{", "None") if mark in
               full + render(empty, tools=None, generate=True)]  # fmt: skip
    mend = (
        "render a string as it is: {% if content is string %}{{ content }}{% else %}…"
        "{% endif %}, or serve with --chat-template-content-format string"
    )
    if lost:
        return bad(_STRINGS, f"the text of {', '.join(lost)} is not there once", mend)
    if wrapped:
        return bad(_STRINGS, f"a string is rendered as a structure ({wrapped[0]})", mend)
    return ok(_STRINGS, "strings are rendered as strings, empty ones as nothing")


def _calls(render: Render, dialect: Dialect) -> CheckResult:
    written = dialect.ids is Ids.WRITTEN
    header = dialect.header_text("look_up", 1 if dialect.ids is Ids.MESSAGE else 0)
    call_id = header if written else _ANY_ID
    # Arguments as vLLM gives them to a template.
    function = {"name": "look_up", "arguments": {"word": "Oslo"}}
    call = {"id": call_id, "type": "function", "function": function}
    # vLLM's renderer finds out `tool` and `index`, where a template asks for them.
    result: dict[str, Any] = {"role": "tool", "tool_call_id": call_id, "content": _RESULT}
    result |= {"name": "look_up", "tool": "look_up", "index": 1}
    dialog: list[dict[str, Any]] = [
        {"role": "user", "content": _TEXTS["user"]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        result,
    ]
    prompt = render(dialog, tools=[_TOOL], generate=True)
    if written:
        begin, behind = (dialect.markers[role][0] for role in ("call_begin", "arguments_begin"))
        header = f"{begin}{header}{behind}"
    if re.sub(r"\s", "", header) not in re.sub(r"\s", "", prompt):
        return bad(
            _CALLS,
            f"a call of the history does not read {header}",
            "render the id that the message carries, between these markers"
            if written
            else "render calls as the model writes them",
        )
    missing = [what for what in ("Looks up.", "Oslo", _RESULT) if what not in prompt]
    if missing:
        return bad(_CALLS, f"{missing[0]!r} is not in the prompt", "use the template of the model")
    return ok(_CALLS, "declarations, calls and results are there, as the model writes them")


def checks_of(tokenizer: Any, given: Path | str | None, dialect: Dialect) -> Iterator[CheckResult]:
    """Check the chat template: one that is given, the tokenizer's own, or code in its place.

    Args:
        tokenizer: renders.
        given: a file, or the text of a template, in place of the tokenizer's own.
        dialect: the model's.

    """
    if not hasattr(tokenizer, "get_chat_template"):
        # mistral-common's, as vLLM wraps them: from messages to ids, with no text between.
        yield ok("chat template", f"a {type(tokenizer).__name__} has none, and renders by itself")
        return

    def render(messages: list[dict[str, Any]], *, tools: list[Any] | None, generate: bool) -> str:
        made = tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=generate, tokenize=False, **source
        )
        return str(made)

    try:
        text = given if isinstance(given, str | None) else given.read_text(encoding="utf-8")
        source = {} if text is None else {"chat_template": text}
        render([{"role": "user", "content": _TEXTS["user"]}], tools=None, generate=True)
    except Exception as error:  # noqa: BLE001 - there is none, or it is foreign code
        mend = "serve with --chat-template FILE, the template of the model"
        yield bad("chat template", f"it renders nothing: {error!r}", mend)
        return
    yield from checks(render, dialect)
