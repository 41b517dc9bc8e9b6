from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from enforcer.errors import ConfigurationError, brief
from enforcer.schema import Conventions, Formats, Integers, Limits, OnUnsupported
from enforcer.vllm import patches
from enforcer.vllm.config import names, settings
from enforcer.vllm.observe import recording

PAGE = Path(__file__).resolve().parents[3] / "docs" / "vllm" / "settings.md"


def test_defaults() -> None:
    chosen = settings.read({})
    assert chosen.options.on_unsupported is OnUnsupported.REFUSE
    assert chosen.options.max_calls == 128
    assert chosen.allow_client == frozenset()
    assert not chosen.options.finish_within_budget
    assert chosen.options.conventions == Conventions(closed_objects=True, integers=Integers.DIGITS)
    assert chosen.options.plain_spelling
    assert chosen.options.second_space
    assert chosen.options.preamble_ids is None
    assert not chosen.options.allow_empty_turns
    assert not chosen.require
    assert chosen.require_except == frozenset()
    assert chosen.documents == ()


def test_values_are_read() -> None:
    chosen = settings.read(
        {
            "ENFORCER_ON_UNSUPPORTED": "relax",
            "ENFORCER_ALLOW_CLIENT": "isolate, relax",
            "ENFORCER_PREAMBLE_IDS": "0",
            "ENFORCER_MAX_CALLS": "3",
            "ENFORCER_LIMITS": "depth=64, branches=500",
            "ENFORCER_FINISH_WITHIN_BUDGET": "on",
            "ENFORCER_EMPTY_TURNS": "allow",
            "ENFORCER_REQUIRE": "on",
            "ENFORCER_REQUIRE_EXCEPT": "structured, completions",
            "ENFORCER_CACHE_MIB": "3",
            "ENFORCER_FORMAT": "standard",
            "ENFORCER_CLOSED_OBJECTS": "off",
            "ENFORCER_INTEGERS": "value",
            "ENFORCER_PLAIN_SPELLING": "off",
            "ENFORCER_SECOND_SPACE": "off",
            "ENFORCER_DOCUMENTS": "/etc/schemas, https://example.com/s=/srv/s,",
        }
    )
    assert chosen.documents == ("/etc/schemas", "https://example.com/s=/srv/s")
    assert chosen.options.finish_within_budget
    assert chosen.options.allow_empty_turns
    assert chosen.require
    assert chosen.require_except == {"structured", "completions"}
    assert chosen.cache_mib << 20 == 3 << 20
    assert chosen.options.on_unsupported is OnUnsupported.RELAX
    assert chosen.options.conventions == Conventions(Formats.STANDARD, False, Integers.VALUE)
    assert not chosen.options.plain_spelling
    assert not chosen.options.second_space
    assert chosen.options.preamble_ids == 0
    assert chosen.options.max_calls == 3
    assert chosen.options.limits == Limits(depth=64, branches=500)
    assert chosen.allow_client == {"isolate", "relax"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ENFORCER_ENGINE", "nope"),
        ("ENFORCER_ON_UNSUPPORTED", "ignore"),
        ("ENFORCER_ALLOW_CLIENT", "everything"),
        ("ENFORCER_MAX_CALLS", "0"),
        ("ENFORCER_MAX_CALLS", "many"),
        ("ENFORCER_MAX_CALLS", "٣"),
        ("ENFORCER_METRICS_PORT", "x"),
        ("ENFORCER_METRICS_PORT", "65536"),
        ("ENFORCER_CACHE_MIB", "-1"),
        ("ENFORCER_CACHE_MIB", "0"),
        ("ENFORCER_FINISH_WITHIN_BUDGET", "yes"),
        ("ENFORCER_EMPTY_TURNS", "on"),
        ("ENFORCER_FORMAT", "off"),
        ("ENFORCER_CLOSED_OBJECTS", "yes"),
        ("ENFORCER_INTEGERS", "plain"),
        ("ENFORCER_REQUIRE", "all"),
        ("ENFORCER_SHADOW", "yes"),
        ("ENFORCER_REQUIRE_EXCEPT", "chat"),
        ("ENFORCER_MAX_CALLS", "9" * 5000),
        ("ENFORCER_PREAMBLE_IDS", "-"),
        ("ENFORCER_LIMITS", "depth"),
        ("ENFORCER_LIMITS", "depth=0"),
        ("ENFORCER_LIMITS", "width=3"),
    ],
)
def test_a_wrong_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name) as raised:
        settings.read({name: value})
    assert f"{name} is {brief(value)}, but must be " in str(raised.value)


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


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ENFORCER_MAX_CALL", "ENFORCER_MAX_CALLS"),
        ("ENFORCER_ALLOWCLIENT", "ENFORCER_ALLOW_CLIENT"),
        ("ENFORCER_CACHED_GRAMMARS", "ENFORCER_CACHE_MIB"),
        ("ENFORCER_PORTS", ""),
        ("ENFORCER_PORT_80_HTTP", "docs/vllm/settings.md"),
        ("ENFORCER_SERVICE", "docs/vllm/settings.md"),
        ("ENFORCER_XYZ123", "docs/vllm/settings.md"),
    ],
)
def test_a_misspelt_name_is_an_error_that_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is no setting.*{near}"):
        settings.read({name: "1"})


