"""Cases of tests, read from the TOML files in `cases` folders beside the tests."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).resolve().parents[1]


def load(path: str) -> dict[str, Any]:
    """Return a whole file; its path is relative to `tests`."""
    return tomllib.loads((_TESTS / path).read_text(encoding="utf-8"))


def read(path: str, table: str = "case") -> list[dict[str, Any]]:
    """Return the cases of a file, in its order; a `schema` that is a text is JSON."""
    return [
        {**each, "schema": json.loads(each["schema"])}
        if isinstance(each.get("schema"), str)
        else each
        for each in load(path)[table]
    ]


def params(path: str, keys: str, table: str = "case") -> list[Any]:
    """Return the cases as parameter sets of these keys, separated by commas.

    A missing key is None; `name` is the id, where a case has one.
    """
    names = [key.strip() for key in keys.split(",")]
    return [pytest.param(*map(each.get, names), id=each.get("name")) for each in read(path, table)]


def schemas(path: str, table: str = "schemas") -> dict[str, Any]:
    """Return the schemas of a table in which each name has its JSON."""
    return {name: json.loads(text) for name, text in load(path)[table].items()}


def listed(path: str, array: str) -> list[Any]:
    """Return the values of an array whose elements are JSON."""
    return [json.loads(text) for text in load(path)[array]]
