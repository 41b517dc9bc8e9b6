"""Stops that could cut a call, which are rejected in a request that may call.

Stop strings are looked for in the text before the calls alone (`replies/stop_strings.py`). At a
stop id the engine ends a reply wherever it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.vllm.intake.answers import option_refusal
from enforcer.vllm.native import marker_roles
from enforcer.vllm.server import runtime

if TYPE_CHECKING:
    from enforcer.request.spec import Spec


def refuse_ids_beside(params: Any, spec: Spec, tokenizer: Any) -> None:
    """Reject stop ids that begin a call or can stand inside one, in a request that may call.

    The engine ends a reply at such an id, and vLLM would report `tool_calls` beside the half
    of a call; behind the marker that begins calls there would be none, even where one is demanded.
    Ids that end the turn, the section or the reasoning cut no call.

    Raises:
        VLLMValidationError: there is such an id.

    """
    if not (spec.toolset.allowed and params.stop_token_ids):
        return
    table = runtime.table_for(tokenizer, spec.settled.dialect if spec.settled else None)
    # Harmless are ids that neither begin calls nor stand in them before their end.
    cuts = marker_roles.tokens(table, marker_roles.into_calls(table)).union(table.layout.ids)
    harmless = table.vocabulary.control_ids - cuts
    # vLLM judges ids that are none of the model's.
    own = range(table.vocabulary.size)
    inside = [token for token in params.stop_token_ids if token in own and token not in harmless]
    if inside:
        raise option_refusal(
            "stop_token_ids",
            f"`stop_token_ids` has {', '.join(map(str, inside[:5]))}, which can begin a tool "
            "call or stand inside one, where the reply would end with half a call: use `stop`, "
            "which ends text only, or an id that ends the turn",
        )


def refuse_all(params: Any, spec: Spec) -> None:
    """Reject stops where nothing keeps them from cutting a call: behind the logits processor.

    Args:
        params: vLLM's, or a body as attributes; `stop_sequences` is the Messages API's `stop`.
        spec: the request's.

    Raises:
        VLLMValidationError: the request may call, and has stops.

    """
    if not spec.toolset.allowed:
        return
    for name in ("stop", "stop_sequences", "stop_token_ids"):
        if getattr(params, name, None):
            raise option_refusal(
                name,
                f"`{name}` could end the reply inside a tool call, which a server with the logits "
                "processor alone cannot prevent: leave it out (vLLM ends a turn at the model's own "
                "end ids without it), or use a server with the plugin",
            )
