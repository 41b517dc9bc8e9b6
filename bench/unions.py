"""Schemas with a `oneOf` over open objects that share no discriminator, for `bench.reference`."""

from __future__ import annotations

from typing import Any


def union(branches: int, shared: int) -> dict[str, Any]:
    """Build a list of objects, each of which has to fit exactly one branch."""
    return {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {"oneOf": [_branch(i, shared) for i in range(branches)]},
            }
        },
        "required": ["items"],
        "additionalProperties": False,
    }


def _branch(number: int, shared: int) -> dict[str, Any]:
    """Declare a required name of its own, and shared names that others say otherwise."""
    kinds: list[dict[str, Any]] = [
        {"type": "integer"},
        {"type": "array", "items": {"type": "string"}},
    ]
    properties: dict[str, Any] = {"name": {"type": "string"}, f"kind{number}": {"type": "string"}}
    properties |= {f"shared{i}": kinds[(number + i) % 2] for i in range(shared)}
    properties |= {f"own{number}_{i}": {"type": "integer"} for i in range(shared)}
    return {
        "type": "object",
        "properties": properties,
        "required": ["name", f"kind{number}"],
    }
