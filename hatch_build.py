"""Compiles the kernel, whose files are written in Cython's pure Python mode.

As hatchling's build hook: into a wheel, which then fits every CPython from 3.11 on (`cp311-abi3`),
or beside the sources for an editable install. As a command, `python hatch_build.py`: beside the
sources, unless they have not changed. `CC`, `CFLAGS` and `LDFLAGS` are read as usual. For a run
under sanitizers remove the extension module, set both flags to `-fsanitize=address,undefined` and
preload what `gcc -print-file-name=libasan.so` prints.

The files are one translation unit: a generated `.pyx` includes them in their order, their imports
of each other left out. Tracebacks keep file and line, since left-out lines stay as empty ones.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import sysconfig
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.errors import CompileError

COMPILED = "enforcer/machine/compiled.py"  # which files, and their digest
PACKAGE = "enforcer/kernel"
MODULE = "native"
EXTENSION = f"{MODULE}.abi3.so"
# Of each other, and of `__future__`, which may stand at the beginning only.
IMPORTS = re.compile(
    r"^from (?:__future__|enforcer\.kernel\.\w+) import (?:\([^)]*\)|[^(\n]*)$", re.MULTILINE
)
# A call that makes a record's dtype: the struct of its fields is declared behind it.
RECORD = re.compile(
    r'^\w+ = record\(\s*"(\w+)",\s*((?:"[\w ]+"\s*)+),\s*np\.(\w+),?\s*\)$', re.MULTILINE
)
KINDS = {"int32": "cython.int", "int64": "cython.longlong"}
# Bounds are checked; `infer_types` gives local variables C types. Without `auto_pickle` Python
# refuses to copy objects.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": True,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "infer_types": True,
    "auto_pickle": False,
}


NEEDED = "A C compiler and Python's headers are needed (Debian: gcc, libc6-dev, python3-dev)."


class CompiledKernel(BuildHookInterface[Any]):
    """Adds the compiled kernel to a wheel, or writes it beside its sources."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile it before hatchling collects files."""
        root = Path(self.root)
        if version == "editable":
            compile_in_place(root)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        self._scratch = tempfile.TemporaryDirectory()
        path = compile_kernel(root, Path(self._scratch.name))
        build_data["force_include"][str(path)] = f"{PACKAGE}/{EXTENSION}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove what was compiled for the wheel."""
        if version != "editable":
            self._scratch.cleanup()


def joinable(source: str) -> str:
    """Return a source file without imports of its neighbours, with the structs of its records."""

    def declared(found: re.Match[str]) -> str:
        fields = [f"{field}={KINDS[found[3]]}" for field in re.findall(r"\w+", found[2])]
        return f"{found[0]}; {found[1]} = cython.struct({', '.join(fields)})"

    alone = IMPORTS.sub(lambda found: "\n" * found[0].count("\n"), source)
    return RECORD.sub(declared, alone)


def compile_kernel(root: Path, scratch: Path) -> Path:
    """Compile the kernel in a folder of `scratch`, and return the extension module."""
    stated = runpy.run_path(str(root / COMPILED))
    folder = scratch / PACKAGE
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()  # Cython takes the name of the package from it
    for name in stated["FILES"]:
        source = (root / PACKAGE / f"{name}.py").read_text(encoding="utf-8")
        (folder / f"{name}.py").write_text(joinable(source), encoding="utf-8")
    lines = [*(f'include "{name}.py"' for name in stated["FILES"])]
    lines.append(f'SOURCES = "{stated["digest"]()}"\n')
    (folder / f"{MODULE}.pyx").write_text("\n".join(lines), encoding="utf-8")
    extension = Extension(
        f"{PACKAGE}/{MODULE}".replace("/", "."),
        [f"{PACKAGE}/{MODULE}.pyx"],
        # Uncompressed, so that `is_compiled` finds the digest.
        define_macros=[("Py_LIMITED_API", "0x030b0000"), ("CYTHON_COMPRESS_STRINGS", "0")],
        py_limited_api=True,
        # No path of this machine gets into the file: the same sources give the same bytes.
        extra_compile_args=["-Wno-unused-function", *([] if "CFLAGS" in os.environ else ["-g0"])],
    )
    with chdir(scratch):
        compiled = cythonize([extension], compiler_directives=DIRECTIVES, quiet=True)
        build = Distribution({"name": "enforcer", "ext_modules": compiled}).get_command_obj(
            "build_ext"
        )
        build.build_lib, build.build_temp = "lib", "temp"
        build.ensure_finalized()
        try:
            build.run()
        except CompileError as error:
            raise SystemExit(f"{error}\n{NEEDED}") from error
    return scratch / "lib" / PACKAGE / EXTENSION


def compile_in_place(root: Path) -> None:
    """Compile the kernel beside its sources."""
    with tempfile.TemporaryDirectory() as scratch:
        path = compile_kernel(root, Path(scratch))
        new = root / PACKAGE / f".{EXTENSION}"
        shutil.copy(path, new)
        new.replace(root / PACKAGE / EXTENSION)  # a process may have the old one loaded


def is_compiled(root: Path) -> bool:
    """Return whether the extension module beside the sources was made from these."""
    path = root / PACKAGE / EXTENSION
    digest = runpy.run_path(str(root / COMPILED))["digest"]().encode()
    return path.exists() and digest in path.read_bytes()


if __name__ == "__main__":
    ROOT = Path(__file__).parent
    if not is_compiled(ROOT):
        compile_in_place(ROOT)
