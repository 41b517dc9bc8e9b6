"""The compiled kernel is there and fits its sources; if not, the error says so."""

import ast
import builtins
import dis
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import CodeType

import pytest

import enforcer
from enforcer import kernel
from enforcer.machine import compiled
from tests.machine.interpreted import interpreted

PACKAGE = Path(enforcer.__file__).parent


def _source(name: str) -> Path:
    return compiled.FOLDER / f"{name}.py"


def test_make_env_has_compiled_it() -> None:
    compiled.require_compiled()


def test_it_has_types_and_runs_interpreted() -> None:
    types = ast.parse((compiled.FOLDER / "native.pyi").read_text())
    named = [each for each in types.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    assert named
    for module in (import_module(compiled.NAME), interpreted()):
        assert not [each.name for each in named if not hasattr(module, each.name)]
        for each in named:
            if isinstance(each, ast.ClassDef):
                methods = [inner.name for inner in each.body if isinstance(inner, ast.FunctionDef)]
                assert not set(methods) - set(dir(getattr(module, each.name)))


def test_other_sources_are_an_error_on_import(tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "enforcer")
    assert not imported(tmp_path)
    with (copy / "kernel" / "walk.py").open("a") as source:
        source.write("\n# another line\n")
    said = imported(tmp_path)
    assert "ConfigurationError" in said
    assert ".abi3.so was compiled from other sources" in said
    assert "make env" in said


def imported(folder: Path) -> str:
    """Import the package of a folder in a process; return what it says of an error."""
    code = [sys.executable, "-c", "import enforcer.machine"]
    done = subprocess.run(code, cwd=folder, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr


def _names(path: Path) -> list[str]:
    """List the names that a file defines, but for the loop that makes its classes run."""
    found = []
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.append(name)
    return found


def test_a_name_is_defined_in_one_file_only() -> None:
    """Also a private one: all files are one translation unit."""
    counts = Counter(each for name in compiled.FILES for each in _names(_source(name)))
    assert counts["step"] == 1
    assert not [name for name, count in counts.items() if count > 1]


def test_each_file_imports_from_those_before_it_only() -> None:
    for at, name in enumerate(compiled.FILES):
        found = re.findall(
            r"^from enforcer\.kernel\.(\w+)", _source(name).read_text(), re.MULTILINE
        )
        assert set(found) <= {*compiled.FILES[:at]}, name
    there = {path.stem for path in compiled.FOLDER.glob("*.py")} - {"__init__"}
    assert there == set(compiled.FILES)


def _globals(code: CodeType) -> set[str]:
    """Return the global names that a function reads, with those of functions in it."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _globals(inner)
    return found


def test_each_file_defines_or_imports_what_it_uses() -> None:
    """The lint cannot tell, because of the names of `records`; the compiler sees all files."""
    for name in compiled.FILES:
        module = import_module(f"enforcer.kernel.{name}")
        code = compile(_source(name).read_text(), name, "exec")
        # What is C's stands under `cython.compiled`.
        assert not _globals(code) - set(vars(module)) - {*dir(builtins), "memcpy", "State"}, name


def test_a_traceback_names_file_and_line() -> None:
    with pytest.raises(AttributeError) as caught:
        kernel.as_records(None, None)
    last = caught.tb
    while last.tb_next:
        last = last.tb_next
    assert Path(last.tb_frame.f_code.co_filename).name == "records.py"
    assert "reshape" in _source("records").read_text().splitlines()[last.tb_lineno - 1]


def test_sources_alone_are_an_error_in_words(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "enforcer", ignore=shutil.ignore_patterns("*.so"))
    said = imported(tmp_path)
    assert f"ConfigurationError: {compiled.NAME} is not compiled" in said
    assert "C compiler" in said
