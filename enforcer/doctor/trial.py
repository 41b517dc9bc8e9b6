"""A trial turn of vLLM's structured outputs with the plugin's patches, on an untested version.

It needs no model, engine process or tokenizer. It patches vLLM in the process that runs it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers import ToolParserManager
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from enforcer.engines.mask_rows import is_member
from enforcer.errors import UnsupportedHost
from enforcer.request import carrier, spec_text
from enforcer.request import spec as specs
from enforcer.turn import dialects
from enforcer.turn.dialect import Segment
from enforcer.vllm import patches
from enforcer.vllm.config import names, settings
from enforcer.vllm.engine import backend
from enforcer.vllm.replies.tool_parser import EnforcedToolParser
from enforcer.vllm.server import runtime
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.turn.table import Table

_DIALECT = "kimi_k2"  # any one does: what is tried is vLLM
_SECONDS = 60  # a busy machine; an idle one needs some milliseconds
_TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def try_out() -> None:
    """Run the trial turn.

    Raises:
        UnsupportedHost: a step of it went wrong, or raised.

    """
    try:
        patches.install()
        trouble = _trouble()
    except Exception as error:
        raise UnsupportedHost(f"it failed: {error!r}") from error
    if trouble:
        raise UnsupportedHost(trouble)


def _trouble() -> str:
    """Return what went wrong; empty if nothing did."""
    if ToolParserManager.get_tool_parser(names.enforced(_DIALECT)) is not EnforcedToolParser:
        return "the parser's name stood for another parser"
    with suppress(VLLMValidationError):
        _params("{}")._validate_structured_outputs(  # noqa: SLF001 - every route calls it
            SimpleNamespace(is_diffusion=False), SimpleNamespace(backend="auto"), object()
        )
        return "a forged spec was not refused"
    vocabulary = Vocabulary.of_bytes(dialects.load(_DIALECT).controls)
    tokenizer = object()
    runtime.know(tokenizer, vocabulary)
    tried = manager(tokenizer, vocabulary.size, drafts=2)
    try:
        return _turn(tried, runtime.table_for(tokenizer, _DIALECT))
    finally:
        backend.detach(tried)
        tried.executor.shutdown(wait=False)
        runtime.forget(tokenizer)


def _turn(tried: Any, table: Table) -> str:
    settled = specs.Settled(_DIALECT, settings.current().engine, settings.current().options)
    text = spec_text.write(_TOOLS, "required", True, 0, settled=settled)
    params = _params(text)
    carrier.put(params, text, carrier.digest_of(text))
    asked = Request("tried", prompt_token_ids=[], sampling_params=params, pooling_params=None)
    tried.grammar_init(asked)
    held = asked.structured_output_request
    # Compiled on another thread, or there already where vLLM wants it at once.
    getattr(held._grammar, "result", lambda _: None)(_SECONDS)  # noqa: SLF001
    if not hasattr(held.grammar, "matcher"):
        return "a spec did not become a grammar of the enforcer's"
    start = table.leaves[table.dialect.start]
    begin = next(token for token, to in start.items() if table.segment(to) is Segment.NONE)
    end = min(table.turn_end_ids)
    rows = tried.grammar_bitmask({"tried": asked}, ["tried"], {"tried": [begin]})
    if [is_member(row, begin) for row in rows[:2]] != [True, False] or is_member(rows[0], end):
        return "the masks were not those of the enforcer's grammar"
    if list(tried.validate_tokens(asked, [begin, end])) != [begin]:
        return "an illegal draft was not dropped"
    if not tried.accept_tokens(asked, [begin]) or tried.accept_tokens(asked, [end]):
        return "ids were not followed"
    return ""


def _params(spec: str) -> Any:
    tag = carrier.structural_tag(spec)
    wanted = StructuredOutputsParams(structural_tag=tag)
    return SamplingParams(max_tokens=64, structured_outputs=wanted)


def manager(tokenizer: Any, size: int, *, sequences: int = 16, drafts: int = 0) -> Any:
    """Return vLLM's own manager without an engine; its configuration has only what is read."""
    config = SimpleNamespace(
        parallel_config=SimpleNamespace(distributed_executor_backend="mp"),
        scheduler_config=SimpleNamespace(max_num_seqs=sequences),
        model_config=SimpleNamespace(
            skip_tokenizer_init=True,
            is_diffusion=False,
            max_model_len=4096,
            get_vocab_size=lambda: size,
        ),
        structured_outputs_config=SimpleNamespace(
            reasoning_parser_plugin="", reasoning_parser="", enable_in_reasoning=False
        ),
        num_speculative_tokens=drafts,
        speculative_config=None,
    )
    built = StructuredOutputManager(config)
    built.tokenizer = tokenizer
    built.executor = ThreadPoolExecutor(2)
    return built
