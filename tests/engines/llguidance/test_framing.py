"""What stands around values: terminals, of which none is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.llguidance import framing
from enforcer.layouts.texts import OPTIONAL_SPACE
from enforcer.regex import both, fullmatch, inverse, literal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, concat, repeat
from enforcer.regex.syntax import Intersection
from enforcer.schema import Root, compile_schema
from tests.laid_out import bound, engine
from tests.languages import languages, texts

if TYPE_CHECKING:
    from enforcer.regex import Regex


@given(
    space=st.sampled_from(["", " ", "\n ", "x"]),
    name=st.text("ab <", max_size=3),
    end=st.sampled_from([">", ""]),
)
def test_joined_texts_are_the_language_that_they_are_in_sequence(
    space: str, name: str, end: str
) -> None:
    """Also where names are left out behind white space that may be there."""
    names = both(repeat(chars(CharSet.span("<", "az", " ")), 1, None), inverse(literal("a")))
    run = (OPTIONAL_SPACE, literal("<p="), names, literal(">"))
    joined = framing._joined(run)
    assert isinstance(joined, Intersection), "an engine follows it faster"
    text = f"{space}<p={name}{end}"
    assert fullmatch(joined, text) == fullmatch(concat(*run), text)
    bare = framing._joined((OPTIONAL_SPACE, names))
    assert fullmatch(bare, space + name) == fullmatch(concat(OPTIONAL_SPACE, names), space + name)


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
