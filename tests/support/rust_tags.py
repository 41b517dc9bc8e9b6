"""`python -m tests.support.rust_tags BINARY FILE`: what the Rust front end sends.

Owns: the requests whose structural tags the tests read, and recording them from
`vllm-rs render`, which needs no engine. Must not know: what the tags mean.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from bench.demo import random_model
from bench.demo.servers import MODEL_NAME, free_port

# The requests, one a line.
BODIES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_suffix(".jsonl").read_text().splitlines()
]
# Parser to level, and whether a reasoning parser is given; Kimi K3's two are one in Rust.
SERVERS = {
    "kimi_k2": (("parameter", "kimi_k2"), ("function", "kimi_k2"), ("auto", "none")),
    "kimi_k3": (("parameter", "kimi_k3"), ("auto", "kimi_k3")),
}


def record(binary: Path, model: Path, parser: str) -> Iterator[dict[str, Any]]:
    """Give each server's answers: the request, and the structural tag or None."""
    for level, reasoning in SERVERS[parser]:
        port = free_port()
        flags: tuple[str, ...] = ("--tool-strict-level", level, "--reasoning-parser", reasoning)
        if parser == "kimi_k3":
            flags = (*flags, "--tokenizer-mode", parser)
        process = subprocess.Popen(
            [
                *(str(binary), "render", str(model), "--port", str(port), *flags),
                *("--served-model-name", MODEL_NAME, "--tool-call-parser", parser),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for body in BODIES:
                answer = _render(process, port, body)
                wanted = answer["sampling_params"].get("structured_outputs") or {}
                tag = wanted.get("structural_tag")
                yield {"level": level, "reasoning": reasoning, "body": body, "tag": tag}
        finally:
            process.terminate()
            process.wait()


def _render(process: subprocess.Popen[bytes], port: int, body: dict[str, Any]) -> Any:
    url = f"http://127.0.0.1:{port}/v1/chat/completions/render"
    sent = {"model": MODEL_NAME, "messages": [{"role": "user", "content": "Hi"}], **body}
    while True:
        try:
            return httpx.post(url, json=sent, timeout=60).raise_for_status().json()
        except httpx.ConnectError:
            if process.poll() is not None:
                raise
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--parser", choices=SERVERS, default="kimi_k2")
    parser.add_argument("--model", type=Path, help="another folder than one of Kimi K2's")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if options.model is None:
            tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, folder / "cache")
            random_model.write(folder / "model", tokens, weights=random_model.Weights.NONE)
        cases = record(options.binary.resolve(), options.model or folder / "model", options.parser)
        lines = [json.dumps(case) for case in cases]
    options.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{options.file}: {len(lines)} requests")


if __name__ == "__main__":
    main()
