"""What pages quote of messages, logs and the matrix is in the form that the code gives it."""

import ast
import json
import logging
import re
import time
from typing import Any

import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

from bench.matrix import modes
from bench.matrix.routes import Route
from enforcer.errors import InvalidVocabulary, Problem, RequestError, SchemaError
from enforcer.vllm.config import settings
from enforcer.vllm.intake import checks, rejections, requests, startup
from enforcer.vllm.observe import metric_defs, metrics
from tests.snippets import MESSAGES, ROOT, blocks, unwrapped


def test_a_refusal_is_told_as_the_page_says() -> None:
    (shown,) = blocks(ROOT / "docs/vllm.md", "text")
    form = re.escape(unwrapped(shown).strip()).replace("…", ".+")
    when = {"type": "string", "pattern": r"(a)\1"}
    parameters = {"type": "object", "properties": {"when": when}}
    tools = [{"type": "function", "function": {"name": "plan", "parameters": parameters}}]
    body: dict[str, Any] = {"model": "kimi", "messages": MESSAGES, "tools": tools}
    request = ChatCompletionRequest(**body)
    with pytest.raises(RequestError) as caught:
        checks.run(checks.schemas(requests.write_spec(request).spec()))
    assert re.fullmatch(form, str(rejections.rejection(caught.value)))


LINES = unwrapped(blocks(ROOT / "docs/vllm/metrics.md", "text")[0]).splitlines()
_FIELD = re.compile(r' (\w+)=("(?:[^"\\]|\\.)*")')
# The strings of the plugin's code, among them the words with which lines begin.
WRITTEN = {
    node.value
    for file in (ROOT / "enforcer/vllm").rglob("*.py")
    for node in ast.walk(ast.parse(file.read_text()))
    if isinstance(node, ast.Constant)
}


@pytest.mark.parametrize("line", LINES[1:], ids=lambda line: line[10:40])
def test_lines_of_the_log_are_as_the_code_writes_them(line: str, caplog: Any) -> None:
    """Each is written again, of the values that it shows, by the function for its kind."""
    what = re.sub(_FIELD, "", line).removeprefix("enforcer: ")
    given = {name: json.loads(value) for name, value in _FIELD.findall(line)}
    told = {name: given[name] for name in ("request", "tool") if name in given}

    caplog.set_level(logging.INFO, metrics.logger.name)
    if what == "refused":
        kind = next(each for each in _kinds(SchemaError) if each.__name__ == given["error"])
        error = kind((Problem(path=given["path"], keyword=given["keyword"], reason="…"),))
        metrics.refused(error, **told)
    elif what == "turn failed":
        more = {name: given[name] for name in given if name not in ("reason", "request")}
        failure = metric_defs.Failure(given["reason"])
        metrics.log_failed(failure, request=given["request"], **more)
    elif what == "slow masks":
        took = round(float(given["took"].split()[0]) * 1e6)
        masks = metrics.SlowMasks()
        masks._next += 10  # the first line is to count all of them
        for _ in range(int(given["masks"]) - 1):
            masks.see(took, str, "r")
        masks._next = time.monotonic()
        masks.see(took, lambda: given["tool"], given["request"])
    elif what.startswith("this engine enforces nothing: "):
        metrics.log_nothing(InvalidVocabulary(what.partition(": ")[2]), asked=True)
    elif what == "switched off":
        metrics.switched_off(**told)
    else:
        assert what in WRITTEN
        metrics.log(what, **given)
    assert [r.getMessage() for r in caplog.records if r.name == metrics.logger.name] == [line]


def _kinds(kind: type[Any]) -> list[type[Any]]:
    return [kind, *(below for each in kind.__subclasses__() for below in _kinds(each))]


def test_lines_of_the_log_begin_with_what_the_server_says_at_start() -> None:
    begun, ended = LINES[0].removeprefix("enforcer: ").split("…")
    given = dict(word.split("=") for word in ended.split() if word.count("=") == 1)
    names = {
        f"{settings.PREFIX}{name.upper()}": value
        for name, value in given.items()
        if name not in ("version", "dialect", "engine")
    }
    said = startup.said("kimi_k2_enforced", (given["dialect"],), settings.read(names))
    assert said.startswith(begun.strip())
    assert re.sub(r"version=\S+", f"version={given['version']}", said).endswith(ended.strip())


def test_the_matrix_has_every_mode_and_route() -> None:
    page = (ROOT / "docs/vllm/matrix.md").read_text()
    head, _, *rows = re.findall(r"^\|.*$", page, re.MULTILINE)
    parts = [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]
    assert parts[0] == ["mode", *(route.value for route in Route)]
    assert [row[0] for row in parts[1:]] == [*modes.MODES]
    assert all(cell.startswith(("ok, ", "not in vLLM")) for row in parts[1:] for cell in row[1:])
    sent = sum(cell.startswith("ok, ") for row in parts[1:] for cell in row[1:])
    # Streamed and not, thinking absent, open and closed.
    assert f"\n{sent * 2 * 3} cells (streamed and not, thinking absent, open and closed)" in page
