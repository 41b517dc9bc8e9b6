"""A turn of vLLM's own machinery with the patches in it, tried where a version is new to us.

Owns: what such a version has to do right before anything is served: a forged spec is refused,
a spec becomes a grammar of ours, its masks are applied and its drafts are checked. Must not
know: how any of it is done. A model, an engine process and a tokenizer are not needed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
from enforcer.vllm.config import names, settings
from enforcer.vllm.engine import backend
from enforcer.vllm.observe import recording
from enforcer.vllm.replies.tool_parser import EnforcedToolParser
from enforcer.vllm.server import runtime
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.table import Table

_DIALECT = "kimi_k2"  # any one does: what is tried is vLLM
_SECONDS = 60  # a busy machine; an idle one needs some milliseconds
_TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def try_out() -> None:
    """Try a turn.

    Raises:
        UnsupportedHost: something in it was not as it has to be; also where it raised.

    """
    try:
        with recording.muted():
            trouble = _trouble()
    except Exception as error:
        raise UnsupportedHost(f"the trial turn at start failed: {error!r}") from error
    if trouble:
        raise UnsupportedHost(f"the trial turn at start went wrong: {trouble}")


def _trouble() -> str:
    """Say what was wrong; nothing where all was right."""
    name = names.enforced(_DIALECT)
    if ToolParserManager.get_tool_parser(name) is not EnforcedToolParser:
        return "the parser's name stood for another parser"
    if not _refuses_a_forged_spec():
        return "a forged spec was not refused"
    dialect = dialects.load(_DIALECT)
    vocabulary = Vocabulary.of_bytes(dialect.controls)
    tokenizer = object()
    runtime.know(tokenizer, vocabulary)
    one = manager(tokenizer, vocabulary.size, drafts=2)
    try:
        return _turn(one, runtime.table_for(tokenizer, _DIALECT))
    finally:
        backend.detach(one)
        one.executor.shutdown(wait=False)
        runtime.forget(tokenizer)


def _refuses_a_forged_spec() -> bool:
    forged = SamplingParams(
        structured_outputs=StructuredOutputsParams(structural_tag=carrier.structural_tag("{}"))
    )
    config = SimpleNamespace(backend="auto")
    try:
        forged._validate_structured_outputs(  # noqa: SLF001 - what every route passes
            SimpleNamespace(is_diffusion=False), config, object()
        )
    except VLLMValidationError:
        return True
    return False


def _turn(one: Any, table: Table) -> str:
    chosen = settings.current()
    settled = specs.Settled(_DIALECT, chosen.engine, chosen.options)
    text = spec_text.write(_TOOLS, "required", True, 0, settled=settled)
    asked = request("tried", [], StructuredOutputsParams(structural_tag=text))
    carrier.put(asked.sampling_params, text, carrier.digest_of(text))
    one.grammar_init(asked)
    held = asked.structured_output_request
    # Made ready on another thread, or there already where vLLM wants it at once.
    getattr(held._grammar, "result", lambda _: None)(_SECONDS)  # noqa: SLF001
    if not hasattr(held.grammar, "matcher"):
        return "a spec did not become a grammar of the enforcer's"
    start = table.leaves[table.dialect.start]
    begin = next(token for token, to in start.items() if table.segment(to) is Segment.NONE)
    end = min(table.turn_end_ids)
    rows = one.grammar_bitmask({"tried": asked}, ["tried"], {"tried": [begin]})
    if [is_member(row, begin) for row in rows[:2]] != [True, False] or is_member(rows[0], end):
        return "the masks were not those of the enforcer's grammar"
    if list(one.validate_tokens(asked, [begin, end])) != [begin]:
        return "an illegal draft was not dropped"
    if not one.accept_tokens(asked, [begin]) or one.accept_tokens(asked, [end]):
        return "ids were not followed"
    return ""


def manager(tokenizer: Any, size: int, *, sequences: int = 16, drafts: int = 0) -> Any:
    """Build vLLM's own manager without an engine; of a configuration, it has what is read."""
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


def request(
    name: str, prompt_ids: Sequence[int], wanted: StructuredOutputsParams | None, **more: Any
) -> Any:
    """Build a request as the engine has it."""
    return Request(
        request_id=name,
        prompt_token_ids=list(prompt_ids),
        sampling_params=SamplingParams(max_tokens=64, structured_outputs=wanted),
        pooling_params=None,
        **more,
    )


def structured(tools: Any, choice: Any = "auto") -> StructuredOutputsParams:
    """Build what carries a spec."""
    return StructuredOutputsParams(**carrier.extra_body(tools, choice)["structured_outputs"])
