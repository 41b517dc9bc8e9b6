"""Claude Code and Codex without a person at hand: one question, in an empty folder.

Owns: their command lines and settings, with which they ask one server, run no tool and send
nothing elsewhere; `docs/clients` has the same lines. Must not know: what answers them. It needs
nothing but Python, and the agents: `npm install --prefix .agents @anthropic-ai/claude-code
@openai/codex`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ASKED = "Which files are in this folder?"
# The form of the last answer, which both agents can be given.
FORM = {
    "type": "object",
    "properties": {
        "files": {"type": "array", "items": {"type": "string"}},
        "empty": {"type": "boolean"},
    },
    "required": ["files", "empty"],
    "additionalProperties": False,
}
_BINARIES = Path(__file__).resolve().parents[2] / ".agents" / "node_modules" / ".bin"
_SECONDS = 600

# The hook is asked before each tool, and 2 says no: the list of tools stays what it is, as it
# would not with tools taken away by name. `ToolSearch` only shows the agent its own tools.
_DENY = "echo 'not in a test' >&2; exit 2"
_CLAUDE_SETTINGS = {
    "hooks": {
        "PreToolUse": [
            {"matcher": "^(?!ToolSearch$).*", "hooks": [{"type": "command", "command": _DENY}]}
        ]
    }
}
_CODEX_SETTINGS = """
model = "{model}"
model_provider = "vllm"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.vllm]
name = "vLLM"
base_url = "{url}/v1"
wire_api = "responses"

[analytics]
enabled = false

[[hooks.PreToolUse]]
matcher = ".*"

[[hooks.PreToolUse.hooks]]
type = "command"
command = "{deny}"
"""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, and one way to ask it.

    Attributes:
        program: what npm installs it as.
        way: what is special about how it is asked; empty for its defaults.
        arguments: for its command line, the question among them.
        environment: beside `PATH` and `HOME`; `{url}` and `{model}` are replaced.
        prepare: writes its settings: home, the server's address, the model's name.

    """

    program: str
    way: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    prepare: Callable[[Path, str, str], None]


@dataclass(frozen=True, slots=True)
class Ended:
    """How an agent ended: its exit status, and what it wrote to both of its streams."""

    status: int
    said: str


class NotInstalledError(Exception):
    """The agent's program is neither in `.agents` nor in `PATH`; the message says how."""


def _prepare_claude(home: Path, _url: str, _model: str) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(_CLAUDE_SETTINGS))


def _prepare_codex(home: Path, url: str, model: str) -> None:
    (home / ".codex").mkdir()
    settings = _CODEX_SETTINGS.format(url=url, model=model, deny=_DENY)
    (home / ".codex" / "config.toml").write_text(settings)
    (home / "form.json").write_text(json.dumps(FORM))


_CLAUDE_ENVIRONMENT = {
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_AUTH_TOKEN": "-",
    "ANTHROPIC_MODEL": "{model}",
    "ANTHROPIC_SMALL_FAST_MODEL": "{model}",
    # No telemetry, no reports, no looking for updates.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
_CLAUDE = ("-p", ASKED, "--output-format", "json")
_ALL_AT_ONCE = {**_CLAUDE_ENVIRONMENT, "ENABLE_TOOL_SEARCH": "false"}
# What stands in its settings is trusted: this module has written it.
_CODEX = ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json", ASKED)

AGENTS: dict[str, tuple[Agent, ...]] = {
    "claude-code": (
        Agent("claude", "", _CLAUDE, _CLAUDE_ENVIRONMENT, _prepare_claude),
        Agent(
            "claude",
            "all tools at once, and a form for the answer",
            (*_CLAUDE, "--json-schema", json.dumps(FORM)),
            _ALL_AT_ONCE,
            _prepare_claude,
        ),
    ),
    "codex": (
        Agent("codex", "", _CODEX, {}, _prepare_codex),
        Agent(
            "codex",
            "a form for the answer",
            (*_CODEX, "--output-schema", "../form.json"),
            {},
            _prepare_codex,
        ),
    ),
}


def version(agent: Agent) -> str:
    """Ask an agent's program for its version.

    Raises:
        NotInstalledError: it is not there.

    """
    command = [_program(agent), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS)
    return next(word for word in said.stdout.split() if word[0].isdigit())


def ask(agent: Agent, url: str, model: str, folder: Path, seconds: float = _SECONDS) -> Ended:
    """Ask an agent one question, and wait for its end.

    Args:
        agent: which, and how.
        url: the server's address, without `/v1`.
        model: the name by which the server knows its model.
        folder: an empty one, which becomes its home; it works in an empty folder therein.
        seconds: after which it is ended.

    Raises:
        NotInstalledError: its program is not there.
        subprocess.TimeoutExpired: it did not end in time.

    """
    program = _program(agent)
    agent.prepare(folder, url, model)
    work = folder / "work"
    work.mkdir()
    own = {name: text.format(url=url, model=model) for name, text in agent.environment.items()}
    ended = subprocess.run(
        [program, *agent.arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **own},
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    return Ended(ended.returncode, f"{ended.stdout}\n{ended.stderr}")


def _program(agent: Agent) -> str:
    found = shutil.which(agent.program, path=f"{_BINARIES}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        raise NotInstalledError(
            f"{agent.program} is not there: `npm install --prefix .agents "
            "@anthropic-ai/claude-code @openai/codex` puts it where it is looked for"
        )
    return found
