import json
import os
import pkgutil
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1 import structured_output

import enforcer
from bench.demo.servers import ENFORCED, Server, ServerFailedError
from enforcer.errors import ConfigurationError, UnsupportedHost
from enforcer.request import carrier
from enforcer.vllm import fit, patches
from enforcer.vllm.config.names import PATCHED, TESTED_VERSIONS
from enforcer.vllm.observe import recording
from tests.processes import run
from tests.support.cases import each_case
from tests.vllm_servers import TINY

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


def patched() -> dict[str, Any]:
    names = [name for name in patches.PATCHES if hasattr(fit.find(name), PATCHED)]
    return {name: fit.find(name) for name in names}


def test_installing_again_changes_nothing() -> None:
    before = {name: getattr(found, "__func__", found) for name, found in patched().items()}
    assert before.keys() == patches.PATCHES.keys()
    patches.install()
    os.environ.pop(recording.FOLDER_VARIABLE)
    assert before == {name: getattr(found, "__func__", found) for name, found in patched().items()}
    for found in before.values():
        assert not hasattr(getattr(found, PATCHED), PATCHED)


@pytest.mark.parametrize("version", ["0.31.9", "0.34.0", "0.32.1rc1", "1.0.dev3+g1234", "0.33", ""])
def test_an_untested_version_is_refused_with_those_that_were(version: str) -> None:
    with pytest.raises(UnsupportedHost) as refused:
        fit.check_version(version)
    for tested in TESTED_VERSIONS:
        assert tested in str(refused.value)


def test_a_front_end_without_plugins_starts_and_says_what_is_enforced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", logger="vllm.enforcer")
    monkeypatch.setattr(patches.logger, "propagate", True)
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    patches.install()
    assert "--tool-strict-level parameter" in caplog.text
    assert "Not enforced" in caplog.text


def test_shadow_mode_replaces_nothing_that_serves(monkeypatch: Any, use: Any) -> None:
    use(shadow="on")
    assert {name.rpartition(":")[2] for name in patches.wanted()} == {
        *("EngineArgs.from_cli_args", "MultiProcessCollector.__init__"),
        *("OnlineRenderer.preprocess_chat", "OnlineRenderer.preprocess_completion"),
        *("ParserManager._compose_parser", "SamplingParams._validate_structured_outputs"),
        "InputProcessor.__init__",
    }
    for patch in patches.wanted().values():
        assert callable(pkgutil.resolve_name(f"enforcer.vllm.{patch.by}"))
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    with pytest.raises(ConfigurationError, match="sees no reply of vLLM's Rust front end"):
        patches.install()


@pytest.mark.parametrize(
    ("version", "is_tested"),
    [
        *((version, True) for version in (*TESTED_VERSIONS, "0.32.0+cpu")),
        *((version, False) for version in ("0.32.1", "0.33.17+cu130")),  # other patch releases
    ],
)
def test_a_tested_version_is_accepted(version: str, is_tested: bool) -> None:
    assert bool(fit.check_version(version)) is is_tested


def test_a_changed_signature_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "vllm.v1.structured_output:StructuredOutputManager.grammar_init"
    asserted = patches.signatures(patches.PATCHES)

    def changed(self: Any, request: Any, more: dict[str, Any]) -> None:
        raise NotImplementedError

    manager = structured_output.StructuredOutputManager
    monkeypatch.setattr(manager, "grammar_init", changed)
    with pytest.raises(UnsupportedHost, match=re.escape(name)):
        fit.check_signatures(asserted)
    monkeypatch.delattr(manager, "grammar_init")
    with pytest.raises(UnsupportedHost, match="has no"):
        fit.check_signatures(asserted)


@each_case
def test_a_signature_may_leave_parameters_open(found: str, expected: str, fits: bool) -> None:
    assert fit.is_signature(found.split(), expected) is fits


def test_a_package_that_vllm_wants_and_has_not_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "wants_more.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnsupportedHost, match=r"no wants_more:.* named 'not_there_at_all'"):
        fit.find("wants_more:Server.start")


