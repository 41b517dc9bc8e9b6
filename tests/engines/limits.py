"""Limits of llguidance that a test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llguidance import LLParserLimits

from enforcer.engines.llguidance import engine

if TYPE_CHECKING:
    import pytest


def limited(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Change some of those that texts have; nothing is tried, so that texts come to them."""

    def with_changes(limits: LLParserLimits) -> LLParserLimits:
        names = [name for name in dir(limits) if not name.startswith("_")]
        found = {name: getattr(limits, name) for name in names}
        return LLParserLimits(**{**found, **changed})

    monkeypatch.setattr(engine, "_TRYING", -1.0)
    monkeypatch.setattr(engine, "_LIMITS", tuple(map(with_changes, engine._LIMITS)))
