"""Stop strings and stop ids: they may end what a turn says, never a call that has begun.

Owns: where vLLM's detokenizer looks for stop strings, and which stops a request that may call
can have. Stop strings are found in the API server; stop ids are looked at in the engine as well,
where another front end has let a request in. Must not know: deltas, how a reply is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.request import carrier
from enforcer.vllm.native import stock
from enforcer.vllm.replies import reply_parsers
from enforcer.vllm.server import runtime, served_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.turn.parser import Parser


def from_new_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `IncrementalDetokenizer.from_new_request`, which makes what finds stop strings."""

    def _from_new_request(cls: Any, tokenizer: Any, request: Any) -> Any:
        made = original(cls, tokenizer, request)
        wanted = request.sampling_params.structured_outputs
        if getattr(made, "stop", None) and wanted and _is_enforced(wanted.structural_tag):
            table = runtime.table_for(tokenizer)
            # vLLM's copies of a request with `n` share their constraint.
            parser = reply_parsers.begin_any(table, request.prompt_token_ids, wanted)
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
