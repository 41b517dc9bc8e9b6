"""Tables of test cases in TOML files, read into parameters of tests.

`cases/objects.toml` stands beside `test_objects.py`. An array of tables in it, `[[counts_by_hand]]`
or `counts_by_hand = [{…}, …]`, has the cases of `test_counts_by_hand`, which is marked with
`each_case`. The fields of a case are the arguments of the test; `name` becomes its id. Fields that
the file lists as `json = ["schema", …]` are written as JSON texts, and arrive parsed. A file or a
table of another name is given to `parametrized`.
"""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

_TESTS = Path(__file__).resolve().parents[1]
_Test = TypeVar("_Test", bound="Callable[..., None]")


def load(path: Path | str) -> dict[str, Any]:
    """Return a whole file; its path is relative to `tests`."""
    return tomllib.loads((_TESTS / path).read_text(encoding="utf-8"))


def schemas(path: str, table: str = "schemas") -> dict[str, Any]:
    """Return the schemas of a table in which each name has its JSON."""
    return {name: json.loads(text) for name, text in load(path)[table].items()}


def read(path: Path | str, table: str = "case") -> list[dict[str, Any]]:
    """Return the cases of a table."""
    document = load(path)
    texts = document.get("json", ())
    return [
        {key: json.loads(value) if key in texts else value for key, value in case.items()}
        for case in document[table]
    ]


def table_of(file: str) -> Path:
    """Return the file of cases that stands beside a test module."""
    module = Path(file)
    return module.parent / "cases" / f"{module.stem.removeprefix('test_')}.toml"


def each_case(test: _Test) -> _Test:
    """Run a test once for each case of the table that has its name, without `test_`."""
    path = table_of(test.__code__.co_filename)
    marked: _Test = parametrized(path, test.__name__.removeprefix("test_"))(test)
    return marked


def parametrized(path: Path | str, table: str) -> pytest.MarkDecorator:
    """Run a test once for each case of a table; a field that a case leaves out is None."""
    cases = read(path, table)
    names = list(dict.fromkeys(key for case in cases for key in case if key != "name"))
    rows = [pytest.param(*map(case.get, names), id=case.get("name")) for case in cases]
    return pytest.mark.parametrize(names, rows)


def params(path: str, keys: str, table: str = "case") -> list[Any]:
    """Return the cases as parameter sets of these keys, separated by commas.

    A missing key is None; `name` is the id, where a case has one.
    """
    names = [key.strip() for key in keys.split(",")]
    return [pytest.param(*map(each.get, names), id=each.get("name")) for each in read(path, table)]


def listed(path: str, array: str) -> list[Any]:
    """Return the values of an array whose elements are JSON."""
    return [json.loads(text) for text in load(path)[array]]
