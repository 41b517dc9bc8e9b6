"""`vllm.LLM` without a server: a spec in the sampling parameters is enforced as well."""

import json
import os
import sys

import pytest

from bench.matrix import modes
from tests.processes import run
from tests.vllm_servers import TINY, reader

pytestmark = pytest.mark.vllm

# As the example of the docs, which `test_snippets.py` runs; and then more of the same.
SCRIPT = """
import json, sys
import enforcer, torch, vllm
from vllm.sampling_params import StructuredOutputsParams

model, tools, messages = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
# vLLM adds a token to the tokenizer for embeddings, which the model has no id for.
small = dict(dtype="float32", enforce_eager=True, max_model_len=2048, max_num_seqs=8)
llm = vllm.LLM(model, **small, enable_prompt_embeds=True)
spec = enforcer.extra_body(tools, "required", messages=messages)["structured_outputs"]
params = vllm.SamplingParams(
    max_tokens=150,
    temperature=1.0,
    skip_special_tokens=False,
    structured_outputs=StructuredOutputsParams(**spec),
)
chats = llm.chat([messages] * 6, params, tools=tools)
prompts = llm.generate(["Hi"] * 6, params)
embedded = llm.generate([{"prompt_embeds": torch.zeros(4, 192)}] * 3, params)
out = [[o.prompt_token_ids, list(o.outputs[0].token_ids)] for o in (*chats, *prompts, *embedded)]
print("\\n" + json.dumps(out))
"""


def test_chat_and_generate() -> None:
    body = modes.body("required", "-", stream=False)
    names = {tool["function"]["name"] for tool in body["tools"]}
    arguments = [str(TINY), json.dumps(body["tools"]), json.dumps(body["messages"])]
    own = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_PLUGINS": "enforcer"}
    own |= {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = run(sys.executable, "-c", SCRIPT, *arguments, env={**os.environ, **own})
    assert done.returncode == 0, done.stderr[-3000:]
    e = reader(TINY)
    finished = 0
    for prompt_ids, token_ids in json.loads(done.stdout.splitlines()[-1]):
        turn = e.parse(token_ids, prompt_ids)
        assert turn.stray is None
        assert all(call.name in names for call in turn.calls)
        assert [call.index for call in turn.calls] == list(range(1, len(turn.calls) + 1))
        finished += turn.ended and bool(turn.calls)
    assert finished > 6
