"""A turn from a server, and what its model thought of each id of it.

Owns: the two requests that this takes. With the plugin a reply's own scores are masked already, so
the same ids are scored once more as a prompt, to which no mask is applied. Must not know: HTTP,
what is legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError
from enforcer.tools.verify import client

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from enforcer.tools.verify.client import Endpoint

# Of another kind of reply than one that is whole and tells its ids.
_DROPPED = ("stream", "stream_options", "logprobs", "top_logprobs", "n")


async def ask(
    endpoint: Endpoint, request: Mapping[str, Any], top: int, tell: Callable[[str], None]
) -> tuple[Any, Any]:
    """Have a chat request answered, and the answer scored.

    Args:
        endpoint: the server.
        request: as it would be sent to `/chat/completions`.
        top: how many scores an id of the turn gets beside its own.
        tell: is given each step before it begins.

    Returns:
        The chat completion, with its ids; and the answer of `/completions` to prompt and turn as
        one prompt, with `prompt_logprobs`.

    Raises:
        ConfigurationError: no server answers, it refuses one of them, or tells no ids.

    """
    body = {key: value for key, value in request.items() if key not in _DROPPED}
    if "model" not in body:
        body["model"] = await client.only_model(endpoint, "in the request, as `model`")
    tell(f"waiting for the reply of {endpoint.url}")
    reply = await client.post(endpoint, "/chat/completions", body | {"return_token_ids": True})
    choices = reply.get("choices") if isinstance(reply, dict) else None
    prompt = reply.get("prompt_token_ids") if choices else None
    turn = choices[0].get("token_ids") if choices else None
    if not isinstance(prompt, list) or not isinstance(turn, list):
        raise ConfigurationError(
            f"the server at {endpoint.url} does not tell ids, as vLLM does when it is asked for "
            "`return_token_ids`"
        )
    tell(f"waiting for the scores of {len(prompt)} tokens of prompt and {len(turn)} of reply")
    asked = {"prompt": prompt + turn, "max_tokens": 1, "prompt_logprobs": top}
    return reply, await client.post(endpoint, "/completions", {"model": body["model"], **asked})
