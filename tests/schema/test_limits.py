"""What is no setting is refused at once; the bounds themselves are tested where they are kept."""

from dataclasses import fields
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.schema import Conventions, Formats, Integers, Limits

EMPTY: list[Any] = []


@pytest.mark.parametrize("formats", Formats)
@pytest.mark.parametrize("integers", Integers)
def test_words_will_do(formats: Formats, integers: Integers) -> None:
    words: Any = {"formats": formats.value, "integers": integers.value}
    assert Conventions(**words) == Conventions(formats, integers=integers)
    assert Conventions(**words).integers is integers


@pytest.mark.parametrize(
    ("name", "words"), [("formats", "'enforce', 'standard'"), ("integers", "'value', 'digits'")]
)
@pytest.mark.parametrize("wrong", ["off", "ENFORCE", None, True, 1, EMPTY])
def test_other_words_are_refused(name: str, words: str, wrong: object) -> None:
    given: Any = {name: wrong}
    with pytest.raises(ConfigurationError, match=f"^{name} is .*{words}$"):
        Conventions(**given)


@pytest.mark.parametrize("wrong", ["off", "", None, 0, 1, EMPTY])
def test_objects_are_closed_or_not(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="True or False"):
        Conventions(closed_objects=wrong)


@pytest.mark.parametrize("limit", [limit.name for limit in fields(Limits)])
def test_a_limit_is_a_whole_number(limit: str) -> None:
    good: Any = {limit: 1}
    assert getattr(Limits(**good), limit) == 1
    for wrong in ("x", "5", 0, -1, 1.5, True, None, 10**13):
        given: Any = {limit: wrong}
        with pytest.raises(ConfigurationError, match=f"{limit} is .* whole number from 1 to"):
            Limits(**given)
