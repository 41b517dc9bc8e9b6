"""The compiled modules are there and fit their sources; if not, the error says so."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import enforcer
from enforcer.errors import ConfigurationError
from enforcer.machine import compiled
from tests.machine.interpreted import interpreted

PACKAGE = Path(enforcer.__file__).parent


def test_make_env_has_compiled_every_module() -> None:
    compiled.require_compiled()


@pytest.mark.parametrize("name", compiled.MODULES)
def test_every_module_has_types_and_runs_interpreted(name: str) -> None:
    types = ast.parse(Path(compiled.__file__).with_name(f"{name}.pyi").read_text())
    named = [each for each in types.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    assert named
    for module in (import_module(f"enforcer.machine.{name}"), interpreted(name)):
        assert not [each.name for each in named if not hasattr(module, each.name)]
        for each in named:
            if isinstance(each, ast.ClassDef):
                methods = [inner.name for inner in each.body if isinstance(inner, ast.FunctionDef)]
                assert not set(methods) - set(dir(getattr(module, each.name)))


def test_other_sources_are_an_error_on_import(tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "enforcer")
    imports = [sys.executable, "-c", "import enforcer.machine"]
    before = subprocess.run(imports, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert before.returncode == 0, before.stderr
    with (copy / "machine" / "tree_builder.py").open("a") as source:
        source.write("\n# another line\n")
    after = subprocess.run(imports, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ConfigurationError" in after.stderr
    assert ".abi3.so was compiled from other sources" in after.stderr
    assert "make env" in after.stderr


def test_sources_alone_do_not_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "enforcer.machine.tree_builder", interpreted("tree_builder"))
    compiled.check()
    with pytest.raises(ConfigurationError, match=r"tree_builder is not compiled.*C compiler"):
        compiled.require_compiled()


def test_without_cython_sources_are_an_error_in_words(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("*.so")
    shutil.copytree(PACKAGE, tmp_path / "enforcer", ignore=ignored)
    code = "import sys; sys.modules['cython'] = None; import enforcer.machine"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (
        f"ConfigurationError: enforcer.machine.{compiled.MODULES[0]} is not compiled" in done.stderr
    )
