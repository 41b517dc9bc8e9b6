"""The demo's requests: the tiny model's own mix of kinds, greedy.

Owns: how many of which kind, and the sampling options. Must not know: how the
kinds are made, or who answers them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.demo.servers import MODEL_NAME
from bench.demo.tiny_model import requests

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEED = 2026
_OPTIONS = {
    "model": MODEL_NAME,
    "temperature": 0.0,
    "max_tokens": 160,
    # vLLM's extension of the API: the ids that the model generated, whatever the parser made
    # of them, so that turns can be compared id by id.
    "return_token_ids": True,
}


def bodies(number: int) -> list[Mapping[str, Any]]:
    """Draw that many request bodies; the same ones every time."""
    return [{**request.body, **_OPTIONS} for request in requests.generate(number, seed=_SEED)]
