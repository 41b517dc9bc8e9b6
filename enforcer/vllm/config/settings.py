"""The operator's settings, from the environment of the server.

`docs/vllm/settings.md` describes each.
"""

# ruff: noqa: RUF009 - `_setting` is `dataclasses.field`

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, TypeVar

from enforcer import engines
from enforcer.errors import ConfigurationError, brief
from enforcer.request.options import Options
from enforcer.schema import Conventions, Formats, Integers, Limits, OnUnsupported
from enforcer.vllm.config.names import CLOSED_TEXT, COMPACT_TEXT, PARSER_VARIABLE, TEXT_VARIABLE

_T = TypeVar("_T")

PREFIX = "ENFORCER_"
# Variables that are no settings: where the server's processes keep their numbers (see
# `recording`), where this repository's own tests find their cases, and the parser's name and the
# flags of texts, which `served_model` hands on.
OTHERS = frozenset({"ENFORCER_METRICS_FOLDER", "ENFORCER_SHARED", PARSER_VARIABLE, TEXT_VARIABLE})
# Kubernetes tells every pod of a namespace of a Service that is named `enforcer` by these, and so
# do Docker's links. None of them can be a misspelt setting.
_INJECTED = re.compile(
    r"ENFORCER_(?:SERVICE_(?:HOST|PORT(?:_\w+)?)"
    r"|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)",
    re.ASCII,
)
_LAST_PORT = 65535
_DIGITS = 12  # of a whole number; specs carry some, too


def _one_of(known: Mapping[str, _T]) -> Callable[[str], _T]:
    def read(text: str) -> _T:
        if text not in known:
            raise ValueError(" or ".join(known))
        return known[text]

    return read


def _words_of(*known: str) -> Callable[[str], frozenset[str]]:
    def read(text: str) -> frozenset[str]:
        words = frozenset(_listed(text))
        if not words <= {*known}:
            raise ValueError(f"some of {', '.join(known)}, with commas between")
        return words

    return read


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not _is_whole(text, least):
            raise ValueError(f"a whole number from {least} on")
        return int(text)

    return read


def _whole_or_none(text: str) -> int | None:
    return _whole(0)(text) if text else None


def _whole_or_off(text: str) -> int | None:
    if text != "off" and not _is_whole(text, 1):
        raise ValueError("off or a whole number from 1 on")
    return None if text == "off" else int(text)


def _port(text: str) -> int:
    if not _is_whole(text, 0) or int(text) > _LAST_PORT:
        raise ValueError(f"a port from 0 to {_LAST_PORT}")
    return int(text)


def _limits(text: str) -> Limits:
    known = [limit.name for limit in fields(Limits)]
    changed = dict(part.partition("=")[::2] for part in _listed(text))
    if not changed.keys() <= {*known} or not all(_is_whole(each, 1) for each in changed.values()):
        raise ValueError(f"NAME=NUMBER, …, with names of {', '.join(known)}")
    return Limits(**{name: int(number) for name, number in changed.items()})


