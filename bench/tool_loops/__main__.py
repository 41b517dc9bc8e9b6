"""`python -m bench.tool_loops [openai-agents] [langchain] [pydantic-ai]`: real loops of libraries.

Starts vLLM's CPU build with the plugin and the demo's model, and lets each library go through whole
tool loops with it, whole and streamed: it asks, the model calls, a function runs, its result goes
back, the model answers. Prints each loop, and exits with 1 if a request was not answered, a call
was undeclared or invalid, a function did not run with exactly its arguments, or its result did not
go back. The libraries are installed into `.clients`, an environment of its own, from the package
registry, as anyone would; in the versions that it has then.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench.agents.relay import relaying
from bench.demo.servers import ENFORCED, Server
from bench.tool_loops import judged
from bench.tool_loops.programs import WAYS

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "bench" / "models" / "tiny-kimi"
ENVIRONMENT = ROOT / ".clients"
_PYTHON = ENVIRONMENT / "bin" / "python"
_SECONDS = 300


def main() -> int:
    """Install, serve, go through the loops, print; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.tool_loops", description=__doc__)
    parser.add_argument("libraries", nargs="*", help=f"of {', '.join(WAYS)}; default: all")
    parser.add_argument("--upgrade", action="store_true", help="get their newest versions first")
    parser.add_argument("--log", type=Path, help="where the server's log goes")
    arguments = parser.parse_args()
    names = arguments.libraries or list(WAYS)
    if not WAYS.keys() >= set(names):
        parser.error(f"libraries are {', '.join(WAYS)}")
    install(upgrade=arguments.upgrade)
    print(", ".join(versions()), flush=True)
    environment = {"ENFORCER_FINISH_WITHIN_BUDGET": "on"}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, environment):
        log = arguments.log or Path(folder) / "server.log"
        with Server(TINY, ENFORCED, log) as server:
            server.wait_until_ready()
            well = [_looped(name, way, server.url) for name in names for way in WAYS[name]]
            server.check_alive()
    print(f"{sum(well)} of {len(well)} ways without a finding")
    return 0 if all(well) else 1


def install(*, upgrade: bool = False) -> None:
    """Make the environment, if it is not there or newer versions are wanted."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    quiet = ("-m", "pip", "install", "-qq", "--disable-pip-version-check")
    if not _PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    more = ("--upgrade", "--upgrade-strategy", "eager") if upgrade else ()
    subprocess.run([str(_PYTHON), *quiet, *more, *groups["clients"]], check=True)


def versions() -> list[str]:
    """Name the libraries as they are installed."""
    listed = subprocess.run(
        [str(_PYTHON), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    )
    shown = ("openai-agents", "langchain", "langchain-openai", "langgraph", "pydantic-ai-slim")
    found = {each["name"]: each["version"] for each in json.loads(listed.stdout)}
    return [f"{name} {found[name]}" for name in (*shown, "openai") if name in found]


def _looped(library: str, way: str, url: str) -> bool:
    """Let a library go through its loops one way, and print them; whether nothing was wrong."""
    program = ("-m", "bench.tool_loops.programs", library, way)
    with relaying(url) as (relay, seen):
        done = subprocess.run(
            [str(_PYTHON), *program, f"{relay}/v1"],
            # Nothing of this process's environment: no keys, no other server.
            env={"PATH": os.environ["PATH"], "HOME": str(ENVIRONMENT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    print(f"\n{library}: {way}", flush=True)
    if done.returncode:
        print(f"  ended with {done.returncode}: {done.stderr.strip()[-600:]}")
        return False
    told: dict[str, Any] = json.loads(done.stdout)
    wrong = list(judged.findings(seen, told, streamed=way.endswith("streamed")))
    _show(told, len(seen), wrong)
    return not wrong


def _show(told: dict[str, Any], requests: int, wrong: Sequence[str]) -> None:
    print(f"  {requests} requests, {told['pieces']} pieces")
    for run in told["ran"]:
        print(f"  {run['name']} {json.dumps(run['arguments'])}: {run['result']}")
    for text in told["said"]:
        print(f"  said {text!r}")
    for each in wrong:
        print(f"  WRONG: {each}")


if __name__ == "__main__":
    sys.exit(main())
