"""How a worker is asked: a line of JSON, then a text as it is.

Owns: that form. Must not know: what is asked. A schema of megabytes is copied so, where writing it
into JSON once more would keep the server's event loop busy for milliseconds.
"""

from __future__ import annotations

import json
from typing import Any


def write(head: dict[str, Any], text: str) -> bytes:
    """Put them into a message; the text may have any code points, lone surrogates too."""
    return json.dumps(head).encode() + b"\n" + text.encode("utf-8", "surrogatepass")


def read(message: bytes) -> tuple[dict[str, Any], str]:
    """Take a message apart that `write` has made."""
    head, _, text = message.partition(b"\n")  # JSON that `json` writes has no line break
    return json.loads(head), text.decode("utf-8", "surrogatepass")
