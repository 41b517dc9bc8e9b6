"""Whether turns that were right are the same when they are constrained.

Owns: what a whole turn looks like in token ids, and comparing greedy turns id by id.
Must not know: the library's tables; what is wrong with a reply is `enforcer.tools.verify`'s
to say.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enforcer.judging.judge import judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from enforcer.judging.replies import ChatReply

# Kimi K2's markers, and a letter for each: a turn's layout is then a short word.
_MARKERS = {
    "<|tool_calls_section_begin|>": "S",
    "<|tool_call_begin|>": "B",
    "<|tool_call_argument_begin|>": "A",
    "<|tool_call_end|>": "E",
    "<|tool_calls_section_end|>": "Z",
    "<|im_end|>": "I",
    "<think>": "<",
    "</think>": ">",
}
# Text (`t`), then perhaps one section of calls, then the end of the turn.
_LAYOUT = re.compile(r"(<?t?>)?t?(?:S((?:BtAtE)+)Z)?I")


@dataclass(frozen=True, slots=True)
class Markers:
    """The ids of the format's markers in one model's vocabulary."""

    letters: Mapping[int, str]

    @classmethod
    def of_model(cls, folder: Path) -> Markers:
        """Read them from a model's `tokenizer.json`."""
        added = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
        known = {token["id"]: _MARKERS.get(token["content"], "?") for token in added}
        return cls(known)

    def well_formed(self, token_ids: Iterable[int], calls: int) -> bool:
        """Tell whether the generated ids are a whole turn with that many calls.

        Looks at what the model wrote, not at what the parser made of it: a parser may
        drop calls, and the turn was not right all the same.
        """
        letters = "".join(self.letters.get(token_id, "t") for token_id in token_ids)
        match = _LAYOUT.fullmatch(re.sub("t+", "t", letters))
        return match is not None and (match[2] or "").count("B") == calls


@dataclass(frozen=True, slots=True)
class Transparency:
    """Of the turns that were right without constraints, how many are the same with them."""

    valid: int
    identical: int


def compare(
    bodies: Sequence[Mapping[str, Any]],
    free: Sequence[ChatReply],
    constrained: Sequence[ChatReply],
    markers: Markers,
) -> Transparency:
    """Compare greedy turns, id by id.

    Two kinds of request are left out. A dialog with call ids of a foreign form: the Enforcer
    renames them before the prompt is rendered, so that the model reads something else there.
    And one that vLLM constrains by itself, at its default strict level too: it does so when
    a call is demanded or a tool is `strict`.

    Args:
        bodies: the requests, all of temperature 0.
        free: the replies of vLLM at its default strict level, in the order of `bodies`.
        constrained: another server's replies, in the same order.
        markers: the markers' ids in the model's vocabulary.

    """
    valid = [
        (one, other)
        for body, one, other in zip(bodies, free, constrained, strict=True)
        if not _is_renamed(body)
        and not _is_constrained(body)
        and not judge(body, one).findings
        and markers.well_formed(one.token_ids, len(one.calls))
    ]
    return Transparency(len(valid), sum(one.token_ids == other.token_ids for one, other in valid))


def _is_renamed(body: Mapping[str, Any]) -> bool:
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    return any(
        call["id"] != f"functions.{call['function']['name']}:{index}"
        for index, call in enumerate(calls)
    )


def _is_constrained(body: Mapping[str, Any]) -> bool:
    demanded = body.get("tool_choice") not in (None, "auto", "none")
    return demanded or any(tool["function"].get("strict") for tool in body.get("tools") or ())
