"""The command that shows a schema's way through the compiler, and the page that quotes it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from enforcer.diagnosis.stages import main, stages

PAGE = Path(__file__).parents[2].joinpath("docs", "compiler.md").read_text(encoding="utf-8")

# What the page quotes in the same way that is no module.
KEYWORDS = {"all of", "one of", "properties", "contains", "type", "kind", "r"}


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def test_the_page_shows_what_the_command_does() -> None:
    assert block("text").rstrip() == stages(json.loads(block("json"))).rstrip()


def test_the_modules_that_the_page_names_exist() -> None:
    room = Path(__file__).parents[2] / "enforcer"
    for each in re.findall(r"`(enforcer/[a-z/]+)`", PAGE):
        assert (room.parent / each).is_dir() or (room.parent / f"{each}.py").exists(), each
    prose = PAGE.split("\n## ", 1)[1]
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", prose)) - KEYWORDS
    named -= {each for each in named if each.startswith("enforcer/")}
    assert len(named) > 15
    known = {path.relative_to(room).with_suffix("").as_posix() for path in room.rglob("*.py")}
    assert not [x for x in named if not any(f"/{each}".endswith(f"/{x}") for each in known)]


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        (True, ["f1 = any scalar", "# Finishing"]),
        ({"not": {"type": "string"}}, ["f3 = not f2", "f2 = any string"]),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, ["; unique True"]),
        (
            {"type": "array", "contains": {"const": 1}, "maxContains": 2},
            [
                "; contains (Contains(value=2, start=0, minimum=1, maximum=2",
                "; contains (Contains(",
            ],
        ),
        ({"type": "object", "minProperties": 1}, ["object {…: anything}; minimum 1"]),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, ["a reference"]),
        (
            {"type": "object", "patternProperties": {"^(x|y)$": {"const": 1}}},
            ['"x" or "y" or "x\\n" or "y\\n": f2', "f2 = 1"],
        ),
    ],
)
def test_what_is_shown(schema: Any, lines: list[str]) -> None:
    shown = stages(schema)
    for line in lines:
        assert line in shown


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"const": 3}')
    assert main([str(file)]) == 0
    assert "= 3\n" in capsys.readouterr().out
    file.write_text('{"type": "objekt"}')
    assert main([str(file)]) == 2
    assert "$.type" in capsys.readouterr().err
    assert main([str(tmp_path / "none.json")]) == 2
    assert main([]) == 2
