import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import vllm

from enforcer.vllm import fit
from enforcer.vllm.config.names import TESTED_VERSIONS
from tests.processes import run
from tests.support import cases, compat, request_fields, vllm_attributes
from tests.support.request_fields import REJECTED

pytestmark = pytest.mark.slow

INSTALLED = Path(vllm.__file__).parents[1]


def wrong(root: Path) -> dict[str, str]:
    return {
        found.what: found.trouble for found in compat.check(compat.Sources(root)) if found.trouble
    }


def test_the_installed_vllm_fits_by_its_sources_as_it_does_by_import() -> None:
    fit.check_signatures()
    assert wrong(INSTALLED) == {}


def test_fields_that_are_rejected_are_on_the_page_and_stand_in_one_list() -> None:
    page = (Path(__file__).parents[2] / "docs/vllm.md").read_text()
    _, _, table = page.partition("## What is refused, and how")
    table, _, _ = table.partition("## Settings")
    named = {name: "beam search" if name == "use_beam_search" else name for name in REJECTED}
    assert [name for name, word in named.items() if word not in table] == []
    assert len(request_fields.CONSIDERED) == sum(map(len, request_fields.PARTS.values()))


@pytest.mark.vllm
@pytest.mark.parametrize("version", TESTED_VERSIONS[1:])
def test_the_other_tested_versions_fit(version: str) -> None:
    try:
        root = compat.fetch(version, compat.CACHE)
    except OSError as error:
        pytest.skip(f"the wheel of vLLM {version} cannot be had here: {error}")
    assert wrong(root) == {}


def test_a_version_that_does_not_exist_is_one_line() -> None:
    command = (sys.executable, "-m", "tests.support.compat", "0.0.0.dev1")
    # The same answer without a network: no index, and a folder without wheels.
    own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(Path(__file__).parent)}
    done = run(*command, cwd=Path(__file__).parents[2], env={**os.environ, **own})
    [line] = done.stderr.splitlines()
    assert line.startswith("pip cannot download vLLM 0.0.0.dev1: No matching distribution found")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the parts of vLLM's sources that are looked at."""
    root = tmp_path_factory.mktemp("copied")

    def keep(folder: str, names: list[str]) -> list[str]:
        return [n for n in names if not (n.endswith(".py") or (Path(folder) / n).is_dir())]

    folders = "engine entrypoints parser renderers tool_parsers tokenizers config v1/engine"
    folders += " v1/structured_output v1/sample v1/worker v1/metrics"
    for part in folders.split():
        shutil.copytree(INSTALLED / "vllm" / part, root / "vllm" / part, ignore=keep)
    files = "__init__ sampling_params exceptions envs v1/__init__ v1/request"
    for file in files.split():
        shutil.copy(INSTALLED / f"vllm/{file}.py", root / f"vllm/{file}.py")
    assert wrong(root) == {}
    return root


@cases.parametrized("vllm/cases/compat.toml", "change")
def test_a_change_is_found(
    copied: Path, *, file: str, old: str, new: str, what: str, trouble: str
) -> None:
    path = copied / "vllm" / file
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1))
    try:
        found = wrong(copied)
    finally:
        path.write_text(before)
    assert len(found) == 1
    ((name, said),) = found.items()
    assert what in name
    assert trouble in said


def test_the_command_says_what_does_not_hold(copied: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.argv", ["compat", "0.0", "--sources", str(copied)])
    assert compat.main() == 0
    monkeypatch.setitem(vllm_attributes.ATTRIBUTES, "vllm.v1.request.Request", "soul")
    assert compat.main() == 1
    assert "vllm.v1.request.Request.soul  there is no such thing" in capsys.readouterr().out
