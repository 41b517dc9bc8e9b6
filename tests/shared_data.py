"""Finds the folder of case files that some checkouts have beside them.

Owns: where it is looked for, and the reason that a test skipped without it shows.
Must not know: what is in it.
"""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> Path:
    """Return the path of a case file or folder; skip the test where it is absent.

    Looked for in `$ENFORCER_SHARED`, else in `../shared` beside the repository.
    At module level it skips the whole module.
    """
    path = Path(os.environ.get("ENFORCER_SHARED", _BESIDE)).joinpath(*parts)
    if not path.exists():
        pytest.skip(
            f"no case files at {path}; set ENFORCER_SHARED to their folder", allow_module_level=True
        )
    return path
