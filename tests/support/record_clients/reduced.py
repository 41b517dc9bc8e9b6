"""What is kept of an agent's request: its tools and what goes with them.

Owns: what is left out: the prompts, and what tools say about themselves beyond a few words,
which are someone else's text and no affair of a grammar; and what tells one run from another.
Must not know: who sent it.
"""

from typing import Any

_WORDS = 80  # characters of a description
_PLACEHOLDER = "Which files are in this folder?"
_KEPT = (
    *("tools", "tool_choice", "parallel_tool_calls", "stream", "max_tokens", "text"),
    *("thinking", "reasoning", "output_config", "context_management", "store", "include"),
)
_DIALOGS = ("messages", "input")
_PROMPTS = ("system", "instructions")


def reduced(recorded: dict[str, Any]) -> dict[str, Any]:
    """Reduce a request as the stub recorded it.

    Returns:
        `path`; `body`, with what is kept and a placeholder for the prompts; `others`, the names
        of all other fields, sorted.

    """
    body = recorded["body"]
    kept = {name: body[name] for name in _KEPT if name in body}
    if "tools" in kept:
        kept["tools"] = [_brief(tool) for tool in kept["tools"]]
    kept |= {name: [{"role": "user", "content": _PLACEHOLDER}] for name in _DIALOGS if name in body}
    kept |= {name: "Be brief." for name in _PROMPTS if name in body}
    return {"path": recorded["path"], "body": kept, "others": sorted(body.keys() - kept.keys())}


def _brief(value: Any) -> Any:
    """Cut descriptions, in a tool and in its schema alike."""
    if isinstance(value, list):
        return [_brief(one) for one in value]
    if not isinstance(value, dict):
        return value
    # A property may be called so, whose value is a schema.
    return {
        key: one[:_WORDS] if key == "description" and isinstance(one, str) else _brief(one)
        for key, one in value.items()
    }
