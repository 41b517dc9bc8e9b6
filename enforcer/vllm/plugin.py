"""What `register` does to vLLM: the patches, and the proof that they still fit.

Owns: every name of vLLM that is replaced or relied upon, with its signature. Must
not know: what the replacements do.

Idempotent. On an untested version, or where a name or signature is not as it was,
it raises, so that the server does not start rather than run unenforced.
"""

from __future__ import annotations

import inspect
import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from enforcer import dialect as dialects
from enforcer.errors import UnsupportedHost
from enforcer.vllm import settings
from enforcer.vllm.names import PARSER_NAME, TESTED_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("vllm.enforcer")

_MARK = "_enforcer_original"

# Dotted name to parameters, as in every version in TESTED_VERSIONS, and in what serves
# their metrics.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "vllm.v1.structured_output.StructuredOutputManager._create_grammar": ("self", "request"),
    "vllm.v1.structured_output.backend_xgrammar.XgrammarBackend.compile_grammar": (
        "self",
        "request_type",
        "grammar_spec",
        "stop_token_ids",
    ),
    "vllm.sampling_params.SamplingParams._validate_structured_outputs": (
        "self",
        "model_config",
        "structured_outputs_config",
        "tokenizer",
    ),
    "vllm.parser.abstract_parser.DelegatingParser._apply_structural_tag": ("self", "request"),
    "vllm.parser.parser_manager.ParserManager._compose_parser": (
        "tool_parser_name",
        "reasoning_parser_name",
        "enable_auto_tools",
        "model_name",
        "is_harmony",
        "tool_strict_level",
        "tokenizer",
    ),
    "vllm.entrypoints.openai.chat_completion.protocol.ChatCompletionRequest"
    ".to_beam_search_params": ("self", "max_tokens", "default_sampling_params"),
    "vllm.entrypoints.openai.completion.protocol.CompletionRequest.to_beam_search_params": (
        "self",
        "max_tokens",
        "default_sampling_params",
    ),
    "vllm.renderers.online_renderer.OnlineRenderer.preprocess_completion": (
        "self",
        "request",
        "prompt_input",
        "prompt_embeds",
        "skip_mm_cache",
    ),
    "vllm.renderers.online_renderer.OnlineRenderer.preprocess_chat": (
        "self",
        "request",
        "messages",
        "default_template",
        "default_template_content_format",
        "default_template_kwargs",
        "tool_dicts",
        "parser",
        "skip_mm_cache",
    ),
    "prometheus_client.multiprocess.MultiProcessCollector.__init__": ("self", "registry", "path"),
    "vllm.parser.abstract_parser.Parser.parse": (
        "self",
        "model_output",
        "request",
        "enable_auto_tools",
        "model_output_token_ids",
    ),
    "vllm.parser.abstract_parser.Parser.parse_delta": (
        "self",
        "delta_text",
        "delta_token_ids",
        "request",
        "prompt_token_ids",
        "finished",
    ),
    "vllm.parser.abstract_parser.Parser.adjust_request": ("self", "request"),
    "vllm.parser.abstract_parser.Parser.set_prompt_token_ids": ("self", "prompt_token_ids"),
}

# What is read or set on vLLM's objects, by class. Checked against sources by `bench.compat`.
_REQUEST = (
    *("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
    *("structured_outputs", "skip_special_tokens", "vllm_xargs", "stop", "include_reasoning"),
    *("use_beam_search", "extract_structured_outputs", "max_tokens", "max_completion_tokens"),
)
_RESPONSES = (
    *("tools", "tool_choice", "parallel_tool_calls", "text", "structured_outputs"),
    *("skip_special_tokens", "vllm_xargs", "stop", "include_reasoning"),
    *("extract_structured_outputs", "max_output_tokens"),
)
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "vllm.v1.structured_output": ("XgrammarBackend",),
    "vllm.v1.structured_output.StructuredOutputManager": ("backend", "grammar_init"),
    "vllm.v1.request.Request": ("request_id", "prompt_token_ids", "structured_output_request"),
    "vllm.v1.structured_output.request.StructuredOutputRequest": (
        "reasoning_ended",
        "structured_output_key",
    ),
    "vllm.v1.structured_output.backend_types.StructuredOutputBackend": ("tokenizer", "vocab_size"),
    "vllm.v1.structured_output.backend_types.StructuredOutputOptions": ("STRUCTURAL_TAG",),
    "vllm.sampling_params.SamplingParams": (
        *("structured_outputs", "extra_args", "allowed_token_ids", "bad_words", "logit_bias"),
        *("min_tokens", "thinking_token_budget"),
    ),
    "vllm.sampling_params.StructuredOutputsParams": (
        *("json", "json_object", "regex", "choice", "grammar", "structural_tag"),
    ),
    "vllm.config.structured_outputs.StructuredOutputsConfig": ("backend",),
    "vllm.config.speculative.SpeculativeConfig": ("rejection_sample_method",),
    "vllm.entrypoints.openai.chat_completion.protocol.ChatCompletionRequest": _REQUEST,
    "vllm.entrypoints.openai.responses.protocol.ResponsesRequest": _RESPONSES,
    "vllm.v1.sample.logits_processor.interface.BatchUpdate": ("added", "removed", "moved"),
    "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsProcRequestState": (
        *("all_token_ids", "prompt_len", "prefill_len"),
    ),
    "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsContext": (
        *("expanded_idx_mapping", "idx_mapping_np", "input_ids", "pos"),
    ),
}


