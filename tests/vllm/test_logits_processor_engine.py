"""The logits processor in vLLM's real engine, offline, without the plugin."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.engine_cases import closed
from tests.processes import run
from tests.support.tools import tool
from tests.vllm_servers import reader

pytestmark = [pytest.mark.vllm, pytest.mark.long]


OK = {"type": "boolean"}
TOOLS = [
    tool("count", closed({"n": {"enum": [1, 2, 30]}, "ok": OK}, "n")),
    tool("count_all", closed({"n": {"enum": [4, "five"]}, "ok": OK}, "n")),
]
REQUESTS = 24

# The cache holds so few blocks that requests which started must wait for one another.
SCRIPT = """
import json, sys
import enforcer
from vllm import LLM, SamplingParams

if __name__ == "__main__":
    model, tools, count = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    llm = LLM(
        model=model, dtype="float32", enforce_eager=True, max_model_len=320, max_num_seqs=16,
        block_size=32, num_gpu_blocks_override=24, disable_log_stats=False,
        logits_processors=["enforcer.vllm.logits_processor:EnforcerLogitsProcessor"],
    )
    params, prompts = [], []
    for at in range(count):
        choice = "required" if at % 3 else "auto"
        body = enforcer.extra_body(tools, choice, via=enforcer.Route.LOGITS_PROCESSOR)
        extra = None if at % 8 == 7 else body["vllm_xargs"]
        params.append(SamplingParams(
            max_tokens=160, seed=at, temperature=1.0, extra_args=extra,
            ignore_eos=at % 4 == 1, skip_special_tokens=False,
        ))
        prompts.append("<|im_user|>user<|im_middle|>%d<|im_end|>"
                       "<|im_assistant|>assistant<|im_middle|>" % at)
    outputs = llm.generate(prompts, params, use_tqdm=False)
    preempted = sum(
        metric.value for metric in llm.get_metrics() if metric.name == "vllm:num_preemptions"
    )
    replies = [(list(o.prompt_token_ids), list(o.outputs[0].token_ids)) for o in outputs]
    print("RESULT" + json.dumps({"preempted": preempted, "replies": replies}))
"""


def test_every_id_was_legal_when_sampled(random_folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "offline.py"
    script.write_text(SCRIPT)
    own = {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "VLLM_PLUGINS": ""}
    own |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
    own |= {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "ENFORCER_PREAMBLE_IDS": "32"}
    command = (sys.executable, str(script), str(random_folder), json.dumps(TOOLS), str(REQUESTS))
    done = run(*command, env={**os.environ, **own})
    assert done.returncode == 0, done.stderr[-4000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    result = json.loads(line.removeprefix("RESULT"))
    assert result["preempted"] > 0
    e = reader(random_folder)
    called = free = 0
    for at, (prompt, output) in enumerate(result["replies"]):
        choice = "required" if at % 3 else "auto"
        matcher = e.matcher(TOOLS, choice, prompt_ids=prompt)
        legal = matcher.validate(output)
        if at % 8 == 7:  # not enforced: random weights do not keep to a format
            free += legal < len(output)
            continue
        # vLLM stops before the matcher's limit of text only if it ends the turn.
        assert legal == len(output), (at, e.parse(output))
        called += bool(e.parse(output, prompt).calls)
    assert free > 0
    assert called > 3
