"""What of vLLM is relied upon, and whether the installed one has it.

Owns: every name of vLLM that is replaced or used, with its signature, and the versions that
were tested. Must not know: what the replacements do.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from enforcer.errors import UnsupportedHost
from enforcer.vllm.config.names import PATCHED, TESTED_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

# Dotted name to parameters, as in every version in TESTED_VERSIONS, and in what serves
# their metrics.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "vllm.v1.structured_output.StructuredOutputManager._create_grammar": ("self", "request"),
    "vllm.v1.structured_output.StructuredOutputManager.__init__": ("self", "vllm_config"),
    "vllm.v1.structured_output.StructuredOutputManager.grammar_init": ("self", "request"),
    "vllm.sampling_params.SamplingParams._validate_structured_outputs": (
        "self",
        "model_config",
        "structured_outputs_config",
        "tokenizer",
    ),
    "vllm.v1.engine.detokenizer.IncrementalDetokenizer.from_new_request": ("tokenizer", "request"),
    "vllm.v1.engine.detokenizer.BaseIncrementalDetokenizer.update": (
        "self",
        "new_token_ids",
        "stop_terminated",
    ),
    "vllm.engine.arg_utils.EngineArgs.from_cli_args": ("args",),
    "vllm.renderers.kimi_k3.KimiK3Renderer._apply_chat_template": (
        *("self", "conversation", "params"),
    ),
    "vllm.v1.engine.core.EngineCore.preprocess_add_request": ("self", "request"),
    "vllm.v1.engine.core.EngineCoreProc._make_ready_response": ("self",),
    "vllm.v1.engine.core_client.MPClient._apply_ready_response": ("self", "payload"),
    "vllm.v1.engine.async_llm.AsyncLLM.add_request": (
        *("self", "request_id", "prompt", "params", "arrival_time", "lora_request"),
        *("tokenization_kwargs", "trace_headers", "priority", "data_parallel_rank", "session_id"),
        *("prompt_text", "reasoning_ended", "reasoning_parser_kwargs", "kv_hints"),
    ),
    "vllm.v1.engine.input_processor.InputProcessor.__init__": (
        *("self", "vllm_config", "renderer", "mm_registry"),
    ),
    "vllm.v1.engine.input_processor.InputProcessor.process_inputs": (
        *("self", "request_id", "prompt", "params", "supported_tasks", "arrival_time"),
        *("lora_request", "tokenization_kwargs", "trace_headers", "priority"),
        *("data_parallel_rank", "resumable", "session_id", "kv_hints"),
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
    "vllm.entrypoints.anthropic.serving.AnthropicServingMessages.to_chat_completion_request": (
        "anthropic_request",
        "merge_inline_system",
        "disabled_thinking_effort",
    ),
    "vllm.entrypoints.openai.chat_completion.protocol.ChatCompletionRequest.to_sampling_params": (
        "self",
        "max_tokens",
        "default_sampling_params",
    ),
    "vllm.entrypoints.openai.completion.protocol.CompletionRequest.to_sampling_params": (
        *("self", "max_tokens", "default_sampling_params"),
    ),
    "vllm.entrypoints.openai.responses.protocol.ResponsesRequest.to_sampling_params": (
        *("self", "default_max_tokens", "default_sampling_params"),
    ),
    "vllm.entrypoints.openai.responses.streaming_events.SimpleStreamingEventProcessor.__init__": (
        *("self", "state", "tools"),
    ),
    "vllm.entrypoints.openai.responses.protocol.ResponsesResponse.from_request": (
        *("request", "sampling_params", "model_name", "created_time", "output", "status"),
        *("usage", "metrics", "input_messages", "output_messages"),
        *("kv_transfer_params", "ec_transfer_params"),
    ),
    "vllm.entrypoints.serve.utils.api_utils.get_max_tokens": (
        *("max_model_len", "max_tokens", "input_length", "default_sampling_params"),
        *("override_max_tokens", "truncate_prompt_tokens"),
    ),
    "vllm.entrypoints.scale_out.token_in_token_out.protocol.GenerateRequest"
    ".is_sampling_param_provided": ("self", "name"),
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

# The same for `scores`, which a server has only if its operator wants it.
SCORES: dict[str, tuple[str, ...]] = {
    "vllm.v1.worker.gpu_model_runner.apply_grammar_bitmask": (
        *("scheduler_output", "grammar_output", "input_batch", "logits"),
    ),
    "vllm.v1.sample.sampler.Sampler.compute_logprobs": ("logits",),
    "vllm.v1.worker.gpu.structured_outputs.StructuredOutputsWorker.apply_grammar_bitmask": (
        *("self", "logits", "input_batch", "grammar_req_ids", "grammar_bitmask"),
    ),
    "vllm.v1.worker.gpu.sample.logprob.compute_topk_scores": (
        *("logits", "num_logprobs", "sampled_token_ids", "cu_num_logits"),
        *("logprob_token_ids_state", "expanded_idx_mapping", "max_per_req_token_ids"),
        "logits_mode",
    ),
}

# The same for Cohere's route, which a server has only if its operator and their SDK are there.
COHERE: dict[str, tuple[str, ...]] = {
    "vllm.entrypoints.cohere.serving.CohereServingChatV2.to_chat_completion_request": (
        *("self", "request"),
    ),
}

# What is read or set on vLLM's objects, by class. Checked against sources by `bench.compat`.
_REQUEST = (
    *("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
    *("structured_outputs", "skip_special_tokens", "vllm_xargs", "stop", "include_reasoning"),
    "spaces_between_special_tokens",
    *(
        "stop_token_ids",
        "use_beam_search",
        "extract_structured_outputs",
        "max_tokens",
        "max_completion_tokens",
        "kv_transfer_params",
        "build_chat_params",
    ),
)
_RESPONSES = (
    *("tools", "tool_choice", "parallel_tool_calls", "text", "structured_outputs"),
    *("skip_special_tokens", "vllm_xargs", "stop", "stop_token_ids", "include_reasoning"),
    *("extract_structured_outputs", "max_output_tokens", "input", "kv_transfer_params"),
    "build_chat_params",
)
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "vllm.v1.structured_output.StructuredOutputManager": (
        *("backend", "vllm_config", "tokenizer", "_grammar_bitmask"),
        "_use_async_grammar_compilation",
    ),
    "vllm.v1.request.Request": (
        *("request_id", "prompt_token_ids", "structured_output_request", "sampling_params"),
        *("is_finished", "resumable", "num_prompt_tokens", "max_tokens"),
    ),
    "vllm.v1.engine.input_processor.InputProcessor": ("tokenizer", "model_config", "vllm_config"),
    "vllm.v1.engine.EngineCoreReadyResponse": ("data_parallel_rank",),
    "vllm.v1.engine.EngineCoreRequest": ("sampling_params", "prompt_token_ids", "resumable"),
    "vllm.v1.structured_output.request.StructuredOutputRequest": (
        "reasoning_ended",
        "structured_output_key",
    ),
    "vllm.v1.structured_output.backend_types.StructuredOutputOptions": ("STRUCTURAL_TAG",),
    "vllm.sampling_params.SamplingParams": (
        *("structured_outputs", "extra_args", "allowed_token_ids", "bad_words", "logit_bias"),
        *("min_tokens", "thinking_token_budget", "bad_words_token_ids", "_bad_words_token_ids"),
        *("repetition_penalty", "clone", "max_tokens", "stop_token_ids"),
    ),
    "vllm.config.model.ModelConfig": (
        *("max_model_len", "generation_config", "override_generation_config"),
        *("get_diff_sampling_param", "logits_processors", "skip_tokenizer_init"),
    ),
    "vllm.entrypoints.openai.responses.streaming_events.SimpleStreamingEventProcessor": (
        *("close_current", "output_items"),
    ),
    "vllm.entrypoints.openai.responses.protocol.ResponsesResponse": ("incomplete_details",),
    "vllm.v1.engine.async_llm.AsyncLLM": ("model_config", "tokenizer"),
    "vllm.entrypoints.scale_out.token_in_token_out.protocol.GenerateRequest": (
        *("sampling_params", "request_id"),
    ),
    "vllm.sampling_params.StructuredOutputsParams": (
        *("json", "json_object", "regex", "choice", "grammar", "structural_tag", "_backend"),
    ),
    "vllm.config.structured_outputs.StructuredOutputsConfig": ("backend",),
    "vllm.config.kv_transfer.KVTransferConfig": ("is_kv_producer",),
    "vllm.config.vllm.VllmConfig": ("kv_transfer_config",),
    "vllm.config.speculative.SpeculativeConfig": ("rejection_sample_method",),
    "vllm.entrypoints.openai.chat_completion.protocol.ChatCompletionRequest": _REQUEST,
    "vllm.entrypoints.serve.tokenize.protocol.TokenizeChatRequest": ("build_chat_params",),
    "vllm.renderers.online_renderer.OnlineRenderer": (
        *("chat_template", "parser", "renderer", "model_config"),
    ),
    "vllm.renderers.params.ChatParams": ("chat_template_kwargs",),
    "vllm.entrypoints.openai.responses.protocol.ResponsesRequest": _RESPONSES,
    "vllm.v1.sample.logits_processor.interface.BatchUpdate": ("added", "removed", "moved"),
    "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsProcRequestState": (
        *("all_token_ids", "prompt_len", "prefill_len"),
    ),
    "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsContext": (
        *("expanded_idx_mapping", "idx_mapping_np", "input_ids", "pos"),
    ),
}


def check_version(version: str) -> bool:
    """Tell whether the plugin was tested on exactly this version.

    Args:
        version: as in `vllm.__version__`; a local part such as `+cpu` does not count.

    Returns:
        False for another patch release of a version that was tested.

    Raises:
        UnsupportedHost: neither.

    """
    release = version.partition("+")[0]
    if release in TESTED_VERSIONS:
        return True
    minor, _, patch = release.rpartition(".")
    if patch.isdigit() and minor in {tested.rpartition(".")[0] for tested in TESTED_VERSIONS}:
        return False
    raise UnsupportedHost(
        f"vLLM {version} is untested with this version of kimi-enforcer; tested are "
        f"{', '.join(TESTED_VERSIONS)} and other patch releases of them. Install one of them or "
        "a newer kimi-enforcer"
    )


def check_signatures(signatures: Mapping[str, tuple[str, ...]] = SIGNATURES) -> None:
    """Refuse a vLLM whose patched functions are not what they were.

    Raises:
        UnsupportedHost: a name is missing, or a signature differs.

    """
    for dotted, expected in signatures.items():
        target = find(dotted)
        if target is None:
            raise UnsupportedHost(f"this vLLM has no {dotted}")
        target = getattr(target, PATCHED, target)
        found = tuple(inspect.signature(target).parameters)
        if found != expected:
            raise UnsupportedHost(f"this vLLM's {dotted} takes {found}, expected {expected}")


def has_cohere() -> bool:
    """Tell whether this server has Cohere's route, as vLLM decides it: a broken SDK is none."""
    import vllm.envs

    if not getattr(vllm.envs, "VLLM_ENABLE_COHERE_API", False):
        return False
    try:
        import_module("cohere")
    except ImportError:
        return False
    return True


def find(dotted: str) -> Any:
    """Import what a dotted name stands for; None if there is no such thing.

    Raises:
        UnsupportedHost: it is there, and something that it imports is not.

    """
    module, _, name = dotted.rpartition(".")
    owner: Any
    try:
        owner = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise UnsupportedHost(f"{module} cannot be imported: {error}") from error
        owner = find(module) if "." in module else None
    return getattr(owner, name, None)
