"""Packages that only some uses of this library need, and the extras that bring them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from enforcer.errors import MissingPackage

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRAS = {
    "docstring-parser": "tools",
    "httpx": "cli",
    "llguidance": "grammar",
    "outlines-core": "outlines",
    "pydantic": "tools",
    "tokenizers": "tokenizers",
    "torch": "transformers",
    "transformers": "transformers",
    "vllm": "vllm",
    "xgrammar": "xgrammar",
}


@contextmanager
def needed_for(use: str) -> Iterator[None]:
    """Raise `MissingPackage` where an import inside of the block finds no package.

    Args:
        use: subject of the message, such as "engine 'xgrammar'".

    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "enforcer").startswith("enforcer"):
            raise  # no package, but a fault of this one
        raise MissingPackage(f"{use} {message(error)}") from error


def message(error: ModuleNotFoundError) -> str:
    """Say which package is missing, and how to install it; it begins with the verb."""
    package = (error.name or "").partition(".")[0].replace("_", "-")
    what = f"'kimi-enforcer[{EXTRAS[package]}]'" if package in EXTRAS else package
    return f"needs the package {package!r}, which is not installed; pip install {what}"
