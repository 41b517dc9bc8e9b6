"""Arguments that are not laid out as JSON, read as the beginning of JSON.

Owns: what every such layout has in common: where a text stands, what has been decoded, asking the
engine in the layout's spelling. Must not know: what values are spelled as, turns, ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.explain.places import VALUE, Spot, spot
from enforcer.explain.words import Option, quoted, spelled
from enforcer.layouts import Decoder, Trim, Types
from enforcer.layouts.declared import ONLY_STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from enforcer.layouts import BoundLayout


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A layout and what it takes from a tool's schema.

    Attributes:
        layout: bound to the vocabulary.
        types: the declared types of properties; others are strings.
        name_of: spells a control token.

    """

    layout: BoundLayout
    types: Mapping[str, frozenset[str]]
    name_of: Callable[[int], bytes]

    def show(self, symbols: Iterable[int]) -> str:
        """Write symbols as text, special tokens by their names."""
        return spelled(symbols, self.name_of)


class View:
    """One place in one text of a layout: what `Pairs` and `PythonArguments` have in common."""

    def __init__(
        self,
        given: LaidOut,
        symbols: Sequence[int],
        can: Callable[[Sequence[int]], bool],
    ) -> None:
        self._given = given
        self._layout = given.layout
        self._symbols = symbols
        self._engine = can
        self.spot: Spot = spot(given.layout, symbols)
        self.key = self._read_key(self.spot.key)
        self._types = (
            frozenset({self.spot.type})
            if given.layout.layout.types is Types.WRITTEN
            else given.types.get(self.key, ONLY_STRING)
        )

    def _decoded(self, end: int) -> str:
        schema = {"properties": {key: {"type": sorted(x)} for key, x in self._given.types.items()}}
        found = Decoder(self._layout, schema).feed(self._symbols[:end])
        return found.removesuffix(", ")

    def _within(self, before: str) -> bytes:
        """Begin the value of the key at hand, behind the pairs that have been decoded."""
        return (before + ("," if before else "{") + f"{quoted(self.key)}:").encode()

    def untrimmed(self, text: bytes) -> bytes:
        """Give a value without what is not part of it."""
        trims = self._layout.layout.trim is Trim.NEWLINE
        return text.removeprefix(b"\n").removesuffix(b"\n") if trims else text

    def _read_key(self, data: bytes) -> str:
        return self._layout.layout.key.read(data.decode("utf-8", "replace"))

    def unknown(self) -> Iterator[Option]:
        """Say what little is known of a value that nothing else is known of."""
        if self.spot.field == VALUE:
            # It cannot end, or that would be known, and no text is let through that cannot.
            yield Option(f"more of {self._subject}")

    @property
    def _subject(self) -> str:
        return f"the value of {quoted(self.key)}"


def begun(text: str) -> bytes:
    """Write the beginning of a JSON string; nothing for an empty one that has no quote yet."""
    return json.dumps(text, ensure_ascii=False)[:-1].encode()


def as_string(data: bytes) -> str | None:
    """Read a JSON string; None if it is none."""
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, str) else None
