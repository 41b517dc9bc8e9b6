"""What a user says to have a tool called, and the call that a model makes of it.

Owns: the filling of wordings with values, and the flaws that a wording provokes.
Must not know: dialogues, ids, which tools are declared.

A flaw always has its cause in the words ("for two guests" becomes `"two"` where an
integer stands), so that the model breaks schemas under greedy decoding too.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.demo.tiny_model.catalogue import SLOT, Schema, Tool
from bench.demo.tiny_model.words import ASIDES, NUMBER_WORDS, STRAYS, VALUES

if TYPE_CHECKING:
    from random import Random


class Flaw(enum.Enum):
    """How a wording leads a careless model away from the schema."""

    GAP = "a required property is not mentioned"
    STRAY = "a value outside the enum is asked for"
    WORD = "a number is written as a word"
    ASIDE = "something is added that no property stands for"


@dataclass(frozen=True, slots=True)
class Ask:
    """A wish in words (without a frame), and the call that follows it to the letter."""

    tool: Tool
    text: str
    aside: str
    arguments: dict[str, Any]

    @property
    def spelled(self) -> str:
        """The arguments as JSON text; each tool has its own habit of spacing."""
        return spell(self.tool.name, self.arguments)


def spell(name: str, arguments: dict[str, Any]) -> str:
    """Write arguments as JSON: every third tool compactly, the others in Python's way."""
    compact = sum(name.encode()) % 3 == 0
    separators = (",", ":") if compact else (", ", ": ")
    return json.dumps(arguments, ensure_ascii=False, separators=separators)


def ask(rng: Random, tool: Tool, flaw: Flaw | None = None) -> Ask:
    """Draw a wish for a tool; a flaw that this tool has no room for is left out."""
    wordings = [w for w in tool.wordings if tool.gaps(w) == (flaw is Flaw.GAP)]
    if flaw is Flaw.STRAY:
        wordings = [w for w in wordings if _slots(tool, w, "enum", STRAYS)] or wordings
    if flaw is Flaw.WORD:
        wordings = [w for w in wordings if _slots(tool, w, "integer")] or wordings
    wording = rng.choice(wordings or [w for w in tool.wordings if not tool.gaps(w)])
    arguments: dict[str, Any] = {}
    text = wording
    for path in SLOT.findall(wording):
        value, spoken = draw(rng, path.rsplit(".", 1)[-1], tool.at(path), flaw)
        text = text.replace("{" + path + "}", spoken, 1)
        _put(arguments, path, value)
    aside = ""
    if flaw is Flaw.ASIDE:
        aside, key, extra = rng.choice(ASIDES)
        arguments[key] = extra
    return Ask(tool, text, aside, arguments)


def draw(rng: Random, key: str, schema: Schema, flaw: Flaw | None = None) -> tuple[Any, str]:
    """Draw a value for a property, and how it is said."""
    value: Any
    if "enum" in schema:
        stray = flaw is Flaw.STRAY and key in STRAYS
        value = rng.choice(STRAYS[key] if stray else schema["enum"])
        return value, value
    kind = schema.get("type", "string")
    if kind == "integer":
        value = rng.randint(schema["minimum"], schema["maximum"])
        if flaw is Flaw.WORD:
            value = NUMBER_WORDS[max(1, value % len(NUMBER_WORDS))]
        return value, str(value)
    if kind == "number":
        value = rng.choice((5, 12.5, 80, 99.9))
        return value, str(value)
    if kind == "boolean":
        value = rng.random() < 0.5
        return value, str(value).lower()
    if kind == "array":
        drawn = [draw(rng, key, schema["items"], flaw) for _ in range(rng.randint(1, 2))]
        return [value for value, _ in drawn], " and ".join(spoken for _, spoken in drawn)
    if kind == "object":
        parts = {k: draw(rng, k, s, flaw) for k, s in schema["properties"].items()}
        said = [spoken for _, spoken in parts.values()]
        return {k: value for k, (value, _) in parts.items()}, " ".join(reversed(said))
    value = rng.choice(VALUES[key])
    return value, value


def slipped(rng: Random, asked: Ask) -> Ask:
    """Spoil the arguments of a call without any cause in the words."""
    arguments = {**asked.arguments}
    key = rng.choice(list(arguments) or [""])
    value = arguments.pop(key, None)
    if isinstance(value, (int, float)):
        arguments[key] = str(value)
    elif value is not None and not arguments:
        arguments[key] = [value]
    return replace(asked, arguments=arguments)


def unasked(rng: Random, tool: Tool) -> dict[str, Any]:
    """Draw valid arguments that nobody asked for: what is required, and a little more."""
    required = tool.parameters.get("required", ())
    return {
        key: draw(rng, key, schema)[0]
        for key, schema in tool.parameters["properties"].items()
        if key in required or rng.random() < 0.2
    }


def _slots(tool: Tool, wording: str, kind: str, known: Any = None) -> bool:
    return any(
        (kind in tool.at(path) or tool.at(path).get("type") == kind)
        and (known is None or path in known)
        for path in SLOT.findall(wording)
    )


def _put(target: dict[str, Any], path: str, value: Any) -> None:
    *parents, leaf = path.split(".")
    for key in parents:
        target = target.setdefault(key, {})
    target[leaf] = value
