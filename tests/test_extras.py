"""An error for each package that is missing, which names the extra."""

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

import enforcer
from enforcer import engines, extras
from enforcer.errors import MissingPackage
from enforcer.tokenizers import kimi
from enforcer.vllm import register
from tests import vocabularies
from tests.snippets import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_each_package_has_the_extra_that_brings_it() -> None:
    bring = {
        extra: {re.split("[><=]", each)[0] for each in packages}
        for extra, packages in PROJECT["optional-dependencies"].items()
    }
    assert set(extras.EXTRAS) == set().union(*bring.values())
    assert set(extras.EXTRAS.values()) == set(bring)
    assert all(package in bring[extra] for package, extra in extras.EXTRAS.items())
    assert PROJECT["name"] in extras.message(ModuleNotFoundError(name="httpx"))


@pytest.mark.parametrize(
    ("module", "engine", "extra"),
    [("xgrammar", "xgrammar", "xgrammar"), ("outlines_core", "outlines-core", "outlines")],
)
def test_an_engine_without_its_package(
    monkeypatch: pytest.MonkeyPatch, module: str, engine: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"enforcer.engines.{module}", raising=False)
    with pytest.raises(MissingPackage, match=rf"'\.\[{extra}\]'") as told:
        engines.load(engine, vocabularies.small())
    assert f"engine {engine!r} needs the package {engine!r}" in str(told.value)


def test_the_plugin_without_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingPackage, match=r"the plugin .*'vllm'.*'\.\[vllm\]'"):
        register()


@pytest.mark.parametrize("module", ["torch", "transformers"])
def test_transformers_without_its_packages(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "enforcer.hf", raising=False)
    with pytest.raises(ImportError, match=rf"{module}.*'\.\[transformers\]'"):
        importlib.import_module("enforcer.hf")


def test_a_package_that_is_always_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    ranks, config = tmp_path / "tiktoken.model", tmp_path / "tokenizer_config.json"
    ranks.write_text("YQ== 0\n")
    config.write_text('{"added_tokens_decoder": {}}')
    with pytest.raises(MissingPackage, match=r"'tiktoken', which.*; pip install tiktoken$"):
        kimi.read(ranks, config)
    with pytest.raises(enforcer.ConfigurationError, match="pip install tiktoken"):
        enforcer.Vocabulary.from_tokenizer(tmp_path)


def test_a_fault_of_this_package_is_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such"), extras.needed_for("a test"):
        importlib.import_module("enforcer.no_such")
