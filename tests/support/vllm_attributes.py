"""Attributes of vLLM's classes that `enforcer.vllm` reads or sets; `compat` checks them."""

from __future__ import annotations

_OPENAI = "vllm.entrypoints.openai"
_TOKENS = "vllm.entrypoints.scale_out.token_in_token_out.protocol"
# By class: attributes of its objects, fields and members.
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
    "vllm.renderers.online_renderer.OnlineRenderer": "parser renderer model_config",
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
