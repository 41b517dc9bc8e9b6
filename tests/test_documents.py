import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import documents
from enforcer.documents import Document, Unreadable
from enforcer.errors import ConfigurationError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(JSON, st.sampled_from([None, 2]))
def test_a_file_of_one_value(value: Any, indent: int | None) -> None:
    assert documents.parse(json.dumps(value, indent=indent), "f") == [Document(value, "f")]


@given(st.lists(JSON, min_size=2, max_size=5), st.booleans())
def test_a_file_of_lines(values: list[Any], blank: bool) -> None:
    text = ("\n\n" if blank else "\n").join(json.dumps(v, ensure_ascii=False) for v in values)
    step = 2 if blank else 1
    assert documents.parse(text, "f") == [
        Document(value, f"f:{n * step + 1}") for n, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f is empty"),
        (" \n", "f is empty"),
        ("{", "f is not JSON"),
        ("{}\n{", "f:2 is not JSON"),
        ('{"a": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_told(text: str, message: str) -> None:
    *_, last = documents.parse(text, "f")
    assert isinstance(last, Unreadable)
    assert message in last.message


def test_a_file_whose_name_says_lines_is_read_by_line(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text('{"a":[\nx\n{"b": 1}\n')
    first, second, third = documents.records(file)
    assert isinstance(first, Unreadable)
    assert isinstance(second, Unreadable)
    assert third == Document({"b": 1}, f"{file}:3")
    file = tmp_path / "f.json"
    file.write_text('{"a":[\nx\n{"b": 1}\n')
    with pytest.raises(ConfigurationError, match="is not JSON"):
        documents.read(file)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot read"):
        documents.read(tmp_path / "absent")
    (tmp_path / "latin").write_bytes(b'"\xe9"')
    with pytest.raises(ConfigurationError, match="cannot read"):
        documents.read(tmp_path / "latin")


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf{}")
    assert documents.read(tmp_path / "f")[0].value == {}


def test_a_byte_order_mark_is_skipped_from_any_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\ufeff{}"))
    assert documents.read("-") == [Document({}, "<stdin>")]
    assert documents.parse("\ufeff{}\n7", "f") == [Document({}, "f:1"), Document(7, "f:2")]
    assert documents.parse("\ufeff\n", "f") == [Unreadable("f is empty")]


def test_a_hyphen_is_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("{}\n7"))
    assert [d.where for d in documents.read("-")] == ["<stdin>:1", "<stdin>:2"]


def test_a_line_that_is_no_json_spoils_no_other(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    for lines in (["{}", "{", "7"], ["{", "{}", "7"]):
        file.write_text("\n".join(lines))
        kinds = [type(each) for each in documents.records(file)]
        assert kinds == [Unreadable if line == "{" else Document for line in lines]
    file = tmp_path / "f.json"
    file.write_text('{\n  "a": 1,\n  "b": [\n    2\n  ]\n')
    [told] = documents.records(file)
    assert isinstance(told, Unreadable)
    assert "is not JSON: Expecting" in told.message


def test_files_of_a_folder_are_known_by_their_suffixes(tmp_path: Path) -> None:
    for name in ("a.json", "b.JSON", "c.jsonl", "d.ndjson", "e.JSONL", "f.txt", "json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "folder.json").mkdir()
    found = [Path(file).name for file in documents.files(tmp_path)]
    assert found == ["a.json", "b.JSON", "c.jsonl", "d.ndjson", "e.JSONL"]
