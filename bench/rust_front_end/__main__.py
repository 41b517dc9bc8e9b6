"""`python -m bench.rust_front_end BINARY`: vLLM's Rust front end, with and without the Enforcer.

Owns: the comparison of two servers behind `vllm-rs`, stock strict mode and the Enforcer's
plugin in the engine. Must not know: how replies are judged, how a server is started.

Random weights write whatever the masks leave open: Kimi K2's calls, or with `--format kimi_k3`
Kimi K3's, whose control tokens are biased, for text ends with nothing else there. Exits with 1 if
the Enforcer let a call to an undeclared tool, arguments off schema or an index without end through.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import AutoTokenizer

import enforcer
from bench import random_model
from bench.demo.servers import MODEL_NAME
from bench.matrix import workload
from bench.rust_front_end.server import ENFORCED, STOCK, serving, settings
from enforcer.judging.judge import Fault, judge
from enforcer.judging.rules import KIMI_K2, IdRule, ReplyRules
from enforcer.tools.verify import client
from tests import format_models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from enforcer.judging.replies import ChatReply

# No dialog has a thousand million calls.
_ENDLESS = re.compile(rb'(functions\.[^:<]*:|index=")\d{10}')
_FRAMES = ("<|open|>", "<|close|>", "<|sep|>")
_TOWARDS_FRAMES = 6
_WRONG = ("undeclared", "off schema", "endless index")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Format:
    """One that both servers speak.

    Attributes:
        parser: its name.
        write: writes a model of random weights into a folder, given another one to keep what
            takes long.
        flags: of the server.
        ids: what a call's id has to be.
        markers: what must not stand in content.
        frames: control tokens towards which every request is biased.

    """

    parser: str
    write: Callable[[Path, Path], None]
    flags: tuple[str, ...] = ()
    ids: IdRule = IdRule.KIMI
    markers: Sequence[str] = KIMI_K2.markers
    frames: tuple[str, ...] = ()


def _write_k2(folder: Path, cache: Path) -> None:
    random_model.write(folder, random_model.tokenizer(random_model.Vocabulary.AUTO, cache))


FORMATS = {
    "kimi_k2": Format("kimi_k2", _write_k2),
    "kimi_k3": Format(
        "kimi_k3",
        lambda folder, _: format_models.kimi_k3(folder),
        ("--tokenizer-mode", "kimi_k3", "--trust-remote-code"),
        IdRule.UNIQUE,
        _FRAMES,
        _FRAMES,
    ),
}


def bodies(count: int, max_tokens: int, frames: Sequence[int]) -> list[dict[str, Any]]:
    """Draw chat requests of all kinds whose tool names the Rust parser can carry.

    Args:
        count: how many.
        max_tokens: of a reply.
        frames: ids towards which they are biased; then every third one thinks, the others do not.

    """
    drawn = [_without_dots(body) for body in workload.bodies(count, seed=1)]
    more = {"model": MODEL_NAME, "max_tokens": max_tokens, "return_token_ids": True}
    if not frames:
        return [body | more for body in drawn]
    more["logit_bias"] = {str(each): _TOWARDS_FRAMES for each in frames}
    return [
        body | more | {"chat_template_kwargs": {"thinking": at % 3 == 0}}
        for at, body in enumerate(drawn)
    ]


def _without_dots(body: dict[str, Any]) -> dict[str, Any]:
    """Rename tools: of a name with dots the Rust parser keeps what follows the last one."""
    functions = [tool["function"] for tool in body.get("tools", ())]
    if isinstance(body.get("tool_choice"), dict):
        functions.append(body["tool_choice"]["function"])
    for function in functions:
        function["name"] = function["name"].replace(".", "_")
    return body


def count(
    requests: Sequence[Mapping[str, Any]],
    replies: Sequence[ChatReply],
    vocabulary: enforcer.Vocabulary,
    spoken: Format,
) -> Counter[str]:
    """Count what is to be told apart; a reply may count in several lines."""
    found: Counter[str] = Counter()
    shown = 0
    for body, reply in zip(requests, replies, strict=True):
        verdict = judge(body, reply, ReplyRules(spoken.ids, spoken.markers))
        text = vocabulary.decode(reply.token_ids)
        counted = {
            "undeclared": Fault.UNDECLARED in verdict.faults,
            "off schema": Fault.SCHEMA in verdict.faults,
            "endless index": _ENDLESS.search(text) is not None,
            "wrong id": Fault.ID in verdict.faults,
            "choice not obeyed": Fault.CHOICE in verdict.faults,
            "error": not reply.answered,
            "cut off": reply.answered and not verdict.complete,
            "complete, with calls": verdict.has_calls,
            "complete, without": verdict.complete and not verdict.has_calls,
        }
        found.update(what for what, is_so in counted.items() if is_so)
        if verdict.findings and shown < _SHOWN:
            shown += 1
            print(f"  {[f'{f.fault.name}: {f.message}'[:160] for f in verdict.findings]}")
    return found


def main() -> int:
    """Run the comparison; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=Path, help="vllm-rs, of the installed vLLM's version")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=150)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--format", choices=FORMATS, default="kimi_k2")
    parser.add_argument("--only", choices=[STOCK, ENFORCED], help="one server of the two")
    parser.add_argument("--logs", type=Path, help="keep the servers' logs in this folder")
    options = parser.parse_args()
    spoken = FORMATS[options.format]
    columns: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spoken.write(folder / "model", folder / "cache")
        # The code of K3's tokenizer was written there by `write`.
        tokenizer = AutoTokenizer.from_pretrained(folder / "model", trust_remote_code=True)
        vocabulary = enforcer.Vocabulary.from_transformers(tokenizer)
        frames = [vocabulary.control(name) for name in spoken.frames]
        requests = bodies(options.requests, options.max_tokens, frames)
        for setting in settings(spoken.parser, *spoken.flags):
            if options.only not in (None, setting.name):
                continue
            logs = options.logs or folder / "logs"
            # What random weights say before a demanded call says nothing: keep it short.
            with serving(
                options.binary.resolve(), folder / "model", setting, logs, ENFORCER_PREAMBLE_IDS="3"
            ) as server:
                print(f"{setting.name}: {len(requests)} requests", flush=True)
                endpoint = client.Endpoint.at(server.url, concurrency=options.concurrency)
                replies = asyncio.run(client.send_all(endpoint, requests))
            columns[setting.name] = count(requests, replies, vocabulary, spoken)
            print(f"{setting.name}: {dict(columns[setting.name])}", flush=True)
    print(f"| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for what in dict.fromkeys(what for counts in columns.values() for what in sorted(counts)):
        print(f"| {what} | {' | '.join(str(counts[what]) for counts in columns.values())} |")
    enforced = columns.get(ENFORCED)
    if enforced is None:
        return 0
    # A server that completes no calls would show nothing.
    return (
        1 if any(enforced[what] for what in _WRONG) or not enforced["complete, with calls"] else 0
    )


if __name__ == "__main__":
    sys.exit(main())
