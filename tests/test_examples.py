"""The scripts in `examples` run, and say what their readers expect."""

import re
import sys
from pathlib import Path

import pytest

from tests import processes

FOLDER = Path(__file__).resolve().parents[1] / "examples"
_CALL = r"(functions.get_weather:\d get_weather \{.*\}\n)+"
SAYS = {
    "own_loop": r"(content '.*'\n)*call '.*:0'\n(arguments .*\n)+call_end .*\n"
    r"get_weather \s*\{[^{}]*\}\n",
    "own_drafts": r'get_weather \{"city": ?"Paris"\}\n\d+ tokens in \d+ passes\n',
    "typed_tools": r"((Paris|Rome): sunny for [123] days\n|a table for \d+, (inside|outside)\n){4}",
    "with_transformers": r'get_weather \{"city": ?"Paris"\}\n',
    # Run in `vllm/test_snippets.py`; random weights may call more than once.
    "openai_client": r"(get_weather city='(Paris|Rome)'\n)+",
    "completions": _CALL,
    "vllm_offline": rf"(.*\n)*?{_CALL}",  # behind vLLM's log
}
WITH_VLLM = {"openai_client", "completions", "vllm_offline"}


def test_none_is_left_out() -> None:
    assert {file.stem for file in FOLDER.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SAYS.keys() - WITH_VLLM))
def test_it_runs(name: str) -> None:
    done = processes.run(*[sys.executable, str(FOLDER / f"{name}.py")])
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(SAYS[name], done.stdout), done.stdout
