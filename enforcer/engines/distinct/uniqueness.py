"""What has to be distinct in the texts of a grammar, as JSON that another process reads.

Owns: writing and reading the tracks of a finished grammar (`enforcer.schema.finishing.tracks`) and
the shapes of the elements that must differ. Must not know: how texts are followed, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enforcer.engines.distinct import grammar_as_json
from enforcer.engines.distinct.completions import Completions, Many
from enforcer.engines.distinct.fuel import unlimited
from enforcer.engines.distinct.shapes import ElementShapes
from enforcer.schema.finishing.distinct import is_remembered, reached
from enforcer.schema.finishing.tracks import Track, tracks
from enforcer.schema.finishing.ways import Leads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.engines.distinct.values import Json
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, Value, ValueId


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Where a text has arrays that must be kept distinct, and what their elements are.

    Attributes:
        tracks: as `finishing.tracks.tracks` gives them.
        definitions: the values of the elements, and all that are part of these.
        bare: for each of them, the language of what is written without quotes.
        states: how many states the automata of these languages have together.

    """

    tracks: tuple[Track, ...]
    definitions: Mapping[ValueId, Value]
    bare: Mapping[ValueId, Regex]
    states: int

    @property
    def elements(self) -> frozenset[ValueId]:
        """The values of all elements."""
        return frozenset(track.element for track in self.tracks if track.element is not None)


def written(grammar: ArgumentGrammar) -> list[Any]:
    """Give what a grammar needs as JSON's values; an empty list if nothing has to be distinct."""
    found = tracks(grammar.definitions, grammar.root)
    if not found:
        return []
    elements = [track.element for track in found if track.element is not None]
    every = {each: None for x in elements for each in reached(grammar.definitions, x)}
    listed = [
        [
            track.element,
            track.leads.to_json(),
        ]
        for track in found
    ]
    return [listed, grammar_as_json.written(grammar.definitions, every)]


def too_few(grammar: ArgumentGrammar) -> list[ArrayShape]:
    """List unique arrays that need more elements than there are values."""
    kept = [x for value in grammar.definitions.values() for x in value.arrays if is_remembered(x)]
    ends = Completions(ElementShapes(grammar.definitions), unlimited())
    found = []
    for array in kept:
        if array.minimum > 1:
            members: set[Json | Many] = set()
            for member in ends.members(array.rest):
                members.add(member)
                if isinstance(member, Many) or len(members) >= array.minimum:
                    break
            else:
                found.append(array)
    return found


def read(found: list[Any]) -> Uniqueness:
    """Read what `written` has given."""
    listed, values = found
    states = sum(map(len, values[1]))
    return Uniqueness(
        tuple(
            Track(
                element,
                Leads.from_json(leads),
            )
            for element, leads in listed
        ),
        *grammar_as_json.read(values),
        states,
    )
