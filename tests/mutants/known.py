"""Changes that are known to change nothing, each with its reason (`equivalent.toml`).

Owns: reading the list. Must not know: how changes are found, or tests are run.
"""

import tomllib
from pathlib import Path


def equivalent() -> dict[tuple[str, str, str], str]:
    """Read the reason for each path, line and changed line."""
    listing = Path(__file__).with_name("equivalent.toml").read_text(encoding="utf-8")
    return {
        (each["file"], each["before"], each["after"]): each["why"]
        for each in tomllib.loads(listing)["mutant"]
    }
