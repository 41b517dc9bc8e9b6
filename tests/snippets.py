"""The examples in README and docs, as they are written there.

Owns: finding them, what a line of a shell's consists of, and running the Python of a page as its
reader does. Must not know: what they show.
"""

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import processes
from tests.support.tools import tool

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_EVERY = (*PAGES, ROOT / "CONTRIBUTING.md")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RELEASE = str(_PROJECT["version"]).removesuffix(".dev0")  # the next one, between releases
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# What stands before a comment: quoted or not, and a `#` inside a word is none.
_TYPED = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=\S)#|[^'"\\#])*""", re.DOTALL)
_BETWEEN = frozenset({"|", "||", "&", "&&", ";"})
_CITY = {"city": {"enum": ["Paris", "Rome"]}}
_WEATHER = {"type": "object", "properties": _CITY, "required": ["city"]}
TOOLS = [tool("get_weather", {**_WEATHER, "additionalProperties": False})]
MESSAGES = [{"role": "user", "content": "What is the weather in Paris?"}]
PROMPT = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        page: its path in the repository.
        line: of its fence.
        language: as the fence names it; empty where it names none.
        text: what is in it, without the indentation of the fence.

    """

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """What a shell would run of a block.

    Attributes:
        block: where it stands.
        line: the whole line, with all that is piped, without a comment.
        given: variables that are set for it.
        words: program and arguments; none where a line sets variables alone.

    """

    block: Block
    line: str
    given: dict[str, str]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.block} {' '.join(self.words[:4])}"


def every() -> tuple[Block, ...]:
    """Give all fenced blocks of README, docs and CONTRIBUTING."""
    return tuple(block for page in _EVERY for block in fenced(page.read_text(), page))


def fenced(text: str, page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page's text; a fence that nothing closes is an error."""
    opened: tuple[int, re.Match[str]] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened is None:
            if found := re.match(r"( *)(`{3,}|~{3,})\s*(\S*)", line):
                opened, inside = (number, found), []
        elif line.strip() == opened[1][2]:
            at, fence = opened
            shown = "".join(f"{each.removeprefix(fence[1])}\n" for each in inside)
            yield Block(str(page.relative_to(ROOT)), at, fence[3], shown)
            opened = None
        else:
            inside.append(line)
    assert opened is None, f"{page}: the block of line {opened} does not end"


def commands(found: Iterable[Block]) -> Iterator[Command]:
    """Give the commands of blocks of a shell's; of what a console shows, those that are typed."""
    for block in found:
        if block.language not in ("sh", "console"):
            continue
        joined = block.text.replace("\\\n", "")
        # What is piped goes on in the next line.
        for line in re.sub(r"\|[ \t]*\n", "| ", joined).splitlines():
            if block.language == "console" and not line.startswith("$ "):
                continue
            typed = _TYPED.match(line.removeprefix("$ "))[0].rstrip()
            for part in _parts(typed):
                words = iter(part)
                given = {}
                rest: list[str] = []
                for word in words:
                    if not rest and _ASSIGNMENT.match(word):
                        name, _, value = word.partition("=")
                        given[name] = value
                    else:
                        rest.append(word)
                yield Command(block, typed, given, tuple(rest))


def _parts(line: str) -> Iterator[list[str]]:
    """Split a line where one command ends and another begins; where output goes is left out."""
    read = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    read.whitespace_split = True
    part: list[str] = []
    words = iter(read)
    for word in words:
        if word in _BETWEEN:
            yield part
            part = []
        elif word in (">", ">>", "<"):
            next(words)
        else:
            part.append(word)
    if part:
        yield part


def blocks(page: Path, language: str) -> list[str]:
    """Give a page's examples in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def unwrapped(text: str) -> str:
    """Join lines that a page wraps: the rest of a line is indented."""
    return re.sub(r"\n {4,}", " ", text)


def script(found: Iterable[Block]) -> str:
    """Join the Python blocks of a page, each at the lines that it has there."""
    lines: list[str] = []
    for block in found:
        if block.language == "python":
            lines += [""] * (block.line - len(lines)) + block.text.splitlines()
    return "\n".join(lines)


def scripts() -> dict[str, str]:
    """Give the Python of each page that has some, by the page."""
    joined = {str(page.relative_to(ROOT)): script(fenced(page.read_text(), page)) for page in PAGES}
    return {page: text for page, text in joined.items() if text}


# The page's servers are at `localhost`, at the ports that it names; the tests' are at others.
_RUN = """
import json, runpy, socket, sys
connect, ports = socket.create_connection, json.loads(sys.argv[2])
def redirected(address, *given, **named):
    return connect((address[0], ports.get(str(address[1]), address[1])), *given, **named)
socket.create_connection = redirected
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(text: str, folder: Path, ports: Mapping[str, int]) -> str:
    """Run the Python of a page as one script, and give what it prints.

    Args:
        text: all of it.
        folder: a new one, with files that the page tells its reader to have; it becomes a checkout.
        ports: of servers, by those that the page names.

    """
    (folder / "bench").symlink_to(ROOT / "bench")
    (folder / "page.py").write_text(text)
    done = processes.run(
        sys.executable,
        "-c",
        _RUN,
        "page.py",
        json.dumps(ports),
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
