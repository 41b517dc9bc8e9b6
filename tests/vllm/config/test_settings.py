import inspect
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import ConfigurationError, brief
from enforcer.schema import Limits
from enforcer.vllm import patches
from enforcer.vllm.config import names, settings
from enforcer.vllm.observe import recording
from tests.support import cases

PAGE = Path(__file__).resolve().parents[3] / "docs" / "vllm" / "settings.md"
CASES = "vllm/config/cases/settings.toml"


# All that differ from their defaults, read at once.
CHANGED = {f"ENFORCER_{each['variable']}": each["word"] for each in cases.read(CASES, "read")}


def found(given: dict[str, str], attribute: str) -> Any:
    value = attrgetter(attribute)(settings.read(given))
    value = getattr(value, "value", value)
    return sorted(value) if isinstance(value, frozenset | tuple) else value


@pytest.mark.parametrize(
    ("attribute", "value", "default"), cases.params(CASES, "attribute, value, default", "read")
)
def test_values_are_read(attribute: str, value: Any, default: Any) -> None:
    assert found(CHANGED, attribute) == value
    assert found({}, attribute) == default


def test_limits_that_are_not_named_stay() -> None:
    assert settings.read(CHANGED).options.limits == Limits(depth=64, branches=500)


@pytest.mark.parametrize(
    ("variable", "word"),
    [*cases.params(CASES, "variable, word", "wrong"), ("MAX_CALLS", "9" * 5000)],
)
def test_a_wrong_value_names_its_variable(variable: str, word: str) -> None:
    name = f"ENFORCER_{variable}"
    with pytest.raises(ConfigurationError, match=name) as raised:
        settings.read({name: word})
    assert f"{name} is {brief(word)}, but must be " in str(raised.value)


def test_exceptions_from_what_is_off_do_nothing_and_are_an_error() -> None:
    excepted = {"ENFORCER_REQUIRE_EXCEPT": "completions"}
    for off in ({}, {"ENFORCER_REQUIRE": "off"}):
        with pytest.raises(ConfigurationError, match="ENFORCER_REQUIRE_EXCEPT lists"):
            settings.read(excepted | off)
    settings.read(excepted | {"ENFORCER_REQUIRE": "on"})


def test_what_enforces_nothing_cannot_require_enforcement() -> None:
    shadow = {"ENFORCER_SHADOW": "on"}
    assert settings.read(shadow).shadow
    with pytest.raises(ConfigurationError, match="ENFORCER_SHADOW=on enforces nothing"):
        settings.read(shadow | {"ENFORCER_REQUIRE": "on"})


@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_variable_is_not_set(value: str) -> None:
    assert settings.read(dict.fromkeys(settings.VARIABLES, value)) == settings.Settings()


@cases.parametrized(CASES, "misspelt")
def test_a_misspelt_name_is_an_error_that_names_the_nearest(variable: str, near: str) -> None:
    name = f"ENFORCER_{variable}"
    with pytest.raises(ConfigurationError, match=f"{name} is no setting.*{near}"):
        settings.read({name: "1"})


def test_variables_that_are_no_settings_are_let_through() -> None:
    assert recording.FOLDER_VARIABLE in settings.OTHERS
    settings.read({**dict.fromkeys(settings.OTHERS, "x"), "OTHER_VARIABLE": "y"})


@cases.parametrized(CASES, "kubernetes")
def test_what_kubernetes_says_of_a_service_of_our_name_is_no_setting(variable: str) -> None:
    assert settings.read({f"ENFORCER_{variable}": "tcp://10.0.0.1:80"}) == settings.read({})


# Each setting's part of the page: its name, its default, its other values and what it does.
_DESCRIBED = re.findall(
    r"^### `(\w+)`\n\nDefault: (`.+?`|empty)\. Other values(?:, with commas between)?: (.+)\.\n\n"
    r"(\w(?:.|\n(?!#))+)",
    PAGE.read_text(),
    re.MULTILINE,
)


def test_the_page_and_the_docstring_have_every_setting_in_order() -> None:
    headings = re.findall(r"^### `(.+)`$", PAGE.read_text(), re.MULTILINE)
    assert headings == [name for name, *_ in _DESCRIBED] == [*settings.VARIABLES]
    _, _, listed = inspect.getdoc(settings.Settings).partition("Attributes:\n")
    attributes = re.findall(r"^    (\w+): ", listed, re.MULTILINE)
    assert [f"{settings.PREFIX}{name.upper()}" for name in attributes] == headings


