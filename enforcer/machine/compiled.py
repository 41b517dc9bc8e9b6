"""The modules of this package that are compiled, and whether they fit the sources beside them.

They are written in Cython's pure Python mode. `hatch_build.py` makes an extension module of the
stable ABI of each where this project is installed or built; Python imports that in place of the
source. Without it the source runs as it is, for tests, a thousand times slower and with Cython
installed. Must import nothing else of the library: `hatch_build.py` runs this file by itself.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path

# Each has a `.pyi` as well, which a type checker reads in its place.
MODULES = ("kernel", "tree_builder")

_FOLDER = Path(__file__).parent
_INSTALL = "run `make env` or `pip install -e .` in the checkout (a C compiler is needed)"


def digest() -> str:
    """Return a digest of the sources; a compiled module has that of its own as `SOURCES`."""
    sources = hashlib.sha256()
    for name in MODULES:
        sources.update((_FOLDER / f"{name}.py").read_bytes())
    return sources.hexdigest()


def check() -> None:
    """Raise `ConfigurationError` if a compiled module was made from other sources."""
    from enforcer.errors import ConfigurationError

    wanted = digest()
    for name in MODULES:
        try:
            module = import_module(f"enforcer.machine.{name}")
        except ModuleNotFoundError as error:
            if error.name != "cython":
                raise
            raise ConfigurationError(
                f"enforcer.machine.{name} is not compiled: {_INSTALL}"
            ) from error
        if getattr(module, "SOURCES", wanted) != wanted:
            raise ConfigurationError(
                f"{module.__file__} was compiled from other sources than are beside it: {_INSTALL}"
            )


def require_compiled() -> None:
    """Raise `ConfigurationError` unless every module runs compiled, from the sources beside it."""
    from enforcer.errors import ConfigurationError

    check()
    for name in MODULES:
        if not hasattr(import_module(f"enforcer.machine.{name}"), "SOURCES"):
            raise ConfigurationError(
                f"enforcer.machine.{name} is not compiled, which is too slow to serve: {_INSTALL}"
            )
