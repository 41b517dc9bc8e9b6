"""Cases of tests, read from the TOML files in `cases` folders beside the tests."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).resolve().parents[1]
_JSON = ("schema", "body")


def load(path: str) -> dict[str, Any]:
    """Return a whole file; its path is relative to `tests`."""
    return tomllib.loads((_TESTS / path).read_text(encoding="utf-8"))


def read(path: str, table: str = "case") -> list[dict[str, Any]]:
    """Return the cases of a file, in its order; a text as `schema` or `body` is JSON."""
    return [
        {
            key: json.loads(x) if key in _JSON and isinstance(x, str) else x
            for key, x in case.items()
        }
        for case in load(path)[table]
    ]


def schemas(path: str, table: str = "schemas") -> dict[str, Any]:
    """Return the schemas of a table in which each name has its JSON."""
    return {name: json.loads(text) for name, text in load(path)[table].items()}


def parametrized(path: str, table: str = "case") -> pytest.MarkDecorator:
    """Run a test for each case of a table; its parameters are the keys.

    A missing key is None; `name` is the id, where a case has one.
    """
    found = read(path, table)
    keys = list(dict.fromkeys(key for each in found for key in each if key != "name"))
    rows = [pytest.param(*map(each.get, keys), id=each.get("name")) for each in found]
    return pytest.mark.parametrize(keys, rows)
