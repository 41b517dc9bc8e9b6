"""Runs together what is asked of one tokenizer, so that few of them are held at a time.

Owns: the order of this folder's tests. Must not know: what they ask.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.formats.catalogue import ROWS

if TYPE_CHECKING:
    import pytest

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order by tokenizer, then by row; tests of neither come first."""
    ordered = iter(sorted((item for item in items if item.path.parent == _FOLDER), key=_of))
    items[:] = [next(ordered) if item.path.parent == _FOLDER else item for item in items]


def _of(item: pytest.Item) -> tuple[str, str]:
    params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    deviation = params.get("deviation")
    name = params.get("vocabulary", params.get("name", deviation.format if deviation else ""))
    return (ROWS[name].vocabulary if name in ROWS else name, name)
