"""The compiled kernel: its source files, and whether the extension module was made from them.

The files of `enforcer/kernel` are written in Cython's pure Python mode. `hatch_build.py` joins them
into one translation unit, so that a call from one file to another is one of C, and compiles it to
`enforcer.kernel.native`, an extension module of the stable ABI, where this project is installed or
built. For tests the files run interpreted, as ordinary modules, a thousand times slower. Must
import nothing else of the library: `hatch_build.py` runs this file by itself.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path

NAME = "enforcer.kernel.native"
# In the order in which they are joined: each imports from those before it only.
FILES = (
    *("records", "tokens", "tables", "turn", "state", "automata", "names", "strings"),
    *("objects", "arrays", "values", "search", "aims", "ends", "costs", "drafts"),
    *("walk", "rows", "fitting", "matcher", "turn_matcher"),
)

FOLDER = Path(__file__).parents[1] / "kernel"
_INSTALL = "run `make env` or `pip install -e .` in the checkout (a C compiler is needed)"


def digest() -> str:
    """Return a digest of the source files; the extension module has its own as `SOURCES`."""
    sources = hashlib.sha256()
    for name in FILES:
        sources.update((FOLDER / f"{name}.py").read_bytes())
    return sources.hexdigest()


def require_compiled() -> None:
    """Raise `ConfigurationError` unless the kernel was compiled from the sources beside it."""
    from enforcer.errors import ConfigurationError

    try:
        module = import_module(NAME)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{NAME} is not compiled in {FOLDER.parent}, from where Python imports it: {_INSTALL}, "
            "or run from another folder if it is installed elsewhere"
        ) from error
    if digest() != module.SOURCES:
        raise ConfigurationError(
            f"{module.__file__} was compiled from other sources than are beside it: {_INSTALL}"
        )
