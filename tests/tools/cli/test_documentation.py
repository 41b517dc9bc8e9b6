"""`docs/cli.md` has every command and every option that there is, and no other."""

import argparse
import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from enforcer.tools.cli import check, doctor, explain, main, verify
from tests.tools.cli.answers import Command

PAGE = Path(__file__).parents[3].joinpath("docs", "cli.md").read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^## `enforcer (\w+)`.*?\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
)


def parsers() -> dict[str, ArgumentParser]:
    commands = argparse.ArgumentParser().add_subparsers()
    for module in (check, explain, verify, doctor):
        module.add_parser(commands)
    return commands.choices


def options(parser: ArgumentParser) -> set[str]:
    """List the long options of a command, as a call would spell them."""
    return {name for name in parser._option_string_actions if name.startswith("--")} - {"--help"}


def test_the_commands_are_those_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = set(re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE))
    assert shown == set(SECTIONS) == set(parsers())


@pytest.mark.parametrize("command", SECTIONS)
def test_every_option_is_on_the_page_and_no_other_in_its_lists(command: str) -> None:
    section, known = SECTIONS[command], options(parsers()[command])
    assert known <= set(re.findall(r"--[a-z][a-z-]*", section))
    rows = re.findall(r"^- (`--.*?):", section, re.MULTILINE)
    calls = re.findall(rf"^(?:\$ )?enforcer {command} ((?:.*\\\n)*.*)$", section, re.MULTILINE)
    assert set(re.findall(r"--[a-z][a-z-]*", "\n".join([*rows, *calls]))) <= known


def test_printed_example(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tools,) = re.findall(r"^```json\n(.*?)^```", SECTIONS["check"], re.DOTALL | re.MULTILINE)
    ((call, shown),) = re.findall(
        r"^```console\n\$ enforcer (.*?)\n(.*?)^```", SECTIONS["check"], re.DOTALL | re.MULTILINE
    )
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(tools)
    status, out, _ = command(*call.split())
    assert status == 1
    assert _without_times(out) == _without_times(shown)


def _without_times(printed: str) -> list[str]:
    return re.sub(r"[0-9.]+ ms", "T ms", printed).split()
