"""Which file has which URI, and what is said of a file that is no document."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.schema.bundling import read_documents
from enforcer.schema.bundling.folders import read_schemas
from tests.schema_judge import accepts, compiled
from tests.support.cases import each_case

BASE = "https://schemas.example.com/"


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def write(**files: Any) -> Path:
        for name, value in files.items():
            file = tmp_path / "schemas" / f"{name.replace('__', '/')}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(value if isinstance(value, str) else json.dumps(value))
        return tmp_path / "schemas"

    return write


def test_files_are_known_by_their_identifiers(folder: Callable[..., Path]) -> None:
    at = folder(
        one={"$id": f"{BASE}one#"},
        sub__two={"id": f"{BASE}2", "$schema": "http://json-schema.org/draft-04/schema"},
    )
    assert set(read_schemas([str(at)])[0]) == {f"{BASE}one", f"{BASE}2"}
    assert set(read_schemas([str(at / "one.json")])[0]) == {f"{BASE}one"}


def test_files_are_known_by_where_their_folder_is_served(folder: Callable[..., Path]) -> None:
    at = folder(one={}, sub__two=True, **{"a b": {}})
    for uri in (BASE, BASE.rstrip("/")):
        found, where = read_schemas([f"{uri}={at}"])
        assert set(found) == {f"{BASE}one.json", f"{BASE}sub/two.json", f"{BASE}a%20b.json"}
        assert where[f"{BASE}sub/two.json"] == str(at / "sub" / "two.json")
    assert set(read_schemas([f"urn:example:one={at / 'one.json'}"])[0]) == {"urn:example:one"}


def test_one_source_is_one_and_may_be_a_path(folder: Callable[..., Path]) -> None:
    """A text gives its letters one by one, of which `.` and `/` are folders."""
    at = folder(one={"$id": f"{BASE}one"})
    for sources in (str(at), at, [at], (str(at),), iter([str(at)])):
        assert set(read_schemas(sources)[0]) == {f"{BASE}one"}
    assert set(read_schemas(f"{BASE}={at}")[0]) == {f"{BASE}one.json"}


@pytest.mark.parametrize("wrong", [None, 5, [5], b"x", [b"x"], [None]])
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="read from paths, not from"):
        read_documents(wrong)


def test_a_schema_is_held_to_what_the_files_say(folder: Callable[..., Path]) -> None:
    at = folder(one={"items": {"$ref": "sub/two.json"}}, sub__two={"const": 2})
    provided = read_documents([f"{BASE}={at}"])
    grammar = compiled(json.loads(provided.bundle(json.dumps({"$ref": f"{BASE}one.json"}))))
    assert accepts(grammar, "[2]")
    assert not accepts(grammar, "[1]")


def test_no_sources_are_no_documents() -> None:
    assert not read_documents([])


@each_case
def test_a_wrong_file_is_named(folder: Any, files: Any, message: Any) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_documents([str(folder(**files))])


def test_what_is_no_schema_below_a_uri_is_named(folder: Callable[..., Path]) -> None:
    with pytest.raises(ConfigurationError, match=r"list.json is not a JSON Schema"):
        read_documents([f"{BASE}={folder(list=[1])}"])


def test_a_folder_or_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="absent"):
        read_documents([str(tmp_path / "absent")])
    with pytest.raises(ConfigurationError, match=r"no \.json file"):
        read_documents([str(tmp_path)])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(folder: Callable[..., Path]) -> None:
    at = folder(one={"$id": f"{BASE}one"})
    (at / "one.json").chmod(0)
    with pytest.raises(ConfigurationError, match=r"cannot read .*one\.json"):
        read_documents([str(at)])


def test_nothing_is_asked_of_the_network(folder: Any, monkeypatch: Any) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    at = folder(one={"$ref": "https://example.org/absent", "$id": f"{BASE}one"})
    text = read_documents([str(at)]).bundle(json.dumps({"$ref": f"{BASE}one"}))
    with pytest.raises(Exception, match="leads out of this schema"):
        compiled(json.loads(text))


def test_a_folder_may_be_a_mounted_config_map(tmp_path: Path) -> None:
    """Its files are links into a hidden folder, which a link names and a change replaces."""
    (tmp_path / "..2026_11_23").mkdir()
    (tmp_path / "..2026_11_23" / "a.json").write_text('{"$id": "https://example.com/a"}')
    (tmp_path / "..data").symlink_to("..2026_11_23")
    (tmp_path / "a.json").symlink_to("..data/a.json")
    for source in (str(tmp_path), f"https://example.com={tmp_path}"):
        assert len(read_documents([source])) == 1
