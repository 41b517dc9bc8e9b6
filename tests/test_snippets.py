"""The examples of README and docs run as they stand: Python page by page, and command lines."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import enforcer
from enforcer.tools import cli
from tests.snippets import ROOT, TOOLS, blocks, commands, every, fenced, run, script, scripts
from tests.vllm_servers import TINY
from tests.vocabularies import call, section

ID = r"functions.get_weather:0"
WRITTEN = r"functions.get_weather:0 get_weather \{.*\}\n"
READ = r".*\(Call\(id='functions.get_weather:0', name='get_weather', .*\),?\)\n"
# What each page prints; those with servers run in `vllm/test_snippets.py`.
SAYS = {
    "README.md": rf"(?s:.*)call get_weather '{ID}'\n(?s:.*)call_end  '\{{.*\}}'\n",
    "docs/clients/anthropic.md": r"\S+ get_weather \{'city': '.*'\}\n",
    "docs/clients/openai.md": WRITTEN,
    "docs/explain.md": re.escape(blocks(ROOT / "docs/explain.md", "text")[0]),
    "docs/index.md": READ,
    "docs/production/runbook.md": r"(\d+\.\d\d ms  [A-Z_]+\n){5}",
    "docs/reference/errors.md": r"\$\.tools\[0\]\.\S+\.pair\.pattern pattern .*\n",
    "docs/reference/turns.md": r".* \d+ tokens.*\n",
    "docs/schema-support.md": "",
}
PYTHON = scripts()
SERVED = [page for page, text in PYTHON.items() if "localhost:" in text]


def says(page: str, folder: Path, ports: dict[str, int]) -> None:
    """Run the Python of a page, and compare what it prints."""
    printed = run(PYTHON[page], folder, ports)
    assert re.fullmatch(SAYS[page], printed), printed


def test_every_page_with_python_is_run() -> None:
    assert PYTHON.keys() == SAYS.keys()


def test_code_stands_where_the_page_has_it() -> None:
    text = "A\n\n```python\na = 1\n```\n```sh\nb\n```\n```python\nc = 2\n```\n"
    lines = script(fenced(text, ROOT / "docs/new.md")).splitlines()
    assert lines == [*[""] * 3, "a = 1", *[""] * 5, "c = 2"]


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PYTHON.keys() - {*SERVED}))
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    v = enforcer.Vocabulary.from_tokenizer(TINY)
    ids = v.encode(section(call("get_weather", 0, '{"city": "Rome"}')), markers=True)
    (tmp_path / "request.json").write_text(json.dumps({"tools": TOOLS}))
    (tmp_path / "reply.json").write_text(json.dumps({"choices": [{"token_ids": ids}]}))
    says(page, tmp_path, {})


def _command_lines() -> Iterator[Any]:
    for command in commands(every()):
        if command.words[:1] == ("enforcer",):
            yield pytest.param(list(command.words[1:]), id=str(command))


@pytest.mark.parametrize("words", list(_command_lines()))
def test_commands_of_the_pages_are_taken(
    words: list[str], calls_of: Callable[..., list[Any]]
) -> None:
    modules = (cli.check, cli.doctor, cli.explain, cli.verify)
    taken = [calls_of(module, "run", lambda _: 0) for module in modules]
    assert cli.main(words) == 0
    assert any(taken)
