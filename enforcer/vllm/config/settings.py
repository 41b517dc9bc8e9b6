"""The operator's settings, from the environment of the server.

Owns: the names of the variables, their defaults and their checks; `docs/vllm.md`
lists them from here. Must not know: what the settings do.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from enforcer import engines
from enforcer.errors import ConfigurationError, brief
from enforcer.request.options import Options
from enforcer.schema import Conventions, Formats, Integers, Limits, OnUnsupported
from enforcer.vllm.config.names import PARSER_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

_T = TypeVar("_T")

PREFIX = "ENFORCER_"
# Variables that are no settings: where the server's processes keep their numbers (see
# `recording`), where this repository's own tests find their cases, and what `served_model` tells.
OTHERS = frozenset({"ENFORCER_METRICS_FOLDER", "ENFORCER_SHARED", PARSER_VARIABLE})
# Kubernetes tells every pod of a namespace of a Service that is named `enforcer` by these, and so
# do Docker's links. None of them can be a misspelt setting.
_INJECTED = re.compile(
    r"ENFORCER_(?:SERVICE_(?:HOST|PORT(?:_\w+)?)"
    r"|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)",
    re.ASCII,
)
_CLIENT_WORDS = ("off", "relax", "isolate", "finish", "closed", "open")
_REQUEST_KINDS = ("completions", "structured")
_ON = {"off": False, "on": True}
_LAST_PORT = 65_535
_DIGITS = 12  # what an option that travels in a spec may have


def _setting(default: str, what: str) -> str:
    value: str = field(default=default, metadata={"what": what})
    return value


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is the variable `ENFORCER_` + its name in capitals."""

    dialect: str = _setting(
        "kimi_k2",
        "format of the served model, a file in `grammars/`, where no parser's name tells it",
    )
    engine: str = _setting("llguidance", "argument engine: llguidance, xgrammar, outlines-core")
    on_unsupported: str = _setting(
        "refuse",
        "what to do with a schema that cannot be enforced exactly: refuse, relax or isolate",
    )
    allow_client: str = _setting(
        "",
        "what a request may switch: some of off, relax, isolate, finish, closed, open, with commas "
        "between",
    )
    format: str = _setting(
        "enforce",
        "the keyword `format`: enforce it in every draft, or standard: not where `$schema` names "
        "2019-09 or 2020-12",
    )
    closed_objects: str = _setting(
        "on",
        "objects that declare `properties` and say nothing of others have no others; off: they may "
        "have any, as JSON Schema has it",
    )
    integers: str = _setting(
        "value",
        "numbers of `type: integer`: any text that is a whole number, `9.0` and `1.5e6` too, or "
        "digits: digits alone",
    )
    documents: str = _setting(
        "",
        "JSON Schemas that a tool's schema may refer to by their `$id`: files and folders, with "
        "commas between; `URI=FOLDER` for those that are served below a URI",
    )
    max_calls: str = _setting("128", "most calls in one turn")
    preamble_ids: str = _setting("32", "most tokens of text before a demanded call")
    finish_within_budget: str = _setting(
        "off", "end a call that has begun before `max_tokens` does, and begin none that cannot: on"
    )
    empty_turns: str = _setting(
        "forbid", "a turn that ends with neither text nor call: forbid or allow"
    )
    require: str = _setting("off", "let the engine refuse requests that nothing enforces: on")
    require_except: str = _setting(
        "", "which of them it serves all the same: completions, structured, or both with a comma"
    )
    logprobs: str = _setting(
        "masked",
        "a reply's `logprobs` where ids are masked: masked as vLLM gives them, or raw: the model's "
        "own, which show what it wanted and the mask forbade",
    )
    cache_mib: str = _setting("256", "what a process keeps between requests, in MiB")
    metrics_port: str = _setting(
        "", "port on which a `--headless` node, which has no API server, answers `/metrics`"
    )
    limits: str = _setting(
        "", "bounds on schemas that differ from the defaults, as `depth=64,branches=500`"
    )

    def options(self) -> Options:
        """Give the options of the core.

        Raises:
            ConfigurationError: a value is not one of its kind.

        """
        try:
            on_unsupported = OnUnsupported(self.on_unsupported)
        except ValueError:
            raise self._wrong("on_unsupported", "refuse, relax or isolate") from None
        formats = self._one_of("format", {each.value: each for each in Formats})
        return Options(
            on_unsupported=on_unsupported,
            max_calls=self._number("max_calls"),
            preamble_ids=self._number("preamble_ids", least=0),
            limits=self._limits(),
            conventions=Conventions(
                formats,
                self._one_of("closed_objects", _ON),
                self._one_of("integers", {each.value: each for each in Integers}),
            ),
            finish_within_budget=self._one_of("finish_within_budget", _ON),
            allow_empty_turns=self._one_of("empty_turns", {"forbid": False, "allow": True}),
        )

    def changed(self) -> dict[str, str]:
        """Give those that are not at their defaults, as they are written, by the field's name."""
        written = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in written.items() if value != default}

    def sources(self) -> tuple[str, ...]:
        """Name the files and folders of documents; see `enforcer.schema.bundling`."""
        return tuple(filter(None, (source.strip() for source in self.documents.split(","))))

    def cache_bytes(self) -> int:
        """Give the budget of what a process keeps.

        Raises:
            ConfigurationError: it is no number.

        """
        return self._number("cache_mib") << 20

    def port(self) -> int | None:
        """Return the port of a headless node's metrics; None if they are not to be had.

        Raises:
            ConfigurationError: it is no port.

        """
        if not self.metrics_port:
            return None
        port = self._number("metrics_port")
        if port > _LAST_PORT:
            raise self._wrong("metrics_port", f"a whole number from 1 to {_LAST_PORT}")
        return port

    def argument_engine(self) -> str:
        """Name the argument engine.

        Raises:
            ConfigurationError: there is none of that name.

        """
        return self._one_of("engine", {name: name for name in engines.ENGINES})

    def requires(self) -> bool:
        """Tell whether the engine refuses what nothing enforces.

        Raises:
            ConfigurationError: neither `on` nor `off`.

        """
        return self._one_of("require", _ON)

    def scores_raw(self) -> bool:
        """Tell whether `logprobs` are the model's own where ids are masked.

        Raises:
            ConfigurationError: neither `masked` nor `raw`.

        """
        return self._one_of("logprobs", {"masked": False, "raw": True})

    def excepted(self) -> frozenset[str]:
        """Name the kinds of requests that it serves all the same.

        Raises:
            ConfigurationError: a word that is no kind.

        """
        return self._words("require_except", _REQUEST_KINDS)

    def allowed(self) -> frozenset[str]:
        """Say what a request may switch.

        Raises:
            ConfigurationError: a word that is none of them.

        """
        return self._words("allow_client", _CLIENT_WORDS)

    def may_finish(self) -> bool:
        """Tell whether turns may have to end within their budget.

        Raises:
            ConfigurationError: a value is not one of its kind.

        """
        return self.options().finish_within_budget or "finish" in self.allowed()

    def _words(self, name: str, known: tuple[str, ...]) -> frozenset[str]:
        words = frozenset(filter(None, (word.strip() for word in getattr(self, name).split(","))))
        if words - set(known):
            raise self._wrong(name, f"some of {', '.join(known)}, with commas between")
        return words

    def _one_of(self, name: str, known: Mapping[str, _T]) -> _T:
        word = getattr(self, name)
        if word not in known:
            raise self._wrong(name, " or ".join(known))
        return known[word]

    def _limits(self) -> Limits:
        known = [limit.name for limit in fields(Limits)]
        changed = {}
        for part in filter(None, (part.strip() for part in self.limits.split(","))):
            name, _, number = part.partition("=")
            if name not in known or not _is_number(number, least=1):
                raise self._wrong("limits", f"NAME=NUMBER, …, with names of {', '.join(known)}")
            changed[name] = int(number)
        return Limits(**changed)

    def _number(self, name: str, least: int = 1) -> int:
        text = getattr(self, name)
        if not _is_number(text, least):
            raise self._wrong(name, f"a whole number from {least} on")
        return int(text)

    def _wrong(self, name: str, expected: str) -> ConfigurationError:
        value = brief(getattr(self, name))
        return ConfigurationError(f"{PREFIX}{name.upper()} is {value}, but must be {expected}")


