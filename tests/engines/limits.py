"""Limits of llguidance that a test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llguidance import LLParserLimits

from enforcer.engines.llguidance import engine

if TYPE_CHECKING:
    import pytest


def limited(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Change some of those that texts have; nothing is tried, so that texts come to them."""
    names = [name for name in dir(engine._LIMITS) if not name.startswith("_")]
    found = {name: getattr(engine._LIMITS, name) for name in names}
    monkeypatch.setattr(engine, "_LIMITS", LLParserLimits(**{**found, **changed}))
    monkeypatch.setattr(engine, "_TRYING", -1.0)
