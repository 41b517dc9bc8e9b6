"""Each fenced block of README, docs and CONTRIBUTING is held by a test, or listed with a reason.

Owns: which test holds which block, the programs that a shell's lines may begin with, and what is
checked of those lines here. Must not know: what the examples show.

A new block fails until a row of `HELD` has it, or each of its commands begins with a program of
`PROGRAMS`. A row of a shell's block has it whole: what its commands begin with does not matter
then. A row that holds nothing fails, and so does a program that nothing begins with.
"""

import argparse
import importlib
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

import enforcer
from enforcer.vllm.config import settings
from tests import processes, shown
from tests.snippets import (
    PROMPT,
    ROOT,
    TOOLS,
    Block,
    Command,
    blocks,
    commands,
    every,
    fenced,
    unwrapped,
)
from tests.support.cases import load, parametrized
from tests.vocabularies import small, write

ALL = every()
_SHELL = ("sh", "console")

# Page, language and a word of the block (none: all blocks of that page and language): the test.
_CASES = load("cases/blocks.toml")
HELD, NOT_HELD = _CASES["held"], _CASES["not_held"]
PROGRAMS: dict[str, str] = _CASES["programs"]
# Page, a word of the block, and why no test holds it.

# What a command may begin with: the test that holds such commands, in whichever block.


def _program(command: Command) -> str:
    return command.words[0] if command.words else ""


def _rows(block: Block) -> list[Any]:
    held = [
        row
        for row in HELD
        if fnmatch(block.page, row[0]) and row[1] in ("*", block.language) and row[2] in block.text
    ]
    return held + [row for row in NOT_HELD if row[0] == block.page and row[1] in block.text]


def _is_held(block: Block) -> bool:
    """Tell whether a row has a block, or each of its commands begins with a program."""
    if _rows(block):
        return True
    if block.language != "sh":
        return False
    return all(_program(command) in PROGRAMS for command in commands([block]))


@pytest.mark.parametrize("block", ALL, ids=str)
def test_every_block_is_held(block: Block) -> None:
    assert _is_held(block), f"{block}: no test holds this block; see {Path(__file__).name}"


@parametrized("cases/blocks.toml", "new")
def test_a_new_block_is_noticed(text: str, is_held: bool) -> None:
    (block,) = fenced(text, ROOT / "docs" / "new.md")
    assert _is_held(block) is is_held


def test_every_row_holds_a_block_and_names_a_test() -> None:
    used = {id(row) for block in ALL for row in _rows(block)}
    assert not [row for row in (*HELD, *NOT_HELD) if id(row) not in used]
    assert all(reason for _, _, reason in NOT_HELD)
    for named in (*(row[3] for row in HELD), *PROGRAMS.values()):
        file, _, test = named.rpartition("::")
        source = (ROOT / (file or "tests/test_blocks.py")).read_text()
        assert re.search(rf"^def {test}", source, re.MULTILINE), named


@pytest.mark.parametrize(
    "block", [each for each in ALL if each.language in ("json", "yaml", "toml")], ids=str
)
def test_data_can_be_read(block: Block) -> None:
    read: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads}
    read["yaml"] = lambda text: list(yaml.safe_load_all(text))
    assert read[block.language](block.text)


COMMANDS = list(commands(block for block in ALL if not _rows(block)))


def _of(*names: str) -> list[Command]:
    """Give the commands that one of these tests holds."""
    return [each for each in COMMANDS if PROGRAMS.get(_program(each)) in names]


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) > 60
    assert {_program(command) for command in COMMANDS} == set(PROGRAMS)


