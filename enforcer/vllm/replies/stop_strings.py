"""Where vLLM looks for stop strings: they may end what a turn says, never a call that has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.request import carrier
from enforcer.turn.parser import Parser
from enforcer.vllm.native import native_tags
from enforcer.vllm.replies.reply import begin
from enforcer.vllm.server import runtime, served_model

if TYPE_CHECKING:
    from collections.abc import Sequence


def from_new_request(original: Any, cls: Any, tokenizer: Any, request: Any) -> Any:
    """Wrap `IncrementalDetokenizer.from_new_request`, whose result finds stop strings."""
    made = original(cls, tokenizer, request)
    wanted = request.sampling_params.structured_outputs
    if getattr(made, "stop", None) and wanted and _is_enforced(wanted.structural_tag):
        table, ids = runtime.table_for(tokenizer), request.prompt_token_ids
        # vLLM's copies of a request with `n` share their constraint.
        _spare_calls(made, begin(wanted, ids, lambda: Parser(table, ids)))
    return made


def _is_enforced(tag: object) -> bool:
    """Return whether calls are held to the request's tools: by a spec, or a tag of vLLM's own."""
    return carrier.from_structural_tag(tag) is not None or any(
        native_tags.concerns(tag, dialect) for dialect in served_model.dialects()
    )


def _spare_calls(detokenizer: Any, parser: Parser) -> None:
    """Make a detokenizer look for stop strings in the text before the calls alone."""
    update = detokenizer.update

    def begins_calls(token: int) -> bool:
        parser.feed([token])
        return parser.in_calls

    def _update(new_token_ids: Sequence[int], stop_terminated: bool) -> Any:  # noqa: FBT001 - vLLM's
        begins = (at for at, token in enumerate(new_token_ids) if begins_calls(token))
        at = 0 if parser.in_calls else next(begins, None)
        if at is None:
            return update(new_token_ids, stop_terminated)
        if found := update(new_token_ids[:at], False):
            return found
        detokenizer.stop = []
        detokenizer.stop_buffer_length = 0  # of text that is held back as it may begin one
        detokenizer.update = update
        return update(new_token_ids[at:], stop_terminated)

    detokenizer.update = _update
