"""The formats: their dialects, and the parsers, tokenizers and prompts that go with them.

Owns: one row a format, and one for each further tokenizer that tests take it over. Must not know:
what a dialect file says, vLLM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and what stands around it when vLLM serves a model that writes it.

    Attributes:
        name: of the dialect.
        parser: vLLM's `--tool-call-parser`.
        vocabulary: one of `vocabularies.NAMES`.
        end: the token that ends a turn without calls.
        opening: how the prompt of its chat template opens a turn without a think.
        think: likewise with a think to come; empty if its models do not think.
        reasoning: vLLM's `--reasoning-parser`; empty if its models do not think.
        parallel: whether a turn may have several calls, as stock vLLM reads it.
        speaks: whether a turn with calls may have text, too.
        strict: whether `--tool-strict-level` does anything.
        call: what stands where a call, or a list of them, begins; empty if nothing does, as
            where a turn is calls from its first character on.
        markers: what must never be in a content, `call` and `end` besides.
        lead: what a turn has between its text and the first call's own; `call` if empty.
        ends: further tokens that end a turn.

    """

    name: str
    parser: str
    vocabulary: str
    end: str
    opening: str
    think: str = ""
    reasoning: str = ""
    parallel: bool = True
    speaks: bool = True
    strict: bool = False
    call: str = ""
    markers: tuple[str, ...] = ()
    lead: str = ""
    ends: tuple[str, ...] = ()


