"""Tables of test cases in TOML files, read into parameters of tests.

`cases/objects.toml` stands beside `test_objects.py`. An array of tables in it, `[[counts_by_hand]]`
or `counts_by_hand = [{…}, …]`, has the cases of `test_counts_by_hand`, which is marked with
`each_case`. The fields of a case are the arguments of the test; `name` becomes its id. Fields that
the file lists as `json = ["schema", …]` are written as JSON texts, and arrive parsed.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_Test = TypeVar("_Test", bound="Callable[..., None]")


def read(path: Path, table: str = "case") -> list[dict[str, Any]]:
    """Return the cases of a table; a field that a case leaves out is None."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = document.get("json", ())
    cases = [
        {key: json.loads(value) if key in texts else value for key, value in case.items()}
        for case in document[table]
    ]
    fields = list(dict.fromkeys(key for case in cases for key in case))
    return [{key: case.get(key) for key in fields} for case in cases]


def table_of(file: str) -> Path:
    """Return the file of cases that stands beside a test module."""
    module = Path(file)
    return module.parent / "cases" / f"{module.stem.removeprefix('test_')}.toml"


def each_case(test: _Test) -> _Test:
    """Run a test once for each case of the table that has its name, without `test_`."""
    cases = read(table_of(test.__code__.co_filename), test.__name__.removeprefix("test_"))
    names = [key for key in cases[0] if key != "name"]
    rows = [pytest.param(*map(case.get, names), id=case.get("name")) for case in cases]
    marked: _Test = pytest.mark.parametrize(names, rows)(test)
    return marked
