"""A followed turn as lines for a terminal, as JSON for machines, and as one self-contained page.

The page's template, `page.html` beside this file, owns how it looks and behaves. Must not know:
how a turn is followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from enforcer.tools.explain.words import Expected, Explanation, shown

if TYPE_CHECKING:
    from enforcer.tools.explain.trace import Trace, TraceStep

_WIDEST = 30  # characters of a token
_INDENT = " " * 6
_TITLE, _DATA = "<!--title-->", "/*trace*/"


def lines(trace: Trace) -> Iterator[str]:
    """Return a line for each id, and beneath it what the mask took away."""
    tokens = [_cut(shown(step.own.token)) for step in trace.steps]
    places = [_place(step.own.expected) for step in trace.steps]
    wide = max(map(len, tokens), default=0)
    wide_place = max(map(len, places), default=0)
    for step, token, place in zip(trace.steps, tokens, places, strict=True):
        sign = "»" if step.is_draft else " " if step.own.legal else "✗"
        count = f"{step.own.expected.legal:,} of {step.vocabulary:,} legal"
        yield f"{step.at:4} {sign} {token:<{wide}}  {place:<{wide_place}}  {count}"
        yield from (_INDENT + line for line in _reasons(step))
    if trace.left:
        left = len(trace.left)
        after = "the token after it was" if left == 1 else f"the {left} tokens after it were"
        yield f"{_INDENT}{after} not followed"
    if trace.ended:
        yield "the turn has ended"
    elif trace.after is not None:
        yield f"next: {trace.after}"
    drafts = sum(step.is_draft for step in trace.steps)
    if drafts:
        bound = sum(step.is_draft or not step.is_free for step in trace.steps)
        yield f"» {drafts} of {bound} tokens outside of free text would have been draft tokens"
    changed = len(trace.changed)
    said = f"changed at {changed} of them" if changed else "nothing was taken away"
    if not any(step.top for step in trace.steps):
        said = "the last one is not legal" if changed else "all legal"
        if trace.steps and not changed:  # a model that was masked says no others
            said += "; without the model's scores nothing is known of what the mask took away"
    followed = len(trace.steps)
    yield f"{followed} token{'' if followed == 1 else 's'}: {said}"


def _reasons(step: TraceStep) -> Iterator[str]:
    """Return a line for each reason why tokens are illegal, and once what is expected instead."""
    found: dict[str, list[str]] = {}
    for rival, score in step.taken_away:
        token = shown(rival.token)
        reason = rival.reason.removeprefix(token).lstrip(": ")
        found.setdefault(reason, []).append(f"{token} ({score:.2f})")
    said = [] if step.own.legal else [f"not legal: {step.own.reason}"]
    said += [f"taken away: {', '.join(tokens)}: {reason}" for reason, tokens in found.items()]
    expected = f"expected {step.own.expected}"
    is_told = False
    for line in said:
        without = line.removesuffix(expected).rstrip(":, ")
        yield without if is_told else line
        is_told = is_told or line.endswith(expected)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 2] + "…`"


def _place(found: Expected) -> str:
    inside = f" {found.tool}" if found.tool else ""
    return f"{found.state}{inside}" + (f" {found.at}" if found.at else "")


def as_json(trace: Trace) -> dict[str, Any]:
    """Return the whole trace as JSON values."""
    return {
        "title": trace.title,
        "steps": [_step(step) for step in trace.steps],
        "left": list(trace.left),
        "after": None if trace.after is None else _expected(trace.after),
        "changed": [step.at for step in trace.changed],
    }


def _step(step: TraceStep) -> dict[str, Any]:
    return _token(step.own) | {
        "at": step.at,
        "marker": step.is_marker,
        "vocabulary": step.vocabulary,
        "free": step.is_free,
        "draft": step.is_draft,
        "expected": _expected(step.own.expected),
        "top": [_token(rival) | {"score": score} for rival, score in step.top],
        "taken_away": [rival.token_id for rival, _ in step.taken_away],
    }


def _token(found: Explanation) -> dict[str, Any]:
    reason = "" if found.legal else found.reason
    return {"id": found.token_id, "token": found.token, "legal": found.legal, "reason": reason}


def _expected(found: Expected) -> dict[str, Any]:
    values = asdict(found)
    values["path"] = values.pop("at")
    return values


def page(trace: Trace) -> str:
    """Write the page; it loads nothing, from nowhere."""
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    # Within a script element only `<` could end it or begin another.
    data = json.dumps(as_json(trace), ensure_ascii=False).replace("<", "\\u003c")
    # Each part separately, for a title may look like the other placeholder.
    head, _, rest = template.partition(_TITLE)
    middle, _, tail = rest.partition(_DATA)
    return head + escape(trace.title) + middle + data + tail
