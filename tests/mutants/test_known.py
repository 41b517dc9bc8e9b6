"""The list of changes that change nothing: of lines that are there, each with a reason."""

from pathlib import Path

from tests.mutants.known import equivalent

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_listed_is_there_and_has_a_reason() -> None:
    assert len(equivalent()) > 10
    for (path, before, after), why in equivalent().items():
        source = (ROOT / path).read_text(encoding="utf-8")
        lines = "\n".join(line.strip() for line in source.splitlines())
        assert before in lines, f"{path} has no such line any more: {before}"
        assert before != after
        assert len(why.split()) > 3