def _choices(name: str) -> set[str]:
    """Return the words that a setting can be, as its error lists them; none for other values."""
    try:
        settings.VARIABLES[name].metadata["read"]("?")
    except ValueError as error:
        words = str(error).removeprefix("some of ").removesuffix(", with commas between")
        found = re.split(r", | or ", words)
        return {*found} if all(re.fullmatch(r"[a-z-]+", word) for word in found) else set()
    return set()


@pytest.mark.parametrize(("name", "default", "values", "said"), _DESCRIBED, ids=lambda x: x[:30])
def test_the_page_has_all_the_values(name: str, default: str, values: str, said: str) -> None:
    own = settings.VARIABLES[name].metadata
    assert default == (f"`{own['default']}`" if own["default"] else "empty")
    others = re.findall(r"`([^`]+)`", values)
    for value in others:
        own["read"](value)
    if choices := _choices(name):
        assert {own["default"], *others} - {""} == choices
    assert re.search(r"\b(Set|Leave|Lower|Raise)\b", said), "it says when to change the setting"
    assert {*re.findall(r"ENFORCER_[A-Z_]+", said)} <= {*settings.VARIABLES}


def test_some_settings_have_choices() -> None:
    assert _choices("ENFORCER_ENGINE") == {"machine", "xgrammar", "outlines-core"}
    assert _choices("ENFORCER_REQUIRE_EXCEPT") == {"completions", "structured"}
    assert _choices("ENFORCER_MAX_CALLS") == _choices("ENFORCER_LIMITS") == set()


def test_flags_of_vllm_on_texts() -> None:
    flags = {names.TEXT_VARIABLE: f"{names.COMPACT_TEXT} {names.CLOSED_TEXT}"}
    chosen = settings.read(flags)
    assert (chosen.options.compact_text, chosen.options.closed_text) == (True, True)
    assert chosen.changed == {names.COMPACT_TEXT: "on", names.CLOSED_TEXT: "on"}
    with pytest.raises(ConfigurationError, match=f"cannot enforce {names.COMPACT_TEXT}"):
        settings.read({**flags, "ENFORCER_ENGINE": "xgrammar"})
    settings.read({names.TEXT_VARIABLE: names.CLOSED_TEXT, "ENFORCER_ENGINE": "xgrammar"})


def test_identical_calls_may_be_switched_off_and_other_engines_have_no_limit() -> None:
    name = "ENFORCER_IDENTICAL_CALLS"
    assert settings.read({}).options.identical_calls == 8
    assert settings.read({name: "off"}).options.identical_calls is None
    other = {"ENFORCER_ENGINE": "xgrammar"}
    assert settings.read(other).options.identical_calls is None
    settings.read({**other, name: "off"})
    with pytest.raises(ConfigurationError, match="xgrammar does not support ENFORCER_IDENTICAL"):
        settings.read({**other, name: "3"})


@pytest.mark.parametrize(
    "asked", [{"ENFORCER_FINISH_WITHIN_BUDGET": "on"}, {"ENFORCER_ALLOW_CLIENT": "finish"}]
)
def test_only_the_machine_finishes_within_a_budget(asked: dict[str, str]) -> None:
    settings.read(asked)
    with pytest.raises(ConfigurationError, match="does not support token budgets"):
        settings.read({**asked, "ENFORCER_ENGINE": "xgrammar"})


@cases.parametrized(CASES, "start")
def test_a_server_does_not_start_with_wrong_settings(
    monkeypatch: pytest.MonkeyPatch, variable: str, word: str, says: str
) -> None:
    monkeypatch.setenv(f"ENFORCER_{variable}", word)
    settings.current.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=says):
            patches.install()
    finally:
        settings.current.cache_clear()


@pytest.mark.parametrize(("text", "good"), [("1", True), ("9" * 12, True), ("1" * 13, False)])
def test_a_number_has_at_most_twelve_digits(text: str, good: bool) -> None:
    environment = {"ENFORCER_MAX_CALLS": text}
    if good:
        assert settings.read(environment).options.max_calls == int(text)
        return
    with pytest.raises(ConfigurationError, match="ENFORCER_MAX_CALLS"):
        settings.read(environment)
