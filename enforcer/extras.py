"""Optional packages, and the extras of this library that install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from enforcer.errors import MissingPackage

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
    """Raise `MissingPackage` if an import within the block finds no package.

    Args:
        use: subject of the message, such as "engine 'xgrammar'".

    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "enforcer").startswith("enforcer"):
            raise  # a bug of this library
        raise MissingPackage(f"{use} {message(error)}") from error


def message(error: ModuleNotFoundError) -> str:
    """Return the words "needs the package …", with the command that installs it."""
    package = (error.name or "").partition(".")[0].replace("_", "-")
    what = package
    if package in EXTRAS:
        what = f"'.[{EXTRAS[package]}]' in a checkout of kimi-enforcer"
    return f"needs the package {package!r}, which is not installed; pip install {what}"
