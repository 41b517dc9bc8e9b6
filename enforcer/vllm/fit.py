"""Facts about vLLM that the plugin relies on, and whether the installed one has them.

The functions that are replaced stand in `patches`, with their parameters. `python -m bench.compat`
checks all of it against the sources of a version.
"""

from __future__ import annotations

import inspect
from fnmatch import fnmatchcase
from importlib import import_module
from typing import TYPE_CHECKING, Any

from enforcer.errors import UnsupportedHost
from enforcer.vllm.config.names import PATCHED, TESTED_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OPENAI = "vllm.entrypoints.openai"
_TOKENS = "vllm.entrypoints.scale_out.token_in_token_out.protocol"
_PARSER = "vllm.parser.abstract_parser"
# Functions that are called or overridden, with their parameters: `is_signature`.
USED = {
    "vllm.v1.engine.detokenizer.BaseIncrementalDetokenizer.update": (
        "self, new_token_ids, stop_terminated"
    ),
    "vllm.renderers.kimi_k3.KimiK3Renderer._apply_chat_template": "self, conversation, params",
    f"{_PARSER}.DelegatingParser._apply_structural_tag": "self, request",
    f"{_OPENAI}.chat_completion.protocol.ChatCompletionRequest.to_sampling_params": (
        "self, max_tokens, default_sampling_params"
    ),
    f"{_OPENAI}.completion.protocol.CompletionRequest.to_sampling_params": (
        "self, max_tokens, default_sampling_params"
    ),
    f"{_OPENAI}.responses.protocol.ResponsesRequest.to_sampling_params": (
        "self, default_max_tokens, default_sampling_params"
    ),
    "vllm.entrypoints.serve.utils.api_utils.get_max_tokens": (
        "max_model_len, max_tokens, input_length, default_sampling_params, override_max_tokens, *"
    ),
    f"{_TOKENS}.GenerateRequest.is_sampling_param_provided": "self, name",
    f"{_PARSER}.Parser.parse": (
        "self, model_output, request, enable_auto_tools, model_output_token_ids"
    ),
    f"{_PARSER}.Parser.parse_delta": (
        "self, delta_text, delta_token_ids, request, prompt_token_ids, finished"
    ),
    f"{_PARSER}.Parser.adjust_request": "self, request",
    f"{_PARSER}.Parser.set_prompt_token_ids": "self, prompt_token_ids",
}

# Attributes of objects, fields and members that are read or set, by class.
ATTRIBUTES = {
    "vllm.v1.structured_output.StructuredOutputManager": (
        "backend vllm_config tokenizer _grammar_bitmask _use_async_grammar_compilation"
    ),
    "vllm.v1.request.Request": (
        "request_id prompt_token_ids structured_output_request sampling_params is_finished "
        "resumable num_prompt_tokens max_tokens"
    ),
    "vllm.v1.engine.input_processor.InputProcessor": "tokenizer model_config vllm_config",
    "vllm.v1.engine.EngineCoreReadyResponse": "data_parallel_rank",
    "vllm.v1.engine.EngineCoreRequest": "sampling_params prompt_token_ids resumable",
    "vllm.v1.structured_output.request.StructuredOutputRequest": (
        "reasoning_ended structured_output_key"
    ),
    "vllm.v1.structured_output.backend_types.StructuredOutputOptions": "STRUCTURAL_TAG",
    "vllm.sampling_params.SamplingParams": (
        "structured_outputs extra_args allowed_token_ids bad_words logit_bias min_tokens "
        "thinking_token_budget bad_words_token_ids _bad_words_token_ids repetition_penalty "
        "clone max_tokens stop_token_ids"
    ),
    "vllm.config.model.ModelConfig": (
        "max_model_len generation_config override_generation_config get_diff_sampling_param "
        "logits_processors skip_tokenizer_init"
    ),
    f"{_OPENAI}.responses.streaming_events.SimpleStreamingEventProcessor": (
        "close_current output_items"
    ),
    f"{_OPENAI}.responses.protocol.ResponsesResponse": "incomplete_details",
    "vllm.v1.engine.async_llm.AsyncLLM": "model_config tokenizer",
    f"{_TOKENS}.GenerateRequest": "sampling_params request_id",
    "vllm.sampling_params.StructuredOutputsParams": (
        "json json_object regex choice grammar structural_tag _backend"
    ),
    "vllm.config.structured_outputs.StructuredOutputsConfig": "backend",
    "vllm.config.kv_transfer.KVTransferConfig": "is_kv_producer",
    "vllm.config.vllm.VllmConfig": "kv_transfer_config",
    "vllm.config.speculative.SpeculativeConfig": "rejection_sample_method",
    f"{_OPENAI}.chat_completion.protocol.ChatCompletionRequest": (
        "messages tools tool_choice parallel_tool_calls response_format structured_outputs "
        "skip_special_tokens vllm_xargs stop include_reasoning spaces_between_special_tokens "
        "stop_token_ids use_beam_search extract_structured_outputs max_tokens "
        "max_completion_tokens kv_transfer_params build_chat_params"
    ),
    "vllm.entrypoints.serve.tokenize.protocol.TokenizeChatRequest": "build_chat_params",
    "vllm.renderers.online_renderer.OnlineRenderer": "chat_template parser renderer model_config",
    "vllm.renderers.params.ChatParams": "chat_template_kwargs",
    f"{_OPENAI}.responses.protocol.ResponsesRequest": (
        "tools tool_choice parallel_tool_calls text structured_outputs skip_special_tokens "
        "vllm_xargs stop stop_token_ids include_reasoning extract_structured_outputs "
        "max_output_tokens input kv_transfer_params build_chat_params"
    ),
    "vllm.v1.sample.logits_processor.interface.BatchUpdate": "added removed moved",
    "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsProcRequestState": (
        "all_token_ids prompt_len prefill_len"
    ),
    "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsContext": (
        "expanded_idx_mapping idx_mapping_np input_ids pos"
    ),
}


def check_version(version: str) -> bool:
    """Return whether the plugin was tested on exactly this version.

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


def check_signatures(signatures: Mapping[str, str] = USED) -> None:
    """Raise if a function of this vLLM is missing, or has other parameters.

    Raises:
        UnsupportedHost: it says which.

    """
    for dotted, expected in signatures.items():
        target = find(dotted)
        if target is None:
            raise UnsupportedHost(f"this vLLM has no {dotted}")
        found = inspect.signature(getattr(target, PATCHED, target)).parameters
        if not is_signature(found, expected):
            raise UnsupportedHost(
                f"this vLLM's {dotted} takes ({', '.join(found)}), expected ({expected})"
            )


def is_signature(found: Iterable[str], expected: str) -> bool:
    """Return whether parameters are those that are expected, where `*` stands for any."""
    return fnmatchcase(", ".join(found), expected)


def has_cohere() -> bool:
    """Return whether this server has Cohere's route, as vLLM decides: a broken SDK is none."""
    import vllm.envs

    if not getattr(vllm.envs, "VLLM_ENABLE_COHERE_API", False):
        return False
    try:
        import_module("cohere")
    except ImportError:
        return False
    return True


def find(dotted: str) -> Any:
    """Return the object of a dotted name, imported; None if there is none.

    Raises:
        UnsupportedHost: its module is there, and a module that it imports is not.

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
