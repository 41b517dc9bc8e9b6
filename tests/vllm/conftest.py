"""Real vLLM servers on the CPU, each started once and only if a test asks for it.

Owns: which servers there are. Must not know: what is asked of them.
"""

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.demo import random_model
from bench.demo.servers import FREE, MODEL_NAME, Server, Setting, with_a_worker_process
from enforcer.turn.parser import Parser
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import CLOSED_TEXT, COMPACT_TEXT
from enforcer.vllm.observe import metrics
from enforcer.vllm.observe.metric_defs import Failure
from enforcer.vllm.server import runtime
from enforcer.vocabulary import Vocabulary
from tests import stock_tags, vllm_managers
from tests.vllm_servers import TINY, enforced_with, serving

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
def known() -> Iterator[Callable[[Vocabulary], object]]:
    """Give what makes a tokenizer of a vocabulary, which is known until the test ends."""
    given: list[object] = []

    def make(vocabulary: Vocabulary) -> object:
        given.append(made := object())
        vllm_managers.know(made, vocabulary)
        return made

    yield make
    for tokenizer in given:
        runtime.forget(tokenizer)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """What is counted from here on: by its label, or by its family where it has none."""
    found: Counter[Any] = Counter()

    def count(family: object, label: object = None, *, number: int = 1) -> None:
        found[family if label is None else label] += number

    monkeypatch.setattr(metrics, "count", count)
    return found


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Failure, str, str]]:
    """Turns that are reported as failed from here on: why, the request, and its error."""
    found: list[tuple[Failure, str, str]] = []

    def fail(why: Failure, request: str, *, error: str = "", **_: str) -> None:
        found.append((why, request, error))

    monkeypatch.setattr(metrics, "failed", fail)
    return found


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
    setting = enforced_with("--structured-outputs-config", json.dumps(flags))
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
    with serving(TINY, enforced_with(*flags), log, ENFORCER_ALLOW_CLIENT="finish") as server:
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
    from tests.vllm.processed import ENFORCER

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logits_processor, "cached_tokenizer_from_config", lambda _: "tokenizer")
        patch.setattr(runtime, "enforcer_for", lambda *_: ENFORCER)
        patch.setattr(runtime, "table_for", lambda *_: ENFORCER.table)
        yield
