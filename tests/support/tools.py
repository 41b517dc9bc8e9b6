"""Tools as a chat request lists them."""

from __future__ import annotations

from typing import Any


def tool(name: str, parameters: Any = None) -> dict[str, Any]:
    """Return a function of a name, without parameters where there are none."""
    given = {} if parameters is None else {"parameters": parameters}
    return {"type": "function", "function": {"name": name, **given}}
