import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import UnsupportedHost
from enforcer.machine import compiled
from enforcer.tools.doctor import CheckStatus, installation
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metric_defs
from tests.support.cases import parametrized

ROOT = Path(__file__).resolve().parents[3]


class _Entry:
    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, value


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def put(*pairs: tuple[str, str]) -> None:
        found = [_Entry(*pair) for pair in pairs]
        monkeypatch.setattr(metadata, "entry_points", lambda **_: found)

    return put


def test_the_entry_point_is_the_one_of_the_project(entries: Callable[..., None]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries(*project["entry-points"]["vllm.general_plugins"].items())
    assert installation.entry_point().status is CheckStatus.OK


@pytest.mark.parametrize(
    "found", [(), (("other", "x:y"),), (("enforcer", "x:y"),), (("enforcer", "x:y"),) * 2]
)
def test_another_entry_point_must_be_mended(
    entries: Callable[..., None], found: tuple[tuple[str, str], ...]
) -> None:
    entries(*found)
    assert installation.entry_point().status is CheckStatus.BAD


@parametrized("tools/doctor/cases/installation.toml", "plugins")
def test_the_filter_of_plugins(environment: dict[str, Any], status: str) -> None:
    assert installation.plugin_filter(environment).status.value == status


@parametrized("tools/doctor/cases/installation.toml", "settings")
def test_settings(environment: dict[str, Any], status: str) -> None:
    found, *_ = installation.settings(environment)
    assert found.status.value == status
    assert status == "ok" or next(iter(environment)) in f"{found.found} {found.mend}"


def test_compiled_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.compiled_modules().status is CheckStatus.OK
    monkeypatch.setattr(compiled, "digest", lambda: "another")
    found = installation.compiled_modules()
    assert found.status is CheckStatus.BAD
    assert "was compiled from other sources" in found.found
    assert found.mend.startswith("run `make env`")


@parametrized("tools/doctor/cases/installation.toml", "budgets")
def test_the_settings_say_whether_calls_end_in_time(given: dict[str, Any], said: str) -> None:
    [found] = installation.settings(given)
    assert said in found.found


@parametrized("tools/doctor/cases/installation.toml", "engines")
def test_the_chosen_engine_is_checked(environment: dict[str, str], names: list[str]) -> None:
    assert [check.name for check in installation.settings(environment)] == names


@parametrized("tools/doctor/cases/installation.toml", "versions")
def test_engine_versions(monkeypatch: pytest.MonkeyPatch, version: str | None, status: str) -> None:
    pytest.importorskip("enforcer.engines.xgrammar")  # its package asks for versions, too
    if version is None:
        monkeypatch.setitem(sys.modules, "xgrammar", None)
        monkeypatch.delitem(sys.modules, "enforcer.engines.xgrammar", raising=False)
    monkeypatch.setattr(metadata, "version", lambda _: version)
    assert installation.engine("xgrammar").status.value == status


def test_a_folder_on_the_path_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metric_defs, "version", found)
    assert installation.distribution().status is CheckStatus.BAD


def test_without_vllm_nothing_of_it_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    *_, last = installation.checks()
    assert (last.name, last.status) == ("vLLM", CheckStatus.NOTE)
    assert last.caveat == "vLLM is not installed here"


def test_an_untested_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    vllm = pytest.importorskip("vllm")
    monkeypatch.setattr(vllm, "__version__", "0.11.0")
    assert installation.vllm_version().status is CheckStatus.BAD


def test_a_vllm_that_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm")
    from enforcer.vllm import fit

    def changed(_: object) -> None:
        raise UnsupportedHost("this vLLM has no f")

    monkeypatch.setattr(fit, "check_signatures", changed)
    check = installation.vllm_signatures()
    assert (check.status, check.found) == (CheckStatus.BAD, "this vLLM has no f")


def test_a_wrong_setting_costs_no_other_check(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm")
    wrong = {"ENFORCER_SHADOV": "on"}
    monkeypatch.setattr(settings, "current", lambda: settings.read(wrong))
    assert installation.vllm_signatures().status is CheckStatus.OK


def test_documents_are_read(tmp_path: Path) -> None:
    file = tmp_path / "city.json"
    file.write_text('{"$id": "https://schemas.example.com/city"}')
    [good] = installation.settings({"ENFORCER_DOCUMENTS": str(tmp_path)})
    assert (good.status, "documents: 1" in good.found) == (CheckStatus.OK, True)
    file.write_text("{")
    [bad] = installation.settings({"ENFORCER_DOCUMENTS": str(tmp_path)})
    assert bad.status is CheckStatus.BAD
    assert str(file) in bad.found