def _is_whole(text: str, least: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= least


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _setting(default: str, read: Callable[[str], _T]) -> _T:
    """Declare a setting; `read` raises ValueError with what a text has to be."""
    value: _T = field(default=read(default), metadata={"default": default, "read": read})
    return value


_ON = _one_of({"off": False, "on": True})


@dataclass(frozen=True)
class Settings:
    r"""Settings; each is the variable `ENFORCER_` + its name in capitals.

    Attributes:
        dialect: tool-call format of the served model, a file in `grammars/`, if no parser names it
        engine: engine that masks arguments: machine; for Kimi K2 also xgrammar, outlines-core
        on_unsupported: reaction to a schema that cannot be enforced exactly: refuse, relax or
            isolate
        allow_client: options that a request may switch: off, relax, isolate, finish, closed, open,
            separated by commas
        format: the keyword `format`: enforce it in every draft; standard: not where `$schema`
            names 2019-09 or 2020-12
        closed_objects: objects that declare `properties` and do not mention others allow no others;
            off: any others, as JSON Schema says
        integers: spelling of integers: digits; value: any number with an integral value, `9.0` and
            `1.5e6` too
        plain_spelling: property names and the strings of `enum` and `const` have no needless
            escapes of ASCII characters: `"city"`, not `"c\u0069ty"`; off: any JSON spelling
        second_space: up to two spaces where JSON allows white space; off: one
        documents: files and folders of JSON Schemas that a tool's schema may refer to by `$id`,
            separated by commas; `URI=FOLDER` for schemas that are published below a URI
        max_calls: greatest number of calls in a turn
        identical_calls: number of equal calls in a row after which no further call may begin;
            off: no limit
        preamble_ids: greatest number of text tokens before a demanded call; empty: 32 for Kimi's
            tool-call formats, 0 for others. White space is always allowed
        finish_within_budget: every call ends before `max_tokens`, and a call that cannot is not
            begun: on
        drafts: draft tokens of the grammar, if `--speculative-config` names its proposer: likely
            (what models usually write within calls) or forced (what the schema leaves no choice of)
        empty_turns: turns with neither text nor call: forbid or allow
        require: the engine rejects requests without enforcement: on
        require_except: requests without enforcement that are admitted all the same: completions,
            structured, separated by a comma
        shadow: enforce nothing, but judge vLLM's replies and count what enforcement would have
            changed: on
        cache_mib: size of a process's cache, in MiB
        metrics_port: port on which a `--headless` node, which has no API server, serves
            `/metrics`; 0: none
        limits: bounds on schemas that differ from the defaults, such as `depth=64,branches=500`

    """

    dialect: str = _setting("kimi_k2", str)
    engine: str = _setting(engines.MACHINE, _one_of({each: each for each in engines.ENGINES}))
    on_unsupported: OnUnsupported = _setting("refuse", _one_of({e.value: e for e in OnUnsupported}))
    allow_client: frozenset[str] = _setting(
        "", _words_of("off", "relax", "isolate", "finish", "closed", "open")
    )
    format: Formats = _setting("enforce", _one_of({each.value: each for each in Formats}))
    closed_objects: bool = _setting("on", _ON)
    integers: Integers = _setting("digits", _one_of({each.value: each for each in Integers}))
    plain_spelling: bool = _setting("on", _ON)
    second_space: bool = _setting("on", _ON)
    documents: tuple[str, ...] = _setting("", _listed)
    max_calls: int = _setting("128", _whole(1))
    identical_calls: int | None = _setting("8", _whole_or_off)
    preamble_ids: int | None = _setting("", _whole_or_none)
    finish_within_budget: bool = _setting("off", _ON)
    drafts: str = _setting("likely", _one_of({each: each for each in ("likely", "forced")}))
    empty_turns: bool = _setting("forbid", _one_of({"forbid": False, "allow": True}))
    require: bool = _setting("off", _ON)
    require_except: frozenset[str] = _setting("", _words_of("completions", "structured"))
    shadow: bool = _setting("off", _ON)
    cache_mib: int = _setting("256", _whole(1))
    metrics_port: int = _setting("0", _port)
    limits: Limits = _setting("", _limits)
    # Flags of vLLM's command line on texts that are JSON.
    text_flags: frozenset[str] = frozenset()
    # Those that are not at their defaults, as they are written.
    changed: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def options(self) -> Options:
        """The options of the core."""
        return Options(
            on_unsupported=self.on_unsupported,
            max_calls=self.max_calls,
            identical_calls=self.identical_calls if self.engine == engines.MACHINE else None,
            preamble_ids=self.preamble_ids,
            limits=self.limits,
            conventions=Conventions(self.format, self.closed_objects, self.integers),
            finish_within_budget=self.finish_within_budget,
            allow_empty_turns=self.empty_turns,
            compact_text=COMPACT_TEXT in self.text_flags,
            closed_text=CLOSED_TEXT in self.text_flags,
            plain_spelling=self.plain_spelling,
            second_space=self.second_space,
        )


# By the name of the variable.
VARIABLES = {PREFIX + each.name.upper(): each for each in fields(Settings) if each.metadata}


def read(environment: Mapping[str, str]) -> Settings:
    """Read the settings, and check them.

    An empty variable, as files of variables and charts leave it, is not set.

    Raises:
        ConfigurationError: a value is not one of its kind, or no setting has such a name.

    """
    for variable in environment:
        if variable.startswith(PREFIX):
            _refuse_unknown(variable)
    values: dict[str, Any] = {}
    changed = {}
    for variable, each in VARIABLES.items():
        default = each.metadata["default"]
        text = environment.get(variable, "").strip() or default
        try:
            values[each.name] = each.metadata["read"](text)
        except ValueError as error:
            raise ConfigurationError(f"{variable} is {brief(text)}, but must be {error}") from None
        if text != default:
            changed[each.name] = text
    flags = frozenset(environment.get(TEXT_VARIABLE, "").split())
    changed |= dict.fromkeys(sorted(flags), "on")
    settings = Settings(**values, text_flags=flags, changed=changed)
    if COMPACT_TEXT in flags and settings.engine != engines.MACHINE:
        raise ConfigurationError(
            f"{PREFIX}ENGINE={settings.engine} cannot enforce {COMPACT_TEXT} of "
            "--structured-outputs-config: leave one of them out"
        )
    may_finish = settings.finish_within_budget or "finish" in settings.allow_client
    if may_finish and settings.engine != engines.MACHINE:
        raise ConfigurationError(
            f"{PREFIX}ENGINE={settings.engine} does not support token budgets: leave it out, or "
            f"{PREFIX}FINISH_WITHIN_BUDGET and `finish` in {PREFIX}ALLOW_CLIENT"
        )
    if settings.engine != engines.MACHINE and changed.get("identical_calls", "off") != "off":
        raise ConfigurationError(
            f"{PREFIX}ENGINE={settings.engine} does not support {PREFIX}IDENTICAL_CALLS: leave one "
            "of them out"
        )
    if settings.require_except and not settings.require:
        raise ConfigurationError(
            f"{PREFIX}REQUIRE_EXCEPT lists exceptions to {PREFIX}REQUIRE, which is off: switch it "
            "on, or leave the exceptions out"
        )
    if settings.shadow and settings.require:
        raise ConfigurationError(
            f"{PREFIX}SHADOW=on enforces nothing, and {PREFIX}REQUIRE=on rejects requests without "
            "enforcement: leave one of them out"
        )
    if settings.require and "off" in settings.allow_client:
        raise ConfigurationError(
            f"{PREFIX}REQUIRE=on rejects requests without enforcement, and {PREFIX}ALLOW_CLIENT "
            "lets any request switch enforcement off: leave one of them out"
        )
    return settings


def _refuse_unknown(variable: str) -> None:
    """Raise for a variable that looks like a setting and is none.

    Raises:
        ConfigurationError: it names the nearest.

    """
    if variable in VARIABLES or variable in OTHERS or _INJECTED.fullmatch(variable):
        return
    # Compared without the prefix, which alone makes any two of them alike.
    known = [key.removeprefix(PREFIX) for key in VARIABLES]
    near = difflib.get_close_matches(variable.removeprefix(PREFIX), known, n=1, cutoff=0.5)
    remedy = (
        f"do you mean {PREFIX}{near[0]}?"
        if near
        else "take it out of the environment; docs/vllm/settings.md lists the settings"
    )
    raise ConfigurationError(f"{variable} is no setting: {remedy}")


@cache
def current() -> Settings:
    """Return the settings of this process."""
    return read(os.environ)
