"""Enforced requests beside those that vLLM constrains itself, by each of its backends."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.demo.servers import ENFORCED, Server
from bench.matrix import workload
from enforcer.judging.judge import judge
from enforcer.judging.replies import whole
from tests.engine_cases import closed
from tests.vllm_servers import TINY, ask, serving

pytestmark = pytest.mark.vllm


EVEN = {"type": "integer", "multipleOf": 2}
# xgrammar and guidance refuse the first, and vLLM then takes outlines; xgrammar the second.
OUTLINES = closed({"a": EVEN}, "a", patternProperties={})
GUIDANCE = closed({"a": {**EVEN, "minimum": 0, "maximum": 98}}, "a")
XGRAMMAR = closed({"a": {"enum": ["x", "y"]}}, "a")


def _json(schema: dict[str, Any], fits: Callable[..., Any]) -> Any:
    return {"json": schema}, lambda text: fits(json.loads(text)["a"])


PLAIN: list[tuple[dict[str, Any], Callable[[str], Any]]] = [
    # vLLM's outlines backend writes an integer, and knows no `multipleOf`.
    _json(OUTLINES, lambda a: isinstance(a, int)),
    _json(GUIDANCE, lambda a: a % 2 == 0),
    _json(XGRAMMAR, lambda a: a in ("x", "y")),
    ({"regex": "[a-c]{2,4}"}, re.compile("[a-c]{2,4}").fullmatch),
    ({"choice": ["yes", "no"]}, ("yes", "no").__contains__),
    ({"grammar": 'root ::= "x" | "y" root'}, re.compile("y*x").fullmatch),
]


def _plain(server: Server, own: dict[str, Any], fits: Callable[[str], Any]) -> bool:
    body = {"prompt": "Hi", "max_tokens": 60, "temperature": 1, "structured_outputs": own}
    choice = ask(server, body, "/v1/completions")["choices"][0]
    if choice["finish_reason"] == "stop":
        assert fits(choice["text"]), (own, choice["text"])
    return bool(choice["finish_reason"] == "stop")


def _enforced(server: Server, body: dict[str, Any]) -> bool:
    body = {"temperature": None, **body, "stream": False, "max_tokens": 100}
    found = judge(body, whole(ask(server, body)))
    assert not found.findings, (body, found)
    return found.has_calls


@pytest.mark.parametrize("first", ["outlines", pytest.param("enforced", marks=pytest.mark.long)])
def test_each_request_keeps_its_own_backend_whatever_came_first(first: str, tmp_path: Path) -> None:
    random = Random(first)
    with serving(TINY, ENFORCED, tmp_path / "server.log") as server:
        if first == "outlines":
            _plain(server, *PLAIN[0])
        jobs: list[tuple[Any, ...]] = [
            (_plain, *PLAIN[at % len(PLAIN)]) for at in range(4 * len(PLAIN))
        ]
        jobs += [(_enforced, body) for body in workload.bodies(len(jobs), seed=31)]
        random.shuffle(jobs)
        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda job: (job[0], job[0](server, *job[1:])), jobs))
    # The test would say nothing if all were cut off.
    assert sum(ended for kind, ended in done if kind is _plain) > len(PLAIN)
    assert sum(called for kind, called in done if kind is _enforced) > len(PLAIN) // 2