def test_variables_that_are_no_settings_are_let_through() -> None:
    assert recording.FOLDER_VARIABLE in settings.OTHERS
    settings.read({**dict.fromkeys(settings.OTHERS, "x"), "OTHER_VARIABLE": "y"})


@pytest.mark.parametrize(
    "name",
    [
        *("ENFORCER_SERVICE_HOST", "ENFORCER_SERVICE_PORT", "ENFORCER_SERVICE_PORT_HTTP"),
        *("ENFORCER_PORT", "ENFORCER_PORT_80_TCP", "ENFORCER_PORT_80_TCP_PROTO"),
        *("ENFORCER_PORT_80_TCP_PORT", "ENFORCER_PORT_53_UDP_ADDR", "ENFORCER_PORT_9_SCTP"),
    ],
)
def test_what_kubernetes_says_of_a_service_of_our_name_is_no_setting(name: str) -> None:
    assert settings.read({name: "tcp://10.0.0.1:80"}) == settings.read({})


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


@pytest.mark.parametrize(
    ("name", "default", "values"), [each[:3] for each in _DESCRIBED], ids=lambda each: each[:30]
)
def test_the_page_has_the_default_and_the_other_values(
    name: str, default: str, values: str
) -> None:
    own = settings.VARIABLES[name].metadata
    assert default == (f"`{own['default']}`" if own["default"] else "empty")
    others = re.findall(r"`([^`]+)`", values)
    for value in others:
        own["read"](value)
    if choices := _choices(name):
        assert {own["default"], *others} - {""} == choices


def test_some_settings_have_choices() -> None:
    assert _choices("ENFORCER_ENGINE") == {"machine", "xgrammar", "outlines-core"}
    assert _choices("ENFORCER_REQUIRE_EXCEPT") == {"completions", "structured"}
    assert _choices("ENFORCER_MAX_CALLS") == _choices("ENFORCER_LIMITS") == set()


@pytest.mark.parametrize(
    ("name", "said"), [(each[0], each[3]) for each in _DESCRIBED], ids=lambda each: each[:30]
)
def test_the_page_says_when_to_change_a_setting(name: str, said: str) -> None:
    assert re.search(r"\b(Set|Leave|Lower|Raise)\b", said), name
    assert {*re.findall(r"ENFORCER_[A-Z_]+", said)} <= {*settings.VARIABLES}


def test_an_engine_may_have_the_name_of_an_earlier_release() -> None:
    found = settings.read({"ENFORCER_ENGINE": "llguidance"})
    assert found.engine == settings.read({}).engine == "machine"
    assert found.changed == {"engine": "llguidance"}


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


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("ENFORCER_DIALECT", "kimi_k9", "kimi_k2"),
        ("ENFORCER_MAX_CALLS", "x", "ENFORCER_MAX_CALLS"),
        ("ENFORCER_ENGINE", "nope", "machine or xgrammar"),
    ],
)
def test_a_server_does_not_start_with_wrong_settings(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, word: str
) -> None:
    monkeypatch.setenv(name, value)
    settings.current.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=word):
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
