"""The operator's settings, from the environment of the server.

Owns: the names of the variables, their defaults and their checks; `docs/vllm.md`
lists them from here. Must not know: what the settings do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING

from enforcer.api import Options
from enforcer.errors import ConfigurationError
from enforcer.schema import Limits, OnUnsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "ENFORCER_"
_DIGITS = 18


def _setting(default: str, what: str) -> str:
    value: str = field(default=default, metadata={"what": what})
    return value


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is the variable `ENFORCER_` + its name in capitals."""

    dialect: str = _setting("kimi_k2", "format of the served model, a file in `grammars/`")
    engine: str = _setting("llguidance", "argument engine: llguidance, xgrammar, outlines-core")
    on_unsupported: str = _setting(
        "refuse", "what to do with a schema that cannot be enforced exactly: refuse or relax"
    )
    allow_client: str = _setting(
        "", "what a request may switch through `vllm_xargs`: off, relax, or both with a comma"
    )
    max_calls: str = _setting("128", "most calls in one turn")
    preamble_ids: str = _setting("32", "most tokens of text before a demanded call")
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
            raise _wrong("on_unsupported", "refuse or relax") from None
        return Options(
            on_unsupported=on_unsupported,
            max_calls=self._number("max_calls"),
            preamble_ids=self._number("preamble_ids", least=0),
            limits=self._limits(),
        )

    def allowed(self) -> frozenset[str]:
        """Say what a request may switch.

        Raises:
            ConfigurationError: a word that is neither `off` nor `relax`.

        """
        words = frozenset(word.strip() for word in self.allow_client.split(",") if word.strip())
        if words - {"off", "relax"}:
            raise _wrong("allow_client", "off, relax, or both with a comma")
        return words

    def _limits(self) -> Limits:
        known = [limit.name for limit in fields(Limits)]
        changed = {}
        for part in filter(None, (part.strip() for part in self.limits.split(","))):
            name, _, number = part.partition("=")
            if name not in known or not _is_number(number, least=1):
                raise _wrong("limits", f"NAME=NUMBER, …, with names of {', '.join(known)}")
            changed[name] = int(number)
        return Limits(**changed)

    def _number(self, name: str, least: int = 1) -> int:
        text = getattr(self, name)
        if not _is_number(text, least):
            raise _wrong(name, f"a whole number from {least} on")
        return int(text)


def _is_number(text: str, least: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= least


def _wrong(name: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"{PREFIX}{name.upper()} must be {expected}")


def read(environment: Mapping[str, str]) -> Settings:
    """Read the settings, and check them.

    Raises:
        ConfigurationError: a value is not one of its kind.

    """
    known = {PREFIX + field.name.upper(): field.name for field in fields(Settings)}
    settings = Settings(
        **{name: environment[key] for key, name in known.items() if key in environment}
    )
    settings.options()
    settings.allowed()
    return settings


@cache
def current() -> Settings:
    """Give the settings of this process."""
    return read(os.environ)
