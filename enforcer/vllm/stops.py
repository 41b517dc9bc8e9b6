"""Stop strings and stop ids: they may end what a turn says, never a call that has begun.

Owns: where vLLM's detokenizer looks for stop strings, and which stops a request that may call
can have. Stop strings are found in the API server; stop ids are looked at in the engine as well,
where another front end has let a request in. Must not know: deltas, how a reply is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.request import carrier
from enforcer.vllm import marker_roles, reply_parsers, runtime, served_model, stock
from enforcer.vllm.requests import option_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.request.spec import Spec
    from enforcer.turn.parser import Parser
    from enforcer.turn.table import Table


def from_new_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `IncrementalDetokenizer.from_new_request`, which makes what finds stop strings."""

    def _from_new_request(cls: Any, tokenizer: Any, request: Any) -> Any:
        made = original(cls, tokenizer, request)
        wanted = request.sampling_params.structured_outputs
        if getattr(made, "stop", None) and wanted and _is_enforced(wanted.structural_tag):
            table = runtime.table_for(tokenizer)
            parser = reply_parsers.begin_any(table, request.prompt_token_ids)
            if parser.in_calls:
                _forget(made)
            else:
                _spare_calls(made, parser)
        return made

    return _from_new_request


def _is_enforced(tag: object) -> bool:
    """Tell whether calls are held to the request's tools: by a spec, or a tag of vLLM's own."""
    return carrier.from_structural_tag(tag) is not None or any(
        stock.concerns(tag, dialect) for dialect in served_model.dialects()
    )


def _spare_calls(detokenizer: Any, parser: Parser) -> None:
    """Make a detokenizer look for stop strings in what comes before the calls alone."""
    update = detokenizer.update

    def begins_calls(token: int) -> bool:
        parser.feed([token])
        return parser.in_calls

    def _update(new_token_ids: Sequence[int], stop_terminated: bool) -> Any:  # noqa: FBT001 - vLLM's
        at = next((at for at, token in enumerate(new_token_ids) if begins_calls(token)), None)
        if at is None:
            return update(new_token_ids, stop_terminated)
        found = update(new_token_ids[:at], False)
        if found:
            return found
        _forget(detokenizer)
        detokenizer.update = update
        return update(new_token_ids[at:], stop_terminated)

    detokenizer.update = _update


def _forget(detokenizer: Any) -> None:
    detokenizer.stop = []
    detokenizer.stop_buffer_length = 0  # of text that is held back as it may begin a stop string


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
