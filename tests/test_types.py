"""What a type checker says of a request's fields: what clients write fits, nonsense does not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[1]

# Lines that end with `# no` are wrong, and no others.
SNIPPET = """
from typing import Any
import numpy as np
from openai import OpenAI
from openai.types.chat import (
    ChatCompletionMessageParam, ChatCompletionToolChoiceOptionParam, ChatCompletionToolParam,
)
from pydantic import BaseModel
import enforcer
from enforcer.types import Messages, ToolChoice, Tools

class Model(BaseModel):
    city: str

def function(city: str) -> str:
    return city

def good(
    e: enforcer.Enforcer,
    client: OpenAI,
    messages: list[ChatCompletionMessageParam],
    tools: list[ChatCompletionToolParam],
    choice: ChatCompletionToolChoiceOptionParam,
    body: dict[str, Any],
    plain: list[dict[str, Any]],
    call: enforcer.Call,
) -> None:
    e.matcher(tools, choice, True, messages)
    enforcer.extra_body(tools, choice, messages=messages, response_format={"type": "json_object"})
    e.matcher(plain, "required", messages=plain, prompt_ids=[1])
    e.matcher(body["tools"], body["tool_choice"], body["parallel_tool_calls"], body["messages"])
    e.matcher([{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}])
    e.matcher([function, Model, enforcer.tool(function)], messages=[{"role": "user"}])
    e.matcher(None, {"type": "function", "function": {"name": "a"}}).is_finished
    declared = [enforcer.tool(function), enforcer.tool(Model)]
    client.chat.completions.create(
        model="m", messages=messages, tools=declared, extra_body=enforcer.extra_body(declared)
    )
    city: str = call.parse(Model).city
    function(**call.parse(function))
    row: np.typing.NDArray[np.float32] = enforcer.mask_logits(np.zeros(9, np.float32), [511])
    version: str = enforcer.__version__
    fields: tuple[Tools, ToolChoice, Messages] = (declared, choice, messages)

def bad(e: enforcer.Enforcer, call: enforcer.Call) -> None:
    e.matcher(42)  # no
    e.matcher("tools")  # no
    e.matcher([42])  # no
    e.matcher([], tool_choice=["x"])  # no
    e.matcher([], messages="hi")  # no
    e.matcher([], messages=["hi"])  # no
    e.matcher([], parallel_tool_calls="no")  # no
    e.matcher([], response_format="json")  # no
    enforcer.extra_body(42)  # no
    enforcer.tool(42)  # no
    enforcer.mask_logits([1.0], [1])  # no
    call.parse(Model).town  # no
    enforcer.version  # no
"""


@pytest.mark.slow
def test_what_a_type_checker_says(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    checked = processes.run(sys.executable, "-m", "mypy", "--strict", str(file), cwd=ROOT)
    found = {int(line) for line in re.findall(r"snippet\.py:(\d+): error", checked.stdout)}
    lines = enumerate(SNIPPET.splitlines(), 1)
    assert found == {at for at, line in lines if line.endswith("# no")}, checked.stdout
