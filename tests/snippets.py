"""The examples in README and docs, as they are written there.

Owns: finding them, and running one with names that its reader would have. Must not know: what
they show.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"enum": ["Paris", "Rome"]}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
]
MESSAGES = [{"role": "user", "content": "What is the weather in Paris?"}]
PROMPT = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"


def blocks(page: Path, language: str) -> list[str]:
    """Give a page's examples in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def find(page: str, *words: str) -> str:
    """Give the one Python example of a page that has all these words."""
    (found,) = [
        block for block in blocks(ROOT / page, "python") if all(word in block for word in words)
    ]
    return found


def run(block: str, **names: Any) -> dict[str, Any]:
    """Run an example, and give the names that it has then."""
    exec(compile(block, "<example>", "exec"), names)  # noqa: S102 - ours, from the repository
    return names
