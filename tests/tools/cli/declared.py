"""Tools as clients declare them, for `enforcer check`."""

from typing import Any

EXACT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
UNIQUE = {
    "type": "object",
    "properties": {"tags": {"type": "array", "uniqueItems": True, "contains": {"const": 1}}},
}


def chat(name: str | None, schema: Any = EXACT, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}
