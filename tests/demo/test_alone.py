"""The folder of the demos needs nothing else of the bench."""

import re
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "bench" / "demo"


def test_the_demos_import_no_other_part_of_the_bench() -> None:
    imported = {
        name
        for file in DEMO.rglob("*.py")
        for name in re.findall(
            r"^\s*(?:from|import) (bench\S*)", file.read_text("utf-8"), re.MULTILINE
        )
    }
    assert imported
    assert [name for name in sorted(imported) if name.split(".")[:2] != ["bench", "demo"]] == []
