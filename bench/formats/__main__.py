"""`python -m bench.formats`: every format, served by stock vLLM, by its strict mode, by ours.

`--servers drafts` is ours on Model Runner V2 with a draft model and block rejection, as in Kimi
K3's recipe; slow on a CPU, where Triton is interpreted, and so with a small vocabulary: Kimi's.

Owns: the models, the order of things, where results are kept. Must not know: how a server is
started, what is wrong with a reply.

Exits with 1 if the Enforcer's replies have anything wrong but that some were cut off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from transformers import PreTrainedTokenizerFast

from bench.demo.servers import Server, ServerFailedError, Setting
from bench.formats import bigrams, page, vocabularies, workload
from bench.formats.catalogue import FORMATS, Format
from bench.formats.count import WRONG, count
from bench.formats.vocabularies import NAMES
from bench.speculation import ways
from enforcer.tools.verify import client
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 8


def settings(row: Format, model: Path) -> dict[str, Setting]:
    """Give the servers that a format is compared on; strict only where that does anything."""
    choice = ("--enable-auto-tool-choice", "--tool-call-parser")
    found = {"stock": Setting("stock", (*choice, row.parser))}
    if row.strict:
        level = ("--tool-strict-level", "parameter")
        found["strict"] = Setting("strict", (*choice, row.parser, *level))
    enforced = (*choice, f"{row.parser}_enforced")
    found["enforced"] = Setting("enforced", enforced, "enforcer")
    # It drafts for itself, so that most drafts are kept.
    wanted = {"method": "draft_model", "model": str(model), "num_speculative_tokens": 3}
    block = json.dumps({**wanted, "rejection_sample_method": "block"})
    drafted = (*enforced, "--async-scheduling", "--speculative-config", block)
    found["drafts"] = Setting("drafts", drafted, "enforcer")
    return found


def template(row: Format) -> str:
    """Give the least chat template: what the user says, and how the format opens a turn."""
    opening = row.opening.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return (
        "{% for message in messages %}{{ message.content }}{% endfor %}"
        f"{{% if add_generation_prompt %}}{{{{ '{opening}' }}}}{{% endif %}}"
    )


def model(row: Format, tokens: Tokenizer, folder: Path) -> None:
    """Write the model of a format."""

    def ids(text: str) -> list[int]:
        found: list[int] = tokens.encode(text, add_special_tokens=False).ids
        return found

    last = ids(row.opening)[-1:]
    turns = [last + ids(text) for text in workload.turns(row)]
    bigrams.write(folder, tokens, turns, ends=(row.end, *row.ends), template=template(row))


def measure(row: Format, names: Sequence[str], requests: int, logs: Path) -> dict[str, object]:
    """Serve a format in each of these ways, and count."""
    tokens = vocabularies.build(row.vocabulary, ROOT / ".cache")
    vocabulary = Vocabulary.from_transformers(PreTrainedTokenizerFast(tokenizer_object=tokens))
    bodies = workload.bodies(requests, max_tokens=120)
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model(row, tokens, folder)
        for name, setting in settings(row, folder).items():
            if name not in names:
                continue
            environment = ways.INTERPRETED if name == "drafts" else {}
            log = logs / f"{row.name}-{name}.log"
            with patch.dict("os.environ", environment), Server(folder, setting, log) as server:
                server.wait_until_ready()
                endpoint = client.Endpoint.at(server.url, concurrency=IN_FLIGHT)
                replies = asyncio.run(client.send_all(endpoint, bodies))
                server.check_alive()
            found[name] = {"requests": requests, **count(row, vocabulary, bodies, replies)}
            print(f"{row.name:16}{name:10}{json.dumps(found[name])}", flush=True)
    return found


def main() -> int:
    """Run the comparison; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.formats", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=FORMATS, default=list(FORMATS))
    servers = ("stock", "strict", "enforced")
    parser.add_argument("--servers", nargs="+", choices=(*servers, "drafts"), default=servers)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--logs", type=Path, help="keep the servers' logs in this folder")
    parser.add_argument("--write", action="store_true", help="keep the results for the docs")
    options = parser.parse_args()
    small = [name for name in options.only if f"{FORMATS[name].vocabulary}_small" in NAMES]
    if "drafts" in options.servers and (len(options.servers) > 1 or options.only != small):
        parser.error("drafts are measured by themselves, and of Kimi's formats: name these")
    wrong = False
    with tempfile.TemporaryDirectory() as scratch:
        logs = options.logs or Path(scratch)
        logs.mkdir(parents=True, exist_ok=True)
        for name in options.only:
            row = FORMATS[name]
            if "drafts" in options.servers:
                row = replace(row, vocabulary=f"{row.vocabulary}_small")
            try:
                found = measure(row, options.servers, options.requests, logs)
            except ServerFailedError as error:
                print(error, file=sys.stderr)
                return 1
            if options.write:
                page.keep(name, found)
            for ours in (found.get("enforced"), found.get("drafts")):
                if isinstance(ours, dict):
                    wrong |= any(ours.get(column) for column in WRONG)
    if options.write:
        print(page.table(page.kept()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
