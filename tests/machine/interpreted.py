"""The compiled modules of `enforcer.machine` as Python runs their sources.

Owns: importing them a second time, beside the compiled ones. Must not know: what they do.
"""

from __future__ import annotations

from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from enforcer.machine import compiled

if TYPE_CHECKING:
    from types import ModuleType


@cache
def interpreted(name: str) -> ModuleType:
    """Import the source of a module of `compiled.MODULES`, under another name."""
    path = Path(compiled.__file__).with_name(f"{name}.py")
    spec = spec_from_file_location(f"interpreted_{name}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
