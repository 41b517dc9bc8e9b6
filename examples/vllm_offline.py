"""vLLM without a server: `LLM.chat` with the plugin.

Needs `pip install '.[vllm]'`; vLLM loads the plugin by itself. `ENFORCER_DIALECT` names the model's
tool-call format if it is not Kimi K2's. A request that cannot be enforced is a
`vllm.exceptions.VLLMValidationError`. The settings of `LLM` are those of a small model on a CPU.
"""

import os
from pathlib import Path

# The engine in this process. In another one it imports this file again, from below `main` on.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

import enforcer

MODEL = Path(__file__).parents[1] / "bench" / "models" / "tiny-kimi"
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
MESSAGES = [{"role": "user", "content": "What is the weather in Paris?"}]


def main() -> None:
    llm = LLM(str(MODEL), dtype="float32", enforce_eager=True, kv_cache_memory_bytes=2**29)
    spec = enforcer.extra_body(TOOLS, "required", messages=MESSAGES)["structured_outputs"]
    params = SamplingParams(max_tokens=512, structured_outputs=StructuredOutputsParams(**spec))
    (reply,) = llm.chat(MESSAGES, params, tools=TOOLS)
    e = enforcer.Enforcer.from_tokenizer(llm.get_tokenizer())
    turn = e.parse(reply.outputs[0].token_ids, reply.prompt_token_ids, tools=TOOLS)
    for call in turn.calls:
        print(call.id, call.name, call.arguments)


if __name__ == "__main__":
    main()
