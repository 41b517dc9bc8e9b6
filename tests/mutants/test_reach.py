"""Which tests reach which lines: recorded for a small package, of known reach."""

import os
from pathlib import Path

import pytest

pytest.importorskip("pytest_cov", reason="needs the dependency group `mutants`")


from tests.mutants.reach import record

CODE = """\
FACTOR = 2


def double(number):
    if number < 0:
        return -(
            -number * FACTOR
        )
    return number * FACTOR


def unused():
    return FACTOR
"""
TESTS = {
    "tests/numbers/test_both.py": "def test_both(): assert (double(1), double(-1)) == (2, -2)",
    "tests/test_above.py": "def test_above(): assert double(3) == 6",
    "tests/test_below.py": "def test_below(): assert double(-3) == -6",
    "tests/test_none.py": "def test_none(): assert True",
}
ALL = ["tests/numbers/test_both.py", "tests/test_above.py", "tests/test_below.py"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a package and its tests, each of which imports it."""
    for name, code in {"enforcer/numbers/doubled.py": CODE, **TESTS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(
            code
            if name.startswith("enforcer")
            else f"from enforcer.numbers.doubled import double\n{code}\n",
            encoding="utf-8",
        )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for package in ("enforcer", "enforcer/numbers"):
        (tmp_path / package / "__init__.py").touch()
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_files_that_reach_a_line_are_listed_the_rooms_own_first(folder: Path) -> None:
    kept = folder / "kept"
    reach = record(folder, kept, environment(folder), ["tests"])

    def files(first: int, last: int) -> list[str]:
        return reach.tests("enforcer/numbers/doubled.py", CODE, first, last)

    assert files(7, 7) == ["tests/numbers/test_both.py", "tests/test_below.py"]
    assert files(9, 9) == ["tests/numbers/test_both.py", "tests/test_above.py"]
    # A condition, and what is run as the module is loaded.
    assert files(5, 5)[0] == ALL[0]
    assert sorted(files(5, 5)) == sorted(files(1, 1)) == ALL
    assert set(reach.seconds) == set(TESTS)
    # Recorded once for a state of the code.
    (recorded,) = kept.iterdir()
    before = (recorded / "seconds.xml").stat().st_mtime_ns
    record(folder, kept, environment(folder), ["tests"])
    assert (recorded / "seconds.xml").stat().st_mtime_ns == before


def test_tests_that_fail_unchanged_are_shown(folder: Path) -> None:
    (folder / "tests" / "test_none.py").write_text(
        "def test_none(): assert 1 == 2\n", encoding="utf-8"
    )
    with pytest.raises(RuntimeError, match="assert 1 == 2"):
        record(folder, folder / "kept", environment(folder), ["tests"])
