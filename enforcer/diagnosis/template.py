"""Checks of a chat template, by rendering small dialogs with it.

Owns: what a template must do for the model to answer at all, and the remedies. Must not
know: where the template comes from, or who renders it.

The three failures that made Kimi K2 unusable on early servers were all in how the prompt
was built: no assistant header at its end, texts rendered as Python lists, call ids of
another form. Each of them is looked for here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from enforcer.diagnosis import Check, bad, ok

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from enforcer.turn.dialect import Dialect

_TEXTS = {"system": "Text of Sam.", "user": "Text of Una.", "assistant": "Text of Ann."}
_RESULT = "Text of Tom."
_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
_HEADER = "the prompt's end"
_STRINGS = "texts in the prompt"
_CALLS = "calls in the prompt"


class Render(Protocol):
    """Renders a dialog."""

    def __call__(
        self, messages: list[dict[str, Any]], *, tools: list[Any] | None, generate: bool
    ) -> str:
        """Return the prompt; `generate` asks for the header of the turn to be generated.

        Raises whatever the template raises.
        """
        ...


def checks(render: Render, dialect: Dialect) -> Iterator[Check]:
    """Check a template against the dialect of its model."""
    for check, name in ((_header, _HEADER), (_strings, _STRINGS), (_calls, _CALLS)):
        try:
            yield check(render, dialect)
        except Exception as error:  # noqa: BLE001 - a template is foreign code
            yield bad(name, f"the template fails: {error!r}", "use the template of the model")


def _header(render: Render, dialect: Dialect) -> Check:
    dialog = [{"role": "user", "content": _TEXTS["user"]}]
    closed = render(dialog, tools=None, generate=False)
    prompt = render(dialog, tools=None, generate=True)
    begin, end = dialect.turn_begin, dialect.turn_end
    opened, thought = (
        "|".join(map(re.escape, dialect.markers.get(role, ()))) or "(?!)"
        for role in ("think_begin", "think_end")
    )
    header = rf"{re.escape(begin)}\w+{re.escape(end)}(?:(?:{opened})\s*(?:{thought})?\s*)?"
    tail = prompt.removeprefix(closed) if prompt.startswith(closed) else prompt[-80:]
    if re.fullmatch(header, tail):
        return ok(_HEADER, tail)
    return bad(
        _HEADER,
        f"{tail!r} is not the header of the assistant's turn: the model does not know that "
        "it is to answer",
        f"end the template with {{% if add_generation_prompt %}}{begin}assistant{end}"
        "{% endif %}, or serve with --chat-template FILE",
    )


def _strings(render: Render, _: Dialect) -> Check:
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


def _calls(render: Render, dialect: Dialect) -> Check:
    header = dialect.header_text("look_up", 0)
    function = {"name": "look_up", "arguments": '{"word": "Oslo"}'}
    call = {"id": header, "type": "function", "function": function}
    dialog: list[dict[str, Any]] = [
        {"role": "user", "content": _TEXTS["user"]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": header, "name": "look_up", "content": _RESULT},
    ]
    prompt = render(dialog, tools=[_TOOL], generate=True)
    begin = dialect.markers["call_begin"][0]
    between = dialect.markers["arguments_begin"][0]
    if f"{begin}{header}{between}" not in re.sub(r"\s", "", prompt):
        return bad(
            _CALLS,
            f"a call of the history does not read {begin}{header}{between}",
            "render the id that the message carries, between these markers",
        )
    missing = [what for what in ("Looks up.", "Oslo", _RESULT) if what not in prompt]
    if missing:
        return bad(_CALLS, f"{missing[0]!r} is not in the prompt", "use the template of the model")
    return ok(_CALLS, "declarations, calls and results are there, ids as the model writes them")


def checks_of(tokenizer: Any, file: Path | None, dialect: Dialect) -> Iterator[Check]:
    """Check the chat template: the file's, or the tokenizer's own."""
    try:
        source = file.read_text(encoding="utf-8") if file else tokenizer.get_chat_template()
    except (OSError, ValueError) as error:
        mend = "serve with --chat-template FILE, the template of the model"
        yield bad("chat template", f"there is none: {error}", mend)
        return

    def render(messages: list[dict[str, Any]], *, tools: list[Any] | None, generate: bool) -> str:
        return str(
            tokenizer.apply_chat_template(
                messages,
                tools=tools,
                chat_template=source,
                add_generation_prompt=generate,
                tokenize=False,
            )
        )

    yield from checks(render, dialect)
