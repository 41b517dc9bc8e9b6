"""`python -m bench.drafts.alike`: greedy turns with and without drafts, token by token.

Each format's model, which has learnt to write it, is served by the Enforcer with and without draft
tokens by the grammar. The same greedy requests of all modes go to both, one after another, since
the size of a batch changes the last bits of floats. Exits with 1 if a turn differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.demo.servers import Server, Setting
from bench.drafts.serving import drafting
from bench.formats import vocabularies, workload
from bench.formats.__main__ import ROOT, model, settings
from bench.formats.catalogue import FORMATS

_FORMATS = ("kimi_k2", "hermes", "qwen3_coder", "llama3_json", "mistral", "glm45")
_TOKENS = 120


def main() -> int:
    """Compare, and print a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=_FORMATS)
    parser.add_argument("--turns", type=int, default=50, help="of each format")
    options = parser.parse_args()
    differing = 0
    for name in options.formats:
        row = FORMATS[name]
        with tempfile.TemporaryDirectory() as folder:
            model(row, vocabularies.build(row.vocabulary, ROOT / ".cache"), Path(folder))
            plain = settings(row, Path(folder))["enforced"]
            without, _ = _turns(plain, Path(folder), options.turns)
            found, numbers = _turns(drafting(plain, "drafts"), Path(folder), options.turns)
        unlike = sum(a != b for a, b in zip(without, found, strict=True))
        differing += unlike
        tokens = sum(map(len, found))
        print(f"{name}: {len(found)} turns, {tokens} tokens, {unlike} differ; drafts {numbers}")
    return int(differing > 0)


def _turns(setting: Setting, folder: Path, count: int) -> tuple[list[list[int]], dict[str, int]]:
    """Return the token ids of greedy turns, and how many drafts were accepted and rejected."""
    setting = replace(
        setting, environment=(*setting.environment, ("VLLM_USE_V2_MODEL_RUNNER", "0"))
    )
    found = []
    with Server(folder, setting, folder / f"{setting.name}.log") as server:
        server.wait_until_ready()
        with httpx.Client(base_url=server.url, timeout=600) as client:
            for body in workload.bodies(count, _TOKENS):
                greedy = {**body, "temperature": 0, "stream": False}
                answer = client.post("/v1/chat/completions", json=greedy)
                answer.raise_for_status()
                found.append(answer.json()["choices"][0]["token_ids"])
            families = text_string_to_metric_families(client.get("/metrics/").text)
            samples = [each for family in families for each in family.samples]
    return found, {
        each.labels["outcome"]: int(each.value)
        for each in samples
        if each.name == "enforcer_draft_tokens_total"
    }


if __name__ == "__main__":
    sys.exit(main())
