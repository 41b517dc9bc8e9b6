"""Compiles the modules of `enforcer.machine` that are written in Cython's pure Python mode.

As hatchling's build hook: into a wheel, which then fits every CPython from 3.11 on (`cp311-abi3`),
or beside the sources for an editable install. As a command, `python hatch_build.py`: beside the
sources, unless they have not changed. `CC`, `CFLAGS` and `LDFLAGS` are read as usual. For a run
under sanitizers remove the compiled modules, set both flags to `-fsanitize=address,undefined` and
preload what `gcc -print-file-name=libasan.so` prints.
"""

from __future__ import annotations

import os
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

PACKAGE = "enforcer/machine"
SUFFIX = ".abi3.so"
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


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, or writes them beside their sources."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them before hatchling collects files."""
        root = Path(self.root)
        if version == "editable":
            compile_in_place(root)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        self._scratch = tempfile.TemporaryDirectory()
        for path in compile_modules(root, Path(self._scratch.name)):
            build_data["force_include"][str(path)] = f"{PACKAGE}/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove what was compiled for the wheel."""
        if version != "editable":
            self._scratch.cleanup()


def compile_modules(root: Path, scratch: Path) -> list[Path]:
    """Compile all modules and return the extension modules, in a folder of `scratch`."""
    stated = runpy.run_path(str(root / PACKAGE / "compiled.py"))
    modules: tuple[str, ...] = stated["MODULES"]
    (scratch / PACKAGE).mkdir(parents=True)
    for folder in (scratch / PACKAGE, (scratch / PACKAGE).parent):
        (folder / "__init__.py").touch()  # Cython takes the name of the package from it
    for name in modules:
        source = (root / PACKAGE / f"{name}.py").read_text(encoding="utf-8")
        text = f'{source}\n\nSOURCES = "{stated["digest"]()}"\n'
        (scratch / PACKAGE / f"{name}.py").write_text(text, encoding="utf-8")
    # No path of this machine gets into the files: the same sources give the same bytes.
    flags = ["-Wno-unused-function", *([] if "CFLAGS" in os.environ else ["-g0"])]
    extensions = [
        Extension(
            f"{PACKAGE}/{name}".replace("/", "."),
            [f"{PACKAGE}/{name}.py"],
            # Uncompressed, so that `compile_in_place` finds the digest.
            define_macros=[("Py_LIMITED_API", "0x030b0000"), ("CYTHON_COMPRESS_STRINGS", "0")],
            py_limited_api=True,
            extra_compile_args=flags,
        )
        for name in modules
    ]
    with chdir(scratch):
        compiled = cythonize(extensions, compiler_directives=DIRECTIVES, quiet=True)
        build = Distribution({"name": "enforcer", "ext_modules": compiled}).get_command_obj(
            "build_ext"
        )
        build.build_lib, build.build_temp = "lib", "temp"
        build.ensure_finalized()
        try:
            build.run()
        except CompileError as error:
            raise SystemExit(f"{error}\n{NEEDED}") from error
    return [scratch / "lib" / PACKAGE / f"{name}{SUFFIX}" for name in modules]


def compile_in_place(root: Path) -> None:
    """Compile all modules beside their sources."""
    with tempfile.TemporaryDirectory() as scratch:
        for path in compile_modules(root, Path(scratch)):
            new = root / PACKAGE / f".{path.name}"
            shutil.copy(path, new)
            new.replace(root / PACKAGE / path.name)  # a process may have the old one loaded


def are_compiled(root: Path) -> bool:
    """Return whether the modules beside the sources were made from these."""
    stated = runpy.run_path(str(root / PACKAGE / "compiled.py"))
    there = [root / PACKAGE / f"{name}{SUFFIX}" for name in stated["MODULES"]]
    digest = stated["digest"]().encode()
    return all(path.exists() and digest in path.read_bytes() for path in there)


if __name__ == "__main__":
    ROOT = Path(__file__).parent
    if not are_compiled(ROOT):
        compile_in_place(ROOT)
