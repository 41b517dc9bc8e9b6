"""The kernel as Python runs its sources, beside the compiled one.

Owns: importing its files as the ordinary modules that they are. Must not know: what they do.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from enforcer.machine import compiled


@cache
def interpreted() -> ModuleType:
    """Return a module with all names of the kernel's files, interpreted."""
    found = ModuleType("interpreted_kernel")
    for name in compiled.FILES:
        found.__dict__.update(vars(import_module(f"enforcer.kernel.{name}")))
    return found
