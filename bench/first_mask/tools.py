"""The tools that requests declare.

Owns: reading the collected declarations, or generating as many of the same kind. Must
not know: rivals.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

_BESIDE = Path(__file__).resolve().parents[3] / "shared"


def load() -> tuple[str, list[dict[str, Any]]]:
    """Return where the tools come from, and declarations with `valid_arguments` each.

    Names are made unique, and every schema is one of its own.
    """
    root = Path(os.environ.get("ENFORCER_SHARED", _BESIDE))
    file = root / "cases" / "tools.jsonl.gz"
    if not file.is_file():
        return "generated", [generated(i) for i in range(2048)]
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    return "collected", [entry for entry in entries if entry.get("valid_arguments")]


def generated(seed: int) -> dict[str, Any]:
    """Make a declaration of the usual kind."""
    draw = random.Random(seed)
    kinds = ("string", "integer", "number", "boolean")
    properties: dict[str, Any] = {
        f"field_{seed}_{i}": {"type": draw.choice(kinds), "description": f"Field {i}"}
        for i in range(draw.randint(2, 7))
    }
    properties["mode"] = {"enum": ["fast", "exact", "none"]}
    function = {
        "name": f"tool_{seed}",
        "parameters": {"type": "object", "properties": properties, "required": ["mode"]},
    }
    return {"type": "function", "function": function, "valid_arguments": [{"mode": "fast"}]}


def changed(tool: dict[str, Any], mark: int) -> dict[str, Any]:
    """Return the same tool with a schema that nobody has seen: one more optional property."""
    parameters = tool["function"]["parameters"]
    properties = parameters.get("properties", {}) | {f"extra_{mark}": {"type": "string"}}
    function = tool["function"] | {"parameters": parameters | {"properties": properties}}
    return tool | {"function": function}
