"""`docs/vllm/request.md` is the way that a request takes: its files, its functions, their order."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bench.intake.processes import Spent

ROOT = Path(__file__).resolve().parents[2]
VLLM = ROOT / "enforcer" / "vllm"
PAGE = (ROOT / "docs" / "vllm" / "request.md").read_text()
ROOMS = ("intake", "engine", "replies")
(PICTURE,) = re.findall(r"^```mermaid$(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"([a-z_]+/[a-z_0-9]+\.py): ([\w.]+)")
_PART = re.compile(r'subgraph \w+ \["(.*?)"\](.*?)^    end$', re.DOTALL | re.MULTILINE)
# The parts of the picture, by the process that they are in.
PARTS = {title: _STEP.findall(text) for title, text in _PART.findall(PICTURE)}
STEPS = [step for steps in PARTS.values() for step in steps]


@cache
def _defined(file: str) -> set[str]:
    """Return the functions and classes of a module, methods behind their class's name."""
    found = set()
    for node in ast.parse((VLLM / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            within = node.body if isinstance(node, ast.ClassDef) else ()
            found |= {
                f"{node.name}.{each.name}"
                for each in within
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def test_the_picture_has_three_parts() -> None:
    assert [*PARTS] == ["API server: the request", "Engine core", "API server: the reply"]


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_each_step_is_a_function_of_the_code(file: str, name: str) -> None:
    assert name in _defined(file)


@pytest.mark.parametrize("room", ROOMS)
def test_every_module_of_the_rooms_is_named(room: str) -> None:
    modules = {f"{room}/{file.name}" for file in (VLLM / room).glob("[!_]*.py")}
    assert modules == set(re.findall(rf"\b{room}/\w+\.py\b", PAGE))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Spent:
    """Record the functions that a streamed request with tools passes."""
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    from bench.demo.servers import ENFORCED
    from bench.intake.bodies import Load
    from bench.intake.processes import Pair
    from tests.vllm_servers import TINY

    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    with Pair(ENFORCED, TINY, tmp_path_factory.mktemp("way") / "log.txt", trace=True) as pair:
        pair.wait_until_ready()
        return pair.send(Load((tool,), seen=True, stream=True).body())


def _position(step: tuple[str, str], passed: tuple[str, ...]) -> int:
    """Return where a step stands among the functions that were entered."""
    file, name = step
    # A class is entered by its members.
    wanted = re.compile(rf"enforcer/vllm/{re.escape(file)}:{re.escape(name)}(\..*)?")
    return next((at for at, each in enumerate(passed) if wanted.fullmatch(each)), -1)


@pytest.mark.slow
def test_a_request_takes_the_steps_in_their_order(recorded: Spent) -> None:
    server = [*PARTS["API server: the request"], *PARTS["API server: the reply"]]
    for steps, passed in (
        (server, recorded.front_steps),
        (PARTS["Engine core"], recorded.engine_steps),
    ):
        places = [_position(step, passed) for step in steps]
        assert -1 not in places, [step for step, at in zip(steps, places, strict=True) if at < 0]
        assert places == sorted(places), [steps, places]


@pytest.mark.slow
def test_no_module_of_the_rooms_is_passed_beside_the_picture(recorded: Spent) -> None:
    passed = {each.partition(":")[0] for each in (*recorded.front_steps, *recorded.engine_steps)}
    rooms = {file for file in passed if file.split("/")[2] in ROOMS}
    assert rooms <= {f"enforcer/vllm/{file}" for file, _ in STEPS}