def _is_number(text: str, least: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= least


def read(environment: Mapping[str, str]) -> Settings:
    """Read the settings, and check them.

    An empty variable, as files of variables and charts leave it, is not set.

    Raises:
        ConfigurationError: a value is not one of its kind, or no setting has such a name.

    """
    known = {PREFIX + field.name.upper(): field.name for field in fields(Settings)}
    for name in environment:
        if not name.startswith(PREFIX) or name in known or name in OTHERS:
            continue
        if not _INJECTED.fullmatch(name):
            # Compared without the prefix, which alone makes any two of them alike.
            names = {key.removeprefix(PREFIX): key for key in known}
            near = difflib.get_close_matches(name.removeprefix(PREFIX), names, n=1, cutoff=0.5)
            remedy = (
                f"do you mean {names[near[0]]}?"
                if near
                else "take it out of the environment; docs/vllm.md lists the settings"
            )
            raise ConfigurationError(f"{name} is no setting: {remedy}")
    settings = Settings(
        **{
            name: value
            for key, name in known.items()
            if (value := environment.get(key, "").strip())
        }
    )
    settings.options()
    settings.allowed()
    settings.cache_bytes()
    settings.port()
    settings.scores_raw()
    settings.argument_engine()
    if settings.excepted() and not settings.requires():
        raise ConfigurationError(
            f"{PREFIX}REQUIRE_EXCEPT says what {PREFIX}REQUIRE=on serves all the same, and that is "
            "off: switch it on, or leave the exceptions out"
        )
    if settings.requires() and "off" in settings.allowed():
        raise ConfigurationError(
            f"{PREFIX}REQUIRE=on refuses what nothing enforces, and {PREFIX}ALLOW_CLIENT lets any "
            "request switch the enforcer off: leave one of them out"
        )
    return settings


@cache
def current() -> Settings:
    """Give the settings of this process."""
    return read(os.environ)
