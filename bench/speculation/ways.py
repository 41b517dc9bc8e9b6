"""The ways of running that are compared: runner, scheduling, drafts, host interface.

Owns: the flags and the environment of each. Must not know: what is sent.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.demo.servers import ENFORCED, FREE, Server, Setting
from bench.speculation import eagle3
from enforcer.vllm.drafts import PROPOSER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROOT = Path(__file__).resolve().parents[2]
_PROCESSOR = "enforcer.vllm.logits_processor:EnforcerLogitsProcessor"
_ASYNC = "asynchronous scheduling stays on"  # said by `bench/interpreted`
_DRAFTS = 3


def _path(*folders: Path) -> str:
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([*map(str, folders), *filter(None, [given])])


# The environment in which vLLM's CPU build runs Model Runner V2: Triton interpreted.
INTERPRETED: Mapping[str, str] = {
    "TRITON_INTERPRET": "1",
    "VLLM_USE_V2_MODEL_RUNNER": "1",
    "PYTHONPATH": _path(_ROOT / "bench" / "interpreted", _ROOT),
}
_NGRAM = {"method": "ngram", "prompt_lookup_max": 4, "prompt_lookup_min": 1}
GRAMMAR = {"method": "custom_class", "model": PROPOSER, "num_speculative_tokens": 8}


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the engine.

    Attributes:
        name: what tables call it.
        v2: by Model Runner V2, through Triton's interpreter, and so slow.
        speculation: vLLM's `--speculative-config`; `model` is put in by `serving`.
        processor: by the logits processor, without the plugin.
        enforced: whether it enforces at all.
        most: sequences in the engine.
        flags: more of vLLM's.

    """

    name: str
    v2: bool = True
    speculation: Mapping[str, Any] | None = None
    processor: bool = False
    enforced: bool = True
    most: int = 16
    flags: tuple[str, ...] = ()

    @property
    def plugin(self) -> bool:
        """Whether it enforces by the plugin."""
        return self.enforced and not self.processor


WAYS = (
    Way("V1", v2=False),
    Way("V1, n-gram", v2=False, speculation=_NGRAM),
    Way("V1, drafts by the grammar", v2=False, speculation=GRAMMAR),
    Way("V2, async"),
    Way("V2, n-gram", speculation=_NGRAM),
    Way("V2, async, draft model", speculation={"method": "draft_model"}),
    Way(
        "V2, async, draft model, block",
        speculation={"method": "draft_model", "rejection_sample_method": "block"},
    ),
    Way("V2, async, EAGLE3", speculation={"method": "eagle3"}),
    Way("V2, async, processor", processor=True),
    Way("V2, async, draft model, processor", speculation={"method": "draft_model"}, processor=True),
)


def write_hot(folder: Path, model: Path, *, factor: float = 4) -> None:
    """Copy a trained model, its logits divided by a factor.

    Greedy turns stay what they are, and at vLLM's highest temperature, 2, hardly anything is
    left of the training: whatever the masks leave open is tried.
    """
    from safetensors.torch import load_file, save_file

    shutil.copytree(model, folder, dirs_exist_ok=True)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"] / factor
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


@contextmanager
def serving(
    way: Way, model: Path, folder: Path, *, interpreted: bool = True, **environment: str
) -> Iterator[Server]:
    """Run a server that way, until the block ends.

    Args:
        way: how.
        model: a folder of a Llama of four layers.
        folder: for its log and the weights of a draft head.
        interpreted: Triton has to be, for Model Runner V2; false where there is a GPU.
        environment: more of it.

    """
    flags = [*(ENFORCED if way.plugin else FREE).flags, "--max-num-seqs", str(way.most), *way.flags]
    if way.processor:
        flags += ["--logits-processors", _PROCESSOR]
    if way.speculation is not None:
        wanted = {"num_speculative_tokens": _DRAFTS, **way.speculation}
        if wanted["method"] == "draft_model":
            wanted["model"] = str(model)  # it drafts for itself: most drafts are kept
        elif wanted["method"] == "eagle3":
            eagle3.write(folder / "eagle3", model)
            wanted["model"] = str(folder / "eagle3")
        flags += ["--speculative-config", json.dumps(wanted)]
    if way.v2:
        # The CPU build switches it off unless it is asked for; drafts by n-grams do as well.
        if way.speculation is not _NGRAM:
            flags.append("--async-scheduling")
        environment |= INTERPRETED if interpreted else {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    else:
        environment.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")
    plugins = "enforcer" if way.plugin else ""
    setting = Setting(way.name, tuple(flags), plugins, tuple(environment.items()))
    log = folder / "server.log"
    with Server(model, setting, log) as server:
        server.wait_until_ready()
        _check(way, log, interpreted=interpreted)
        yield server


def _check(way: Way, log: Path, *, interpreted: bool) -> None:
    """Make sure that it is what it is called.

    Raises:
        RuntimeError: it is not; the figures would be of something else.

    """
    said = log.read_text(errors="replace")
    if ("Using V2 Model Runner" in said) is not way.v2:
        raise RuntimeError(f"{way.name} runs by the other model runner; its log is {log}")
    if interpreted and way.v2 and way.speculation is not _NGRAM and _ASYNC not in said:
        raise RuntimeError(f"{way.name} runs without asynchronous scheduling; its log is {log}")
