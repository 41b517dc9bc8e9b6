"""Real vLLM servers on the CPU, each started once and only if a test asks for it.

Owns: which servers there are. Must not know: what is asked of them.
"""

from __future__ import annotations

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.demo import random_model
from bench.demo.servers import ENFORCED, FREE, MODEL_NAME, Setting, with_a_worker_process
from enforcer.turn.parser import Parser
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import CLOSED_TEXT, COMPACT_TEXT
from enforcer.vllm.observe import metrics
from tests import stock_tags, vllm_managers
from tests.vllm_servers import TINY, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bench.demo.servers import Server


# The second one is that of the pages' examples.
NAMES = ("--served-model-name", MODEL_NAME, "kimi")


@pytest.fixture(scope="module")
def installed() -> None:
    """The plugin in this process, which keeps its numbers to itself."""
    from enforcer.vllm import patches
    from enforcer.vllm.observe import recording

    patches.install()
    # Else servers that later tests start would count into this process's folder.
    os.environ.pop(recording.FOLDER_VARIABLE, None)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give what makes this process run with settings, by their names without the prefix."""

    def run(**words: str) -> None:
        given = {f"{settings.PREFIX}{name.upper()}": word for name, word in words.items()}
        chosen = settings.read(given)
        monkeypatch.setattr(settings, "current", lambda: chosen)

    return run


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Give what reads the lines that the plugin has logged."""
    return lambda: [r.getMessage() for r in caplog.records if r.name == metrics.logger.name]


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Give the tiny model's tokenizer."""
    return stock_tags.tokenizer()


@pytest.fixture
def made(tokenizer: Any) -> Any:
    """vLLM's manager of structured outputs, for the tiny model."""
    return vllm_managers.manager(tokenizer, len(tokenizer))


@pytest.fixture
def ids_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids that parsers read from here on."""
    seen: list[int] = []
    feed = Parser.feed

    def _feed(self: Parser, token_ids: Iterable[int]) -> Any:
        ids = list(token_ids)
        seen.extend(ids)
        return feed(self, ids)

    monkeypatch.setattr(Parser, "feed", _feed)
    return seen


@pytest.fixture(scope="session")
def random_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights over Kimi's vocabulary if it is at hand, else one of realistic size."""
    folder = tmp_path_factory.mktemp("random")
    tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, folder / "cache")
    random_model.write(folder / "model", tokens)
    return folder / "model"


@pytest.fixture(scope="session")
def random_server(
    random_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("log") / "random.log"
    # What random weights say before a demanded call says nothing: keep it short.
    own = {"ENFORCER_PREAMBLE_IDS": "3", "ENFORCER_ALLOW_CLIENT": "finish,open"}
    flags = {"backend": "guidance", COMPACT_TEXT: True, CLOSED_TEXT: True}
    given = ("--structured-outputs-config", json.dumps(flags))
    setting = replace(ENFORCED, flags=(*ENFORCED.flags, *given))
    with serving(random_folder, setting, log, **own) as server:
        yield server


@pytest.fixture(scope="session")
def tiny_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the tiny model beyond the positions that it has learnt, as agents' tools need them."""
    log = tmp_path_factory.mktemp("log") / "tiny.log"
    flags = (
        *("--max-model-len", "16384", "--hf-overrides", '{"max_position_embeddings": 16384}'),
        "--enable-scale-out",  # the routes that take token ids
        *NAMES,
    )
    setting = replace(ENFORCED, flags=(*ENFORCED.flags, *flags))
    with serving(TINY, setting, log, ENFORCER_ALLOW_CLIENT="finish") as server:
        yield server


@pytest.fixture(scope="session")
def free_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("log") / "free.log"
    with serving(TINY, FREE, log) as server:
        yield server


@pytest.fixture(scope="session")
def processor_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that cannot have the plugin, with the logits processor in its worker's process."""
    log = tmp_path_factory.mktemp("log") / "processor.log"
    processor = "enforcer.vllm.logits_processor:EnforcerLogitsProcessor"
    flags = (
        *("--logits-processors", processor, *NAMES),
        *("--middleware", "enforcer.vllm.logits_processor.RefuseEarly"),
    )
    setting = Setting("logits processor", (*FREE.flags, *flags))
    with serving(TINY, with_a_worker_process(setting), log) as server:
        yield server


@pytest.fixture(scope="module")
def small_vocabulary() -> Iterator[None]:
    """Put the small vocabulary in the place of a model's tokenizer, for the logits processor."""
    from enforcer.vllm.logits_processor import processor as logits_processor
    from enforcer.vllm.server import runtime
    from tests.vllm.processed import ENFORCER

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logits_processor, "cached_tokenizer_from_config", lambda _: "tokenizer")
        patch.setattr(runtime, "enforcer_for", lambda *_: ENFORCER)
        patch.setattr(runtime, "table_for", lambda *_: ENFORCER.table)
        yield