@pytest.mark.parametrize(
    ("enabled", "sdk", "served"),
    [("1", SimpleNamespace(), True), ("0", SimpleNamespace(), False), ("1", None, False)],
)
def test_coheres_route_is_looked_at_where_vllm_serves_it(
    monkeypatch: pytest.MonkeyPatch, enabled: str, sdk: object, *, served: bool
) -> None:
    """With an SDK that cannot be imported vLLM serves all its other routes, and so do we."""
    monkeypatch.setenv("VLLM_ENABLE_COHERE_API", enabled)
    monkeypatch.setitem(sys.modules, "cohere", sdk)  # None is an ImportError
    assert fit.has_cohere() is served


# Another vLLM.
OTHER = """
import sys
import vllm
vllm.__version__ = sys.argv[1]
from vllm.v1.structured_output import StructuredOutputManager
before = StructuredOutputManager.grammar_init
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.tool_parsers import ToolParserManager
print("patched", StructuredOutputManager.grammar_init is not before)
print("named", "kimi_k2_enforced" in ToolParserManager.tool_parsers)
"""


def other(version: str) -> CompletedProcess[str]:
    environment = {**os.environ, "VLLM_PLUGINS": "enforcer"}
    return run(sys.executable, "-c", OTHER, version, env=environment)


def test_no_process_starts_on_a_vllm_that_does_not_fit() -> None:
    done = other("0.11.0")
    assert done.returncode
    assert not done.stdout
    assert "UnsupportedHost: vLLM 0.11.0 is untested" in done.stderr
    assert "set VLLM_PLUGINS" in done.stderr


def test_a_patch_release_whose_functions_fit_is_served_and_said() -> None:
    done = other("0.33.9")
    assert done.stdout.split() == ["patched", "True", "named", "True"], done.stderr
    assert "vLLM 0.33.9 is untested" in done.stderr
    assert "`enforcer doctor --url` tries this server" in done.stderr


class ModelConfig:
    is_diffusion = False


def validate(tag: str, server_backend: str = "auto", **options: Any) -> SamplingParams:
    own = StructuredOutputsParams(structural_tag=tag)
    params = SamplingParams(structured_outputs=own, **options)
    config = SimpleNamespace(backend=server_backend, disable_any_whitespace=False)
    params._validate_structured_outputs(ModelConfig(), config, tokenizer=object())
    return params


def tag(**changes: Any) -> str:
    body = enforcer.extra_body([TOOL])
    made = json.loads(body["structured_outputs"]["structural_tag"])
    if changes:
        made[carrier.KEY] = json.dumps(json.loads(made[carrier.KEY]) | changes)
    return json.dumps(made)


@pytest.mark.parametrize("chosen", ["auto", "guidance", "outlines", "lm-format-enforcer"])
def test_the_operators_backend_is_for_the_others(chosen: str) -> None:
    assert validate(tag(), chosen).structured_outputs._backend == "xgrammar"


FORGED = [
    tag(version=99),
    tag(first_index=-1),
    tag(first_index="0"),
    tag(surplus=True),
    tag(tools=[TOOL, TOOL]),
    tag(tools="all"),
    tag(tool_choice={"type": "function", "function": {"name": "other"}}),
    tag(on_unsupported="relax"),
    json.dumps(json.loads(tag()) | {carrier.KEY: {"tools": []}}),
    json.dumps(json.loads(tag()) | {carrier.KEY: 7}),
    *(json.dumps(json.loads(tag()) | {carrier.KEY: text}) for text in ("no JSON", "[]", "{}")),
]


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_spec_is_refused(forged: str) -> None:
    with pytest.raises(VLLMValidationError):
        validate(forged)


# The plugin is loaded in the API server, and taken away from the engine that it spawns.
WITHOUT = """
import os, runpy
from vllm.plugins import load_general_plugins
load_general_plugins()
os.environ["VLLM_PLUGINS"] = ""
os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__", alter_sys=True)
"""


@pytest.mark.vllm
def test_a_server_does_not_start_over_an_engine_without_the_plugin(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    server = Server(TINY, ENFORCED, log)
    at = server._command.index("-m")
    server._command[at : at + 2] = ["-c", WITHOUT]
    with server, pytest.raises(ServerFailedError):
        server.wait_until_ready()
    assert "engine 0 (by data-parallel rank) has not loaded the plugin" in log.read_text()