def _taken(module: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a module of ours read its command line, and go no further."""
    path = ROOT.joinpath(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__main__.py"
    name = module if file.stem == path.stem else f"{module}.__main__"
    assert "parse_args" in file.read_text(), f"{module} reads no options"

    class Taken(Exception):  # noqa: N818 - is no error
        pass

    read = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, *given: Any) -> None:
        read(self, *given)
        raise Taken

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    monkeypatch.setattr("sys.argv", [module, *arguments])
    with pytest.raises(Taken):
        importlib.import_module(name).main()


@pytest.mark.slow
@pytest.mark.parametrize("command", _of("test_modules_take_their_options"), ids=str)
def test_modules_take_their_options(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    option, module, *arguments = command.words[1:]
    assert option == "-m"
    if module == "venv":
        assert len(arguments) == 1
    elif module.startswith("vllm."):
        pytest.skip("tests/vllm/test_commands.py")
    elif module == "pytest":
        files = [each for each in arguments if not each.startswith("-")]
        assert files
        assert all((ROOT / each).is_file() for each in files)
    else:
        _taken(module, arguments, monkeypatch)


@pytest.mark.slow
def test_an_option_that_a_module_does_not_have_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        _taken("bench.soak", ["--minuets", "20"], monkeypatch)


@pytest.mark.parametrize(
    "command",
    _of("test_variables_are_settings") + [each for each in COMMANDS if each.given],
    ids=str,
)
def test_variables_are_settings(command: Command) -> None:
    given = command.given or dict(word.split("=", 1) for word in command.words[1:])
    assert given
    ours = {name: value for name, value in given.items() if name.startswith(settings.PREFIX)}
    chosen = settings.read(ours)
    assert len(chosen.changed) == len(ours)
    if "ENFORCER_DOCUMENTS" in given:
        assert all(place.rpartition("=")[2].startswith("/") for place in chosen.documents)


_ROUTES = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", "/metrics")


@pytest.mark.parametrize("command", _of("test_commands_name_what_is_there"), ids=str)
def test_commands_name_what_is_there(command: Command) -> None:
    program, *words = command.words
    text = " ".join(words)
    if program == "make":
        assert words[0] in re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert all("=" in word for word in words[1:])
    elif program == "curl":
        (route,) = re.findall(r"\b[\w.-]+:\d+(/[\w/.-]+)", text)
        assert route.rstrip("/") in (*_ROUTES, "/health", "/v1/models")
    else:
        assert program == "cd"
        assert (ROOT / words[0]).is_dir()


def test_what_others_publish_is_installed_as_the_module_says() -> None:
    (found,) = _of("test_what_others_publish_is_installed_as_the_module_says")
    assert f"`{found.line}`" in (ROOT / "bench/matrix/proxy.py").read_text()


# A log of a server whose engine ends, as vLLM writes it; what we say is as on the page on logs.
_PREFIX = "(APIServer pid=7) WARNING 11-24 06:50:09 [metrics.py:74] "
# What cannot be asked here, and the file that has a text of the kind.
_ASKED = (
    (r"kubectl logs [^|]*", "server.log"),
    (r"docker compose [^|]* logs [^|]*", "server.log"),
    (r"kubectl describe pod [^|]*", "pod.txt"),
    (r"curl -s \S+/metrics ", "metrics.txt"),
)
# A word of a line, what it finds of these texts, and what it leaves out.


def _run(typed: str, folder: Path) -> str:
    """Give what a line prints: it says nothing else, and no part of it fails."""
    done = processes.run("bash", "-c", f"set -o pipefail; {typed}", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "line", sorted({each.line for each in _of("test_filters_find_something")}), ids=str
)
def test_filters_find_something(line: str, tmp_path: Path) -> None:
    said = unwrapped(*blocks(ROOT / "docs/vllm/metrics.md", "text"))
    (refused,) = (each for each in said.splitlines() if "enforcer: refused" in each)
    again = refused.replace("order-4711", "order-4712")
    log = "".join(f"{_PREFIX}{each}\n" for each in (*said.splitlines(), again))
    (tmp_path / "server.log").write_text(log + _CASES["ended"])
    (tmp_path / "pod.txt").write_text(_CASES["pod"])
    (tmp_path / "metrics.txt").write_text(shown.text())
    (row,) = (row for row in _CASES["filters"] if row["word"] in line)
    typed = line
    for asked, file in _ASKED:
        typed = re.sub(rf"^{asked}\|", f"cat {file} |", typed)
    assert not re.search(r"\b(curl|docker|kubectl)\b", typed)
    printed = _run(typed, tmp_path)
    assert not [word for word in row["found"] if word not in printed]
    assert not [word for word in row["left_out"] if word in printed]


_REPLY = {
    "model": "kimi",
    "prompt_token_ids": [1, 2],
    "choices": [{"token_ids": [3], "message": {"content": "Hi."}}],
}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_a_reply_becomes_the_question_for_its_scores(tmp_path: Path) -> None:
    (found,) = _of("test_a_reply_becomes_the_question_for_its_scores")
    (tmp_path / "reply.json").write_text(json.dumps(_REPLY))
    asked = json.loads(_run(re.sub(r"\|\s*curl .*", "", found.line), tmp_path))
    assert asked["prompt"] == [1, 2, 3]
    assert asked["max_tokens"] == 1


def test_litellm_is_configured_as_it_was_tested(tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    from bench.demo.servers import MODEL_NAME
    from bench.matrix import proxy

    proxy.proxy(Path("litellm"), "http://vllm:8000", tmp_path, proxy.PROVIDERS[0])
    (tested,) = json.loads((tmp_path / "proxy.yaml").read_text())["model_list"]
    (page,) = blocks(ROOT / "docs/clients/litellm.md", "yaml")
    text = json.dumps(tested).replace(MODEL_NAME, "kimi")
    assert yaml.safe_load(page)["model_list"] == [json.loads(text)]


def test_what_was_added_is_there() -> None:
    """Examples of what has been added stand in the code as they stand in CONTRIBUTING."""
    added = [e for e in ALL if e.page == "CONTRIBUTING.md" and e.language not in _SHELL]
    assert len(added) == 3
    texts = [
        (ROOT / file).read_text()
        for file in ("enforcer/regex/formats.py", "tests/regex/test_formats.py")
    ] + [(ROOT / "docs/schema-support.md").read_text()]
    for block, text in zip(added, texts, strict=True):
        for line in block.text.splitlines():
            assert line.strip() in ("", "...") or line in text, line


def test_the_turn_of_the_page_is_one() -> None:
    """With a name, an index and arguments in their places, it is a call."""
    (turn,) = blocks(ROOT / "docs/concepts.md", "text")
    turn = turn.replace("[<think> … </think>]", "<think>…</think>").replace("  …\n", "")
    turn = turn.replace("NAME:IDX", "get_weather:0").replace("{…}", '{"city": "Paris"}')
    turn = re.sub(r"\s*\n\s*", "", turn.replace("text <", "Text.<"))
    assert "…" not in turn.replace("<think>…", "")
    vocabulary = small()
    matcher = enforcer.Enforcer(vocabulary).matcher(TOOLS, prompt_ids=write(vocabulary, PROMPT))
    ids = write(vocabulary, turn)
    assert matcher.validate(ids) == len(ids)
    (call,) = enforcer.Enforcer(vocabulary).parse(ids).calls
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris"})