_CHATML = "<|im_start|>assistant\n"

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            *("kimi_k2", "kimi_k2", "kimi_k2", "<|im_end|>"),
            opening="<|im_assistant|>assistant<|im_middle|>",
            think="<|im_assistant|>assistant<|im_middle|><think>",
            reasoning="kimi_k2",
            strict=True,
            call="<|tool_call_begin|>",
            markers=(
                "<|tool_calls_section_begin|>",
                "<|tool_calls_section_end|>",
                "<|tool_call_end|>",
                "<|tool_call_argument_begin|>",
            ),
            lead="<|tool_calls_section_begin|>",
        ),
        Format(
            *("kimi_k3", "kimi_k3", "kimi_k3", "<|end_of_msg|>"),
            opening='<|open|>message role="assistant"<|sep|><|open|>response<|sep|>',
            think='<|open|>message role="assistant"<|sep|><|open|>think<|sep|>',
            reasoning="kimi_k3",
            strict=True,
            call="<|open|>call",
            markers=("<|open|>", "<|close|>", "<|sep|>"),
            lead="<|close|>response<|sep|><|open|>tools<|sep|>",
        ),
        Format(
            *("hermes", "hermes", "qwen3", "<|im_end|>"),
            opening=_CHATML + "<think>\n\n</think>\n\n",
            think=_CHATML,
            reasoning="qwen3",
            strict=True,
            call="<tool_call>",
            markers=("</tool_call>",),
        ),
        Format(
            *("mistral_v3", "mistral", "mistral_v3", "</s>"),
            opening="[INST] Hi[/INST]",
            call="[TOOL_CALLS]",
            speaks=False,
        ),
        Format(
            *("mistral", "mistral", "tekken_v13", "</s>"),
            opening="[INST]Hi[/INST]",
            think="[INST]Hi[/INST]",
            reasoning="mistral",
            call="[TOOL_CALLS]",
            markers=("[ARGS]",),
        ),
        Format(
            *("llama3_json", "llama3_json", "llama3", "<|eot_id|>"),
            opening="<|start_header_id|>assistant<|end_header_id|>\n\n",
            strict=True,
            speaks=False,
            markers=("<|python_tag|>",),
            ends=("<|eom_id|>",),
            lead="{",
        ),
        Format(
            *("pythonic", "pythonic", "llama3", "<|eot_id|>"),
            opening="<|start_header_id|>assistant<|end_header_id|>\n\n",
            speaks=False,
            ends=("<|eom_id|>",),
            lead="[",
        ),
        Format(
            *("llama4_pythonic", "llama4_pythonic", "llama4", "<|eot|>"),
            opening="<|header_start|>assistant<|header_end|>\n\n",
            speaks=False,
            markers=("<|python_start|>", "<|python_end|>"),
            ends=("<|eom|>",),
            lead="[",
        ),
        Format(
            *("granite", "granite", "granite", "<|end_of_text|>"),
            opening="<|start_of_role|>assistant<|end_of_role|>",
            call="<|tool_call|>",
            markers=("<tool_call>",),
        ),
        Format(
            *("granite_20b_fc", "granite-20b-fc", "granite_20b", "<|endoftext|>"),
            opening="ASSISTANT: ",
            call="<function_call>",
        ),
        Format(
            *("internlm", "internlm", "internlm", "<|im_end|>"),
            opening=_CHATML,
            parallel=False,
            call="<|action_start|>",
            markers=("<|action_end|>", "<|plugin|>"),
        ),
        Format(
            *("jamba", "jamba", "jamba", "<|eom|>"),
            opening="<|bom|><|assistant|>",
            call="<tool_calls>",
            markers=("</tool_calls>",),
        ),
        Format(
            *("deepseek_v3", "deepseek_v3", "deepseek_r1", "<｜end▁of▁sentence｜>"),
            opening="<｜Assistant｜>",
            think="<｜Assistant｜><think>\n",
            reasoning="deepseek_r1",
            strict=True,
            call="<｜tool▁call▁begin｜>",
            markers=(
                "<｜tool▁calls▁begin｜>",
                "<｜tool▁calls▁end｜>",
                "<｜tool▁call▁end｜>",
                "<｜tool▁sep｜>",
            ),
            lead="<｜tool▁calls▁begin｜>",
        ),
        Format(
            *("deepseek_v31", "deepseek_v31", "deepseek_v31", "<｜end▁of▁sentence｜>"),
            opening="<｜Assistant｜></think>",
            think="<｜Assistant｜><think>",
            reasoning="deepseek_v3",
            strict=True,
            call="<｜tool▁call▁begin｜>",
            markers=(
                "<｜tool▁calls▁begin｜>",
                "<｜tool▁calls▁end｜>",
                "<｜tool▁call▁end｜>",
                "<｜tool▁sep｜>",
            ),
            lead="<｜tool▁calls▁begin｜>",
        ),
        Format(
            *("qwen3_coder", "qwen3_coder", "qwen3", "<|im_end|>"),
            opening=_CHATML,
            think=_CHATML + "<think>\n",
            reasoning="qwen3",
            strict=True,
            call="<tool_call>",
            markers=("</tool_call>", "<function="),
            lead="<tool_call>",
        ),
        Format(
            *("glm45", "glm45", "glm47", "<|user|>"),
            opening="<|assistant|></think>",
            think="<|assistant|><think>",
            reasoning="glm45",
            strict=True,
            call="<tool_call>",
            markers=("</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
            ends=("<|observation|>",),
        ),
        Format(
            *("minimax_m2", "minimax_m2", "minimax_m2", "[e~["),
            opening="]~b]ai\n",
            think="]~b]ai\n<think>\n",
            reasoning="minimax_m2",
            strict=True,
            call="<minimax:tool_call>",
            markers=("</minimax:tool_call>", "<invoke name="),
            lead="<minimax:tool_call>",
        ),
    )
}

_FURTHER = (
    # Qwen2.5 has neither think nor its tokens.
    replace(FORMATS["hermes"], vocabulary="qwen2.5", opening=_CHATML, think="", reasoning=""),
    replace(
        FORMATS["hermes"], vocabulary="mistral_v1_chatml", opening=_CHATML, think="", reasoning=""
    ),
    replace(FORMATS["mistral_v3"], vocabulary="tekken_v3", opening="[INST]Hi[/INST]"),
    replace(FORMATS["deepseek_v3"], vocabulary="deepseek_v3", think="", reasoning=""),
    replace(FORMATS["qwen3_coder"], vocabulary="qwen3.5"),
    replace(FORMATS["glm45"], vocabulary="glm45"),
)
# By the name of the format, and of the tokenizer where it is not that of `FORMATS`.
ROWS: Mapping[str, Format] = {
    **FORMATS,
    **{f"{row.name}/{row.vocabulary}": row for row in _FURTHER},
}
