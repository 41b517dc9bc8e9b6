"""The doctor's trial turn, in a process of its own, which it patches."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

pytestmark = pytest.mark.slow

# A vLLM of another patch release; and one that has also changed what a trial turn shows.
OTHER = """
import sys
import vllm
vllm.__version__ = "0.32.9"
from vllm.v1.structured_output import StructuredOutputManager
if "changed" in sys.argv:
    StructuredOutputManager.validate_tokens = lambda self, request, tokens: tokens
from enforcer.doctor import installation
for check in list(installation.checks())[-3:]:
    print(check.name, check.status.value, check.found, sep="|")
"""


def told(*arguments: str) -> tuple[list[list[str]], str]:
    done = subprocess.run(
        [sys.executable, "-c", OTHER, *arguments],
        env={**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("|") for line in done.stdout.splitlines()], done.stderr


def test_an_untested_patch_release_is_tried_without_a_trace_of_the_trial() -> None:
    (version, _, trial), errors = told()
    assert version[:2] == ["vLLM", "note"]
    assert trial[:2] == ["trial turn", "ok"]
    assert "enforcer" not in errors


def test_one_that_does_not_drop_an_illegal_draft_is_bad() -> None:
    (*_, trial), _ = told("changed")
    assert trial == ["trial turn", "bad", "an illegal draft was not dropped"]
