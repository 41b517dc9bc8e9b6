from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest

from enforcer.errors import ConfigurationError
from enforcer.request.options import Options, OptionWords
from enforcer.schema import Conventions, Formats, Integers, Limits, OnUnsupported
from tests.support.cases import each_case

OTHER = Options(
    OnUnsupported.RELAX,
    Limits(depth=9, enum=1),
    Conventions(Formats.STANDARD, closed_objects=True, integers=Integers.DIGITS),
    max_calls=2,
    identical_calls=5,
    preamble_ids=0,
    finish_within_budget=True,
    allow_empty_turns=True,
    compact_text=True,
    closed_text=True,
    plain_spelling=True,
    second_space=True,
)


EMPTY: list[Any] = []


def test_each_field_has_a_word_by_which_it_is_changed() -> None:
    given = {each.name: getattr(OTHER, each.name) for each in fields(Options)}
    conventions = given.pop("conventions")
    given |= {each.name: getattr(conventions, each.name) for each in fields(Conventions)}
    assert given.keys() == OptionWords.__annotations__.keys()
    assert Options().changed(**given) == OTHER
    for name, value in given.items():
        changed = Options().changed(**{name: value})
        assert changed.changed(**given) == OTHER != changed != Options()


def test_what_is_not_changed_stays() -> None:
    changed = OTHER.changed(integers="value", on_unsupported="isolate", max_calls=3)
    assert changed.conventions == replace(OTHER.conventions, integers=Integers.VALUE)
    conventions = replace(OTHER.conventions, integers=Integers.VALUE)
    isolate = OnUnsupported.ISOLATE
    assert changed == replace(OTHER, conventions=conventions, on_unsupported=isolate, max_calls=3)


@pytest.mark.parametrize("words", [{"closed_objects": "on"}, {"integers": 1}, {"max_calls": 0}])
def test_a_word_is_checked(words: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(words))):
        Options().changed(**words)


def test_a_word_that_names_no_field_is_an_error() -> None:
    with pytest.raises(TypeError, match="closed_object'"):
        Options().changed(closed_object=True)  # type: ignore[call-arg]


def test_every_option_differs_from_its_default_in_the_other() -> None:
    assert all(getattr(OTHER, f.name) != getattr(Options(), f.name) for f in fields(Options))


@pytest.mark.parametrize("options", [Options(), OTHER])
def test_options_come_back_from_json_as_they_were(options: Options) -> None:
    assert msgspec.json.decode(msgspec.json.encode(options), type=Options) == options
    assert msgspec.convert(msgspec.to_builtins(options), Options) == options


@each_case
def test_others_are_refused(value: dict[str, Any]) -> None:
    with pytest.raises((msgspec.ValidationError, ConfigurationError)):
        msgspec.convert(value, Options)


@pytest.mark.parametrize("each", OnUnsupported)
def test_what_to_do_with_a_schema_may_be_given_as_a_word(each: OnUnsupported) -> None:
    assert Options(on_unsupported=each.value) == Options(each)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["ignore", None, EMPTY])
def test_another_word_is_refused_at_once(word: Any) -> None:
    with pytest.raises(ConfigurationError, match="'refuse', 'relax', 'isolate'"):
        Options(on_unsupported=word)


@pytest.mark.parametrize(("name", "least"), [("max_calls", 1), ("preamble_ids", 0)])
def test_a_number_out_of_range_is_refused_at_once(name: str, least: int) -> None:
    wrongs: list[Any] = [least - 1, True, 1.5, "3", 10**13]
    good: Any = {name: least}
    assert getattr(Options(**good), name) == least
    for wrong in wrongs:
        given: Any = {name: wrong}
        with pytest.raises(ConfigurationError, match=f"{name} is .* from {least} to"):
            Options(**given)


@pytest.mark.parametrize("name", ["finish_within_budget", "allow_empty_turns"])
@pytest.mark.parametrize("wrong", ["off", "no", "", None, 0, 1])
def test_a_word_is_not_taken_for_a_truth(name: str, wrong: object) -> None:
    given: Any = {name: wrong}
    with pytest.raises(ConfigurationError, match=f"{name} is .* must be True or False"):
        Options(**given)


@pytest.mark.parametrize(("name", "kind"), [("limits", "Limits"), ("conventions", "Conventions")])
@pytest.mark.parametrize("wrong", [{}, {"depth": 1}, None, 5, "x"])
def test_settings_of_the_compiler_are_of_their_type(name: str, kind: str, wrong: object) -> None:
    given: Any = {name: wrong}
    with pytest.raises(ConfigurationError, match=rf"{name} is .* `enforcer.{kind}\(...\)`"):
        Options(**given)


def test_how_much_text_may_come_before_a_call_is_for_the_format_to_say() -> None:
    assert Options().preamble_ids is None
