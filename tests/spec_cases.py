"""Tools as a chat request declares them, for tests of what becomes of a spec."""

from typing import Any

from enforcer.request import carrier, spec_text
from enforcer.request.spec import Settled, Spec

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get",
        "description": "Gets.",
        "strict": True,
        "parameters": {"type": "object", "properties": {"città": {"enum": ["東京", 3.33]}}},
    },
}


def named(name: str) -> dict[str, Any]:
    """Declare a tool by its name alone."""
    return {"type": "function", "function": {"name": name}}


def carried(params: Any) -> Spec:
    """Read the spec that a request, or sampling parameters, carry."""
    found = carrier.find(params)
    assert found is not None
    return spec_text.read(found.checked())


def settled(text: str, by: Settled) -> str:
    """Put what a server has decided into the text of a spec."""
    return spec_text.decode(text).settle(by).text()
