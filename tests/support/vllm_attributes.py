"""Attributes of vLLM's classes that `enforcer.vllm` reads or sets; `compat` checks them."""

import tomllib
from pathlib import Path

# By class: attributes of its objects, fields and members.
ATTRIBUTES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