def install() -> None:
    """Patch vLLM in this process.

    Raises:
        UnsupportedHost: this vLLM is not one that the plugin was tested on.
        ConfigurationError: a setting of the operator is wrong, its dialect unknown.

    """
    import vllm
    import vllm.envs

    check_version(vllm.__version__)
    look_at_front_end(vllm.envs)
    dialects.load(settings.current().dialect)
    from prometheus_client import multiprocess
    from vllm import sampling_params
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest
    from vllm.parser.abstract_parser import DelegatingParser
    from vllm.parser.parser_manager import ParserManager
    from vllm.renderers.online_renderer import OnlineRenderer
    from vllm.tool_parsers import ToolParserManager
    from vllm.v1 import structured_output

    check_signatures()
    from enforcer.vllm import backend, frontend, metrics, requests, tool_parser

    structured_output.XgrammarBackend = backend.EnforcerBackend
    _wrap(structured_output.StructuredOutputManager, "_create_grammar", backend.create_grammar)
    _wrap(
        sampling_params.SamplingParams,
        "_validate_structured_outputs",
        frontend.validate_structured_outputs,
    )
    for request in (ChatCompletionRequest, CompletionRequest):
        _wrap(request, "to_beam_search_params", frontend.beam_search_params)
    _wrap(ParserManager, "_compose_parser", tool_parser.compose_parser)
    _wrap(DelegatingParser, "_apply_structural_tag", tool_parser.apply_structural_tag)
    _wrap(
        OnlineRenderer,
        "preprocess_chat",
        lambda original: frontend.rendered(requests.preprocess_chat(original, tool_parser.is_ours)),
    )
    _wrap(OnlineRenderer, "preprocess_completion", frontend.rendered)
    _wrap(multiprocess.MultiProcessCollector, "__init__", metrics.collecting)
    metrics.install()
    ToolParserManager.register_module(
        PARSER_NAME, force=True, module=tool_parser.EnforcedToolParser
    )


def check_version(version: str) -> None:
    """Refuse a version that the plugin was not tested on.

    Args:
        version: as in `vllm.__version__`; a local part such as `+cpu` does not count.

    Raises:
        UnsupportedHost: it was not.

    """
    if version.partition("+")[0] not in TESTED_VERSIONS:
        raise UnsupportedHost(
            f"vLLM {version} is untested with this version of kimi-enforcer; tested are "
            f"{', '.join(TESTED_VERSIONS)}. Install one of them or a newer kimi-enforcer, or "
            "set VLLM_PLUGINS to a list without `enforcer` to serve without enforcement"
        )


def look_at_front_end(environment: Any) -> None:
    """Say what is enforced behind a front end that is not written in Python.

    No plugin sees requests there, but the engine does; see `enforcer.vllm.stock`.

    Args:
        environment: vLLM's `envs`.

    """
    if getattr(environment, "VLLM_USE_RUST_FRONTEND", False):
        logger.warning(
            "vLLM's Rust front end loads no plugins. The engine enforces the tool calls that it "
            "asks for: `tool_choice` required or named; auto with --tool-strict-level function or "
            "parameter, or with a strict tool. Arguments fit the tool's schema only at level "
            "parameter or for a strict tool; else they are any object. Not enforced: replies that "
            "the front end reads no calls from (no tools, `tool_choice` none), and auto below "
            "level function. Start with --tool-call-parser kimi_k2 --tool-strict-level parameter"
        )


def check_signatures() -> None:
    """Refuse a vLLM whose patched functions are not what they were.

    Raises:
        UnsupportedHost: a name is missing, or a signature differs.

    """
    for dotted, expected in SIGNATURES.items():
        target = _find(dotted)
        if target is None:
            raise UnsupportedHost(f"this vLLM has no {dotted}")
        target = getattr(target, _MARK, target)
        found = tuple(inspect.signature(target).parameters)
        if found != expected:
            raise UnsupportedHost(f"this vLLM's {dotted} takes {found}, expected {expected}")


def _find(dotted: str) -> Any:
    """Import what a dotted name stands for; None if there is no such thing."""
    module, _, name = dotted.rpartition(".")
    owner: Any
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        owner = _find(module) if "." in module else None
    return getattr(owner, name, None)


def _wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method by one made from the original, once."""
    found = inspect.getattr_static(owner, name)
    is_class_method = isinstance(found, classmethod)
    original = found.__func__ if is_class_method else found
    if hasattr(original, _MARK):
        return
    wrapped = make(original)
    # A bound class method shows its signature without `cls`, so keep it bound.
    setattr(wrapped, _MARK, getattr(owner, name) if is_class_method else original)
    setattr(owner, name, classmethod(wrapped) if is_class_method else wrapped)
