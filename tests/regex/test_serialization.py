from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from enforcer.regex import ANY, NOTHING, format_regex, length, serialization
from enforcer.regex.formats import FORMATS
from tests.languages import languages

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


def travelled(language: Regex) -> Regex:
    return serialization.from_json(json.loads(json.dumps(serialization.to_json(language))))


@given(languages)
def test_a_language_comes_back_as_it_was(language: Regex) -> None:
    assert travelled(language) == language


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_formats_come_back_as_they_were(name: str) -> None:
    assert travelled(format_regex(name)) == format_regex(name)


@pytest.mark.parametrize("language", [ANY, NOTHING, length(0, 0), length(3, None)])
def test_the_least_and_the_largest_come_back(language: Regex) -> None:
    assert travelled(language) == language
