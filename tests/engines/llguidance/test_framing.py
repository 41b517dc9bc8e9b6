"""What stands around values: terminals, of which none is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from enforcer.engines.llguidance import framing
from enforcer.regex import fullmatch
from enforcer.schema import Root, compile_schema
from tests.laid_out import bound, engine
from tests.languages import languages, texts

if TYPE_CHECKING:
    from enforcer.regex import Regex


@pytest.mark.parametrize("states", [0, framing._STATES])
@given(language=languages, text=texts(max_size=4))
def test_a_language_without_its_empty_text_has_all_others(
    states: int, language: Regex, text: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "_STATES", states)
        some = framing._some(language)
    assert not fullmatch(some, "")
    assert fullmatch(some, text) == (text != "" and fullmatch(language, text))


# The first took 26 seconds, as the automaton of its language has no end; the second was written
# out, a hundred times over, and refused by llguidance's reader.
@pytest.mark.parametrize(
    "value",
    [{"format": "regex"}, {"pattern": r"^$|(^(?:\S+\s+){0,199}\S+$)"}],
    ids=["format", "words"],
)
@pytest.mark.parametrize("name", ["kimi_k3", "glm45"])
def test_a_string_that_may_be_empty_is_held_however_large_its_language_is(
    name: str, value: dict[str, Any]
) -> None:
    schema = {"properties": {"a": {"type": "string", **value}}}
    engine().check(compile_schema(schema, root=Root.OBJECT), bound(name))
