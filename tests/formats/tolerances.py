"""Texts that stock vLLM reads as right though no chat template writes them so.

Owns: the texts of `cases/tolerances.toml`, and what stock makes of each. Must not know: dialects.

Every text is the call `w(a="b")` unless another is given, and is read so when it is not
streamed; the test of that is `test_tolerances.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from bench.formats.catalogue import FORMATS
from bench.formats.writers import Call
from tests.support import cases


@dataclass(frozen=True, slots=True)
class Text:
    """A turn as a text, and how stock reads it.

    Attributes:
        what: the liberty that it takes.
        text: markers are spelled, and stand for their tokens.
        calls: a JSON list of names and arguments.
        streams: whether stock reads it so when it is streamed, too.
        otherwise: the reason why we read no call of it.
        refused: the reason why no dialect of ours permits it.

    """

    what: str
    text: str
    calls: str = '[["w", {"a": "b"}]]'
    content: str = ""
    streams: bool = True
    otherwise: str = ""
    refused: str = ""

    @property
    def meant(self) -> list[Call]:
        """The calls that stock reads."""
        return [Call(*each) for each in json.loads(self.calls)]


def _read() -> dict[str, tuple[Text, ...]]:
    found = cases.load("formats/cases/tolerances.toml")
    python = found.pop("python")
    for name in ("pythonic", "llama4_pythonic"):
        ended = [{**each, "text": each["text"] + FORMATS[name].end} for each in python]
        found[name] = [*ended, *found.pop(name, ())]
    return {name: tuple(Text(**each) for each in texts) for name, texts in found.items()}


TEXTS: Mapping[str, tuple[Text, ...]] = _read()
