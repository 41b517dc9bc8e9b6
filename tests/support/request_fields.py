"""The fields of vLLM's requests, each under the part that it plays for an enforced reply.

Owns: which fields have been considered. Must not know: how any of them is handled. `compat`
names those of a version that stand in no list here: whoever adds one looks first whether it can end
a reply inside a call, forbid what a reply must have, or replace the constraint.
"""

from __future__ import annotations

CLASSES = (
    "vllm.entrypoints.openai.chat_completion.protocol.ChatCompletionRequest",
    "vllm.entrypoints.openai.completion.protocol.CompletionRequest",
    "vllm.entrypoints.openai.responses.protocol.ResponsesRequest",
    "vllm.sampling_params.SamplingParams",
    "vllm.sampling_params.StructuredOutputsParams",
)

# Rejected beside a spec, for some of their values at least: the table in docs/vllm.md says which.
REJECTED = frozenset(
    {
        *("allowed_token_ids", "bad_words", "logit_bias", "min_tokens", "repetition_penalty"),
        *("response_format", "stop_token_ids", "thinking_token_budget", "trace_decode_token_ids"),
        *("structural_tag", "use_beam_search", "vllm_xargs"),
    }
)
# Read by the plugin, or set by it: they say what is enforced, or how a reply is read.
READ = frozenset(
    {
        *("tools", "tool_choice", "parallel_tool_calls", "structured_outputs", "text"),
        *("json", "regex", "choice", "grammar", "json_object", "extra_args"),
        *("include_reasoning", "skip_special_tokens", "spaces_between_special_tokens"),
        *("messages", "input", "prompt", "previous_response_id", "kv_transfer_params"),
        *("continue_final_message", "request_id"),
    }
)
# End a reply: with an unfinished call reported as none (decision 0006), or never inside a call.
ENDS = frozenset(
    {
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "repetition_detection"),
        *("stop", "include_stop_str_in_output", "ignore_eos"),
    }
)
# Choose among the token ids that the mask allows.
SAMPLES = frozenset(
    {
        *("n", "seed", "temperature", "top_k", "top_p", "min_p", "watermarking"),
        *("frequency_penalty", "presence_penalty", "length_penalty"),
    }
)
# Change the prompt alone. Where a turn starts is read from its token ids.
PROMPT = frozenset(
    {
        *("add_generation_prompt", "add_special_tokens", "chat_template", "chat_template_kwargs"),
        *("documents", "echo", "instructions", "media_io_kwargs", "mm_processor_kwargs"),
        *("previous_input_messages", "prompt_embeds", "reasoning", "reasoning_effort", "suffix"),
        *("truncate_prompt_tokens", "truncation", "truncation_side"),
    }
)
# Say what is reported of a reply or its prompt, and in which pieces.
REPORTS = frozenset(
    {
        *("background", "enable_response_messages", "flat_logprobs", "include", "logprobs"),
        *("detokenize", "output_text_buffer_length"),
        *("logprob_token_ids", "mm_payload", "output_kind", "prompt_logprob_start"),
        *("prompt_logprob_token_ids", "prompt_logprobs", "return_mm_kwargs", "return_prompt_text"),
        *("return_token_ids", "return_token_offsets", "return_tokens_as_token_ids"),
        *("return_weight_versions", "routed_experts_prompt_start", "store", "stream"),
        *("stream_interval", "stream_options", "top_logprobs"),
    }
)
# Of the server's running, of accounts, or of tools that the server itself runs.
SERVES = frozenset(
    {
        *("cache_salt", "ec_transfer_params", "max_tool_calls", "metadata", "model", "priority"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
        *("safety_identifier", "service_tier", "session_id", "skip_clone"),
        *("skip_reading_prefix_cache", "user"),
    }
)
# Options of backends that our matcher takes the place of.
OF_OTHER_BACKENDS = frozenset(
    {"disable_additional_properties", "disable_any_whitespace", "whitespace_pattern"}
)
CONSIDERED = REJECTED | READ | ENDS | SAMPLES | PROMPT | REPORTS | SERVES | OF_OTHER_BACKENDS
