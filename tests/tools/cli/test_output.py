"""What all commands print: no name writes a line of its own, moves a cursor, or ends a command."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enforcer.tools import cli
from enforcer.tools.cli import output
from tests import processes
from tests.tools.cli.answers import Command

PYTHON = [sys.executable, "-m", "enforcer"]
# Lines, cursors, directions of writing, and what no encoding has.
NASTY = [
    *("\n", "\r", "\t", "\0", "\x07", "\x1b[31m", "\x7f", "\x85", "\x9b31m"),
    *("\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"),
    *("\ud800", "\udfff"),
]


@pytest.mark.parametrize("nasty", NASTY, ids=ascii)
def test_what_cannot_be_seen_or_would_be_obeyed_is_escaped(nasty: str) -> None:
    found = output.plain(f"a{nasty}b")
    assert found == f"a{ascii(nasty)[1:-1]}b"
    assert found.isprintable()


@pytest.mark.parametrize(
    "text", ["", "get_weather", "é 漢字 😀", "a  b", "\\n", "👨\u200d👩", "שלום"]
)
def test_texts_of_any_language_are_printed_as_they_are(text: str) -> None:
    assert output.plain(text) == text


def lines_of(command: Command, *arguments: str) -> list[str]:
    _, out, err = command(*arguments)
    text = out + err
    assert all(char in "\n✗…" or char.isprintable() for char in text)
    return text.split("\n")


@pytest.mark.slow
@pytest.mark.parametrize("nasty", NASTY, ids=ascii)
@pytest.mark.parametrize("name", ["check", "explain"])
def test_file_names_are_escaped(nasty: str, name: str, tmp_path: Path, command: Command) -> None:
    def tool(name: str, key: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {key: {"type": "no type"}}}
        return {"name": name, "inputSchema": schema}

    counts = []
    for number, odd in enumerate(("x", nasty)):
        file = tmp_path / f"{number}.json"
        names = ("f", f"n{odd}") if name == "check" else ("f", "g")
        file.write_text(json.dumps([tool(names[0], f"k{odd}"), tool(names[1], "k")]))
        options = [str(file)] if name == "check" else ["--tools", str(file)]
        counts.append(len(lines_of(command, name, *options)))
    # One line refuses a name that is none; in another the wrong type becomes a note.
    assert counts[1] <= counts[0] + 2


def test_a_newline_in_a_name_forges_no_row(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "tools.json"
    name = "a\nexact        9.9 ms      1 rules  forged"
    file.write_text(json.dumps([{"name": name, "inputSchema": {"type": "object"}}]))
    assert not any(line.startswith("exact") for line in lines_of(command, "check", str(file)))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_is_the_same_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(data, encoding=encoding))
    output.prepare()
    value = {"names": [*NASTY, "é", "😀", "\\u202e"]}
    output.say_json(value)
    text = data.getvalue().decode(encoding)
    assert json.loads(text) == value
    assert text.replace("\n", "").isprintable()


def test_unencodable_names_are_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"name": "é😀", "inputSchema": {"type": "object"}}]))
    data = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(data, encoding="ascii"))
    assert cli.main(["check", str(file)]) == 1
    assert b"\\xe9\\U0001f600" in data.getvalue()


class Full(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_output_that_takes_no_more_is_told(
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "schema.json"
    file.write_text("{}")
    monkeypatch.setattr("sys.stdout", Full())
    assert cli.main(["check", *more, str(file)]) == cli.USAGE
    assert "cannot write the output: [Errno 28]" in capsys.readouterr().err


def test_a_closed_standard_error_spoils_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Full())
    assert cli.main(["check", "nowhere.json"]) == cli.USAGE


def test_a_standard_output_that_is_closed_is_told_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert cli.main(["check", "nowhere.json"]) == cli.USAGE
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("enforcer: the standard output is closed: ")


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (lambda: None, "cannot read the standard input, which is closed: name a file"),
        (lambda: io.TextIOWrapper(io.BytesIO(b"\xff{}"), "utf-8"), "invalid start byte"),
    ],
    ids=["closed", "no UTF-8"],
)
@pytest.mark.parametrize("command", [["check", "-"], ["explain", "--tools", "-"]])
def test_a_standard_input_that_cannot_be_read_is_told(
    stdin: Callable[[], Any],
    told: str,
    command: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", stdin())
    assert cli.main(command) == cli.USAGE
    assert told in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("redirected", ["> /dev/full", ">&-", ">&- 2>&-"])
def test_no_traceback_where_nothing_can_be_written(redirected: str, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{}")
    done = processes.run(
        "/bin/bash",
        "-c",
        f'exec "$@" check schema.json {redirected}',
        "bash",
        *PYTHON,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == cli.USAGE
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (0 if "2>&-" in redirected else 1)
