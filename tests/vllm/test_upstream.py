"""The proposal to vLLM names the patches that there are, and quotes the code that there is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import vllm

from enforcer.vllm import fit, patches
from tests.support.vllm_attributes import ATTRIBUTES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/upstream.md").read_text()


REPLACED = patches.PATCHES | patches.COHERE


def test_every_patch_is_listed_with_what_would_make_it_unnecessary() -> None:
    table = PAGE.split("<!-- patches: ")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (\d?) *\|[^|]+\|[^|]+\| (.*)\|$", table, re.MULTILINE)
    assert [hook for hook, _ in rows if hook] == list("12345678")
    until: dict[str, list[str]] = {}
    for hook, names in rows:
        for name in re.findall(r"`([\w.]+)`", names):
            until.setdefault(name, []).append(hook)
    listed = {name: ", ".join(hooks) for name, hooks in until.items()}
    assert listed == {name.partition(":")[2]: patch.until for name, patch in REPLACED.items()}


def test_the_numbers_are_those_of_the_code() -> None:
    page = " ".join(PAGE.split())
    assert f"by {len(REPLACED)} patches" in page
    count = len(fit.USED | REPLACED)
    assert f"{count} signatures and the attributes of {len(ATTRIBUTES)} classes" in page


def _quoted() -> Iterator[tuple[str, str]]:
    """Give each line of vLLM's that a diff removes or leaves, with its file."""
    for block in re.findall(r"^```diff\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        file = None
        for line in block.splitlines():
            if line.startswith("--- "):
                file = line[4:]
            elif line.startswith(("-", " ")) and line[1:].strip():
                yield file, line[1:]


def test_what_the_next_version_has_of_it_is_counted() -> None:
    """Where `python -m tests.support.compat 0.33.0` has left its sources."""
    root = ROOT / ".cache/vllm-0.33.0-sources"
    if not root.is_dir():
        pytest.skip("the sources of vLLM 0.33.0 are not here")
    quoted = list(_quoted())
    kept = [line for file, line in quoted if line in (root / file).read_text().splitlines()]
    page = " ".join(PAGE.split())
    assert f"of the {len(quoted)} lines of vLLM quoted below, {len(kept)} stand in 0.33.0" in page


def test_the_code_that_is_quoted_is_vllms() -> None:
    root = Path(vllm.__file__).parents[1]
    quoted = list(_quoted())
    assert len(quoted) > 20
    missing = [
        (file, line) for file, line in quoted if line not in (root / file).read_text().splitlines()
    ]
    assert not missing
