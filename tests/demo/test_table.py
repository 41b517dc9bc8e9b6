import io
from dataclasses import replace

from rich.console import Console

from bench.demo import table
from bench.demo.__main__ import WIDTH
from enforcer.judging.judge import Fault
from enforcer.tools.verify.report import RunCounts

ROW = RunCounts(
    requests=12,
    finish_reasons={"stop": 3, "tool_calls": 8, "others": 1},
    faults={Fault.UNDECLARED: 2, Fault.SCHEMA: 1, Fault.FAILED: 1, Fault.CHOICE: 2, Fault.LEAK: 4},
    complete=11,
    cut_off=1,
    with_calls=8,
    successful_calls=5,
    schema_accuracy=5 / 8,
    empty=0,
    right=4,
)


def test_cells_stand_under_their_columns() -> None:
    assert dict(zip(table.COLUMNS[1:], table.cells(ROW), strict=True)) == {
        "requests": "12",
        "stop": "3",
        "tool\ncalls": "8",
        "others": "1",
        "undeclared\ncalls": "2",
        "schema\nerrors": "1",
        "successful\ncalls": "5",
        "schema\naccuracy": "62.50 %",
        "wrong\nids": "0",
        "leaked\nmarkers": "4",
        "empty\nreplies": "0",
        "other\nerrors": "3",
    }


def test_accuracy_is_rounded_down() -> None:
    assert "99.99 %" in table.cells(replace(ROW, schema_accuracy=29_999 / 30_000))


def test_each_server_has_one_line_and_nothing_is_cut() -> None:
    console = Console(width=WIDTH, record=True, file=io.StringIO())
    console.print(table.render({"as it is": ROW, "Enforcer": ROW}))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert [line for line in lines if "62.50" in line] == [
        [*name.split(), *" ".join(table.cells(ROW)).split()] for name in ("as it is", "Enforcer")
    ]
