"""What is sent to a server of each way, and what is counted.

Owns: the requests, those that are sampled and those that are greedy, and the figures of one
way. Must not know: how a server is started, how figures are shown.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

import enforcer
from bench.demo.servers import MODEL_NAME
from bench.matrix import cells, workload
from bench.matrix.routes import Client, Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.matrix.cells import Result
    from enforcer.judging.judge import Fault, Finding

# Of a model that `ways.write_hot` has made hotter by a factor.
TEMPERATURES = (0.3, 1.0, 2.0)
_MOST = 96


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of one way.

    Attributes:
        failed: turns that the enforcer had to end, by its metric.
        drafted: ids that were proposed, by vLLM's.
        kept: those of them that became part of a reply.
        greedy: the ids of each greedy turn.

    """

    requests: int
    calls: int
    cut_off: int
    findings: tuple[tuple[str, Finding], ...]
    failed: int
    drafted: int
    kept: int
    greedy: tuple[tuple[int, ...], ...]

    def count(self, *faults: Fault) -> int:
        """Count findings of these kinds."""
        return sum(finding.fault in faults for _, finding in self.findings)


def measure(
    url: str, reader: enforcer.Enforcer, *, sampled: int, greedy: int, processor: bool
) -> Figures:
    """Send a server its requests; the same ones for the same numbers.

    Args:
        url: the server's, without `/v1`.
        reader: of the model's tokenizer.
        sampled: requests of all modes and routes, at several temperatures.
        greedy: requests whose ids are to be compared with another way's.
        processor: the server enforces by the logits processor.

    """
    via = enforcer.Route.LOGITS_PROCESSOR if processor else enforcer.Route.PLUGIN
    results = asyncio.run(_sampled(Client(url, MODEL_NAME, reader, via), sampled, via))
    turns = _greedy(url, reader, greedy, via)
    numbers = _metrics(url)
    return Figures(
        sampled + greedy,
        sum(result.calls for result in results),
        sum(result.cut_off for result in results),
        tuple((str(result.cell), finding) for result in results for finding in result.findings),
        numbers.get("enforcer_turns_failed_total", 0),
        numbers.get("vllm:spec_decode_num_draft_tokens_total", 0),
        numbers.get("vllm:spec_decode_num_accepted_tokens_total", 0),
        turns,
    )


async def _sampled(client: Client, count: int, via: enforcer.Route) -> list[Result]:
    wanted = cells.cells()
    if via is enforcer.Route.LOGITS_PROCESSOR:
        # The routes that have tools would have them enforced by the plugin.
        wanted = [cell for cell in wanted if cell.route is Route.COMPLETIONS]
    random = Random("speculation")
    drawn = [random.choice(wanted) for _ in range(count)]
    results: list[Result] = []
    for at, temperature in enumerate(TEMPERATURES):
        results += await cells.run(
            client,
            repeats=1,
            max_tokens=_MOST,
            temperature=temperature,
            concurrency=8,
            wanted=drawn[at :: len(TEMPERATURES)],
        )
    await client.close()
    return results


def _greedy(
    url: str, reader: enforcer.Enforcer, count: int, via: enforcer.Route
) -> tuple[tuple[int, ...], ...]:
    """Send greedy turns, one after another: the size of a batch changes the last bits of floats."""
    turns = []
    with httpx.Client(timeout=600) as client:
        for body in greedy_bodies(reader, count, via):
            answer = client.post(f"{url}/v1/completions", json=body)
            answer.raise_for_status()
            turns.append(tuple(answer.json()["choices"][0]["token_ids"]))
    return tuple(turns)


def greedy_bodies(
    reader: enforcer.Enforcer, count: int, via: enforcer.Route
) -> Sequence[dict[str, Any]]:
    """Draw greedy requests for `/v1/completions`."""
    bodies = []
    vocabulary = reader.vocabulary
    random = Random("greedy")
    for at in range(count):
        tools = workload.tools(random)
        names = [tool["function"]["name"] for tool in tools]
        pieces = (
            *("<|im_user|>", "user", "<|im_middle|>", f"Call {names[0]}, please.", "<|im_end|>"),
            *("<|im_assistant|>", "assistant", "<|im_middle|>", *(("<think>",) if at % 3 else ())),
        )
        prompt: list[int] = []
        for piece in pieces:
            known = vocabulary.controls.get(piece)
            prompt += vocabulary.encode(piece) if known is None else [known]
        choice = "required" if at % 2 else "auto"
        bodies.append(
            {
                "model": MODEL_NAME,
                "prompt": prompt,
                "max_tokens": _MOST,
                "temperature": 0,
                "skip_special_tokens": False,
                "return_token_ids": True,
                **enforcer.extra_body(tools, choice, via=via),
            }
        )
    return bodies


def _metrics(url: str) -> dict[str, int]:
    text = httpx.get(f"{url}/metrics/", timeout=60).text
    numbers: dict[str, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(("enforcer_turns_failed", "vllm:spec_decode_num")):
                numbers[sample.name] = numbers.get(sample.name, 0) + int(sample.value)
    return numbers
