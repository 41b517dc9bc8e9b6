"""Stop strings and stop ids: they may end what a turn says, never a call that has begun.

Owns: where vLLM's detokenizer looks for stop strings, and which stops a request that may call
can have. Stop strings are found in the API server; stop ids are looked at in the engine as well,
where another front end has let a request in. Must not know: deltas, how a reply is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.vllm.intake.requests import option_refusal
from enforcer.vllm.native import marker_roles
from enforcer.vllm.server import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.request.spec import Spec
    from enforcer.turn.table import Table


def refuse_ids(request: Any, table: Table) -> None:
    """Refuse stop ids that begin a call or can stand inside one, in a request that may call.

    The engine ends a reply at such an id, and vLLM would report `tool_calls` beside the half
    of a call; behind the marker that begins calls there would be none, even where one is demanded.
    Ids that end the turn, the section or a think cut no call.

    Raises:
        VLLMValidationError: there is such an id.

    """
    if request.tools and request.tool_choice != "none":
        _refuse_inside(request.stop_token_ids, table)


def refuse_ids_beside(params: Any, spec: Spec, tokenizer: Any) -> None:
    """Refuse them in the parameters of a request that brings its spec itself.

    Raises:
        VLLMValidationError: there is such an id.

    """
    if spec.toolset.allowed and params.stop_token_ids:
        dialect = None if spec.settled is None else spec.settled.dialect
        _refuse_inside(params.stop_token_ids, runtime.table_for(tokenizer, dialect))


def _refuse_inside(token_ids: Sequence[int] | None, table: Table) -> None:
    if not token_ids:
        return
    # Harmless is what neither begins calls nor stands in them before their end.
    cutting = (*marker_roles.beginnings(table), *marker_roles.inside_calls(table))
    cuts = marker_roles.tokens(table, cutting).union(table.layout.ids)
    harmless = table.vocabulary.control_ids - cuts
    # What is no id of the model's stands nowhere, and is vLLM's to judge.
    size = table.vocabulary.size
    inside = [token for token in token_ids if 0 <= token < size and token not in harmless]
    if inside:
        raise option_refusal(
            "stop_token_ids",
            f"`stop_token_ids` has {', '.join(map(str, inside[:5]))}, which can begin a tool "
            "call or stand inside one, where the reply would end with half a call: use `stop`, "
            "which ends text only, or an id that ends the turn",
        )


def refuse_all(params: Any, spec: Spec) -> None:
    """Refuse stops where nothing keeps them from cutting a call: behind the logits processor.

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
