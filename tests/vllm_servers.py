"""Starting vLLM for tests, and reading what its model generates.

Owns: how. Must not know: which servers the tests share (that is `vllm/conftest.py`).
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

import enforcer
from bench.demo.servers import ENFORCED, MODEL_NAME, Server, Setting
from enforcer.judging.replies import ChatReply, whole
from enforcer.vllm.config import settings

TINY = Path(__file__).resolve().parents[1] / "bench" / "models" / "tiny-kimi"


def enforced_with(*flags: str) -> Setting:
    """Return the setting of an enforced server with more flags."""
    return replace(ENFORCED, flags=(*ENFORCED.flags, *flags))


@contextmanager
def serving(model: Path, setting: Setting, log: Path, **environment: str) -> Iterator[Server]:
    """Run a server with more environment than the tests have, until the block ends."""
    with ExitStack() as stack:
        with patch.dict(os.environ, environment):
            server = stack.enter_context(Server(model, setting, log))
        server.wait_until_ready()
        yield server


def reader(model: Path) -> enforcer.Enforcer:
    """Build an enforcer for a model folder's tokenizer, with the options of servers."""
    options = settings.read({}).options
    return enforcer.Enforcer.from_tokenizer(model, options=options)


def post(
    server: Server, body: dict[str, Any], path: str = "/v1/chat/completions", **more: Any
) -> httpx.Response:
    """Ask a server for something short, greedily where the body does not say otherwise."""
    sent = {"model": MODEL_NAME, "temperature": 0, "max_tokens": 160, **body}
    return httpx.post(f"{server.url}{path}", json=sent, timeout=600, **more)


def ask(
    server: Server, body: dict[str, Any], path: str = "/v1/chat/completions", **more: Any
) -> Any:
    """Ask as `post` does; return the JSON of an answer that is no error."""
    answer = post(server, body, path, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(
    server: Server, body: dict[str, Any], path: str = "/v1/chat/completions", **more: Any
) -> str:
    """Ask as `post` does for what is answered with 400; return the text of the error."""
    answer = post(server, body, path, **more)
    assert answer.status_code == 400, answer.text
    return answer.text


def greedy(server: Server, bodies: list[dict[str, Any]]) -> list[ChatReply]:
    """Return whole replies with their token ids; some are asked for at once."""
    sent = [body | {"stream": False, "return_token_ids": True} for body in bodies]
    with ThreadPoolExecutor(32) as pool:
        return [whole(answer.json()) for answer in pool.map(partial(post, server), sent)]


def events(text: str) -> list[Any]:
    """Read the JSON of a stream's events."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def sample(url: str, name: str, **labels: str) -> float:
    """Read one of a server's metrics, summed over what has these labels."""
    return sampled(httpx.get(f"{url}/metrics/", timeout=60).text, name, **labels)


def sampled(text: str, name: str, **labels: str) -> float:
    """Read one metric of a text of Prometheus', summed over what has these labels."""
    from prometheus_client.parser import text_string_to_metric_families

    return sum(
        found.value
        for family in text_string_to_metric_families(text)
        for found in family.samples
        if found.name == name and labels.items() <= found.labels.items()
    )
