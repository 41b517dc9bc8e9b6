"""What `docs/formats.md` says of a format that neither its dialect nor a measurement has.

Owns: the models that write it, and what stock vLLM 0.32 leaves open; a format need not be here.
Must not know: the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_TAG = (
    "No structural tag: `--tool-strict-level` does nothing, and a demanded call is forced into "
    "generic JSON that is not the model's format."
)
_TEXT = "Stock reads the detokenized text, so that a marker typed inside a string ends the call."


@dataclass(frozen=True, slots=True)
class Note:
    """A format's models, and what its stock parser and structural tag leave open."""

    models: str
    stock: str


NOTES: Mapping[str, Note] = {
    "kimi_k2": Note(
        "Kimi K2-Instruct, K2-Thinking, K2.5 and after",
        "The tag leaves the index, white space and marker tokens inside strings open; an open "
        "think is not constrained at all.",
    ),
    "kimi_k3": Note(
        "Kimi K3",
        "The tag permits duplicate keys, closes open schemas, frees every key and value of a tool "
        "with one union or `$ref`, and reads neither `pattern` nor `format`. An open think is "
        "not constrained. Arguments are held back until a value ends.",
    ),
    "hermes": Note(
        "Hermes 2 and 3, Qwen2.5, Qwen3",
        "The tag admits `</tool_call>` inside a string, and stock then loses the call. " + _TEXT,
    ),
    "mistral_v3": Note("Mistral 7B v0.3, Nemo: tokenizers before v11", _NO_TAG),
    "mistral": Note(
        "Mistral Small 3, Magistral, Devstral: tokenizers v11 and after",
        "In the tokenizer mode `mistral` vLLM sets a grammar with any name and any object unless "
        "a tool is strict, and with mistral-common 1.13.1 raises; in the mode `hf` nothing is set.",
    ),
    "llama3_json": Note(
        "Llama 3.1 to 3.3",
        "The parser `llama4_json` is the same one. It asks for `<|python_tag|>`, which Llama 4's "
        "tokenizer does not have: neither stock vLLM nor this format starts with it. "
        'The tag is triggered by `{"name": ` alone: `{"name":"evil"` and `{"type": …, '
        '"name": "evil"` pass at level `parameter` and are read as calls.',
    ),
    "pythonic": Note("Llama 3.2, ToolACE", _NO_TAG),
    "llama4_pythonic": Note("Llama 4", _NO_TAG),
    "granite": Note("Granite 3.0 and 3.1", _NO_TAG),
    "granite_20b_fc": Note("Granite 20B FunctionCalling", _NO_TAG + " " + _TEXT),
    "internlm": Note(
        "InternLM 2 and 2.5", _NO_TAG + " A second call in a turn raises: one is all that is legal."
    ),
    "jamba": Note("Jamba 1.5", _NO_TAG),
    "deepseek_v3": Note(
        "DeepSeek V3, R1",
        "The tag demands the line break between calls, and admits line breaks inside the "
        "arguments, with which the parser drops the call.",
    ),
    "deepseek_v31": Note(
        "DeepSeek V3.1",
        "The tag admits line breaks inside the arguments, with which the parser drops the call.",
    ),
    "phi4_mini_json": Note(
        "Phi-4-mini",
        _NO_TAG + " Streamed, its calls are lost. This format is here to show how one is added.",
    ),
    "qwen3_coder": Note(
        "Qwen3-Coder, Qwen3.5",
        "The tag is triggered by `<tool_call>⏎<function=` alone: without the line break, and "
        "without `<tool_call>`, calls to anything pass and are read. It forces the schema's order.",
    ),
    "glm45": Note(
        "GLM-4.5, 4.6, 4.7",
        "The tag constrains names alone by default; at level `parameter` it forces the schema's "
        "order. Values are retyped by the schema after they were checked.",
    ),
    "minimax_m2": Note(
        "MiniMax-M2", "The tag knows one framing; what it does not know passes as text."
    ),
}
