"""Templates that are right, and each of the ways in which they are known to be wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from enforcer.tools.doctor import CheckStatus, template
from enforcer.turn import dialects
from tests import kimi_k3_tokenizer
from tests.support.cases import parametrized

K2 = dialects.load("kimi_k2")


class Template:
    """A template in Python; each argument is a way to be wrong."""

    def __init__(
        self,
        header: str = "<|im_assistant|>assistant<|im_middle|>",
        text: Callable[..., Any] = str,
        call_id: Callable[..., Any] = str,
    ) -> None:
        self.header, self.text, self.call_id = header, text, call_id

    def __call__(
        self, messages: list[dict[str, Any]], *, tools: list[dict[str, Any]] | None, generate: bool
    ) -> str:
        out = f"<|im_system|>tool_declare<|im_middle|>{tools}<|im_end|>" if tools else ""
        for message in messages:
            out += f"<|im_{message['role']}|>{message['role']}<|im_middle|>"
            out += self.text(message["content"])
            for call in message.get("tool_calls", ()):
                out += f"<|tool_call_begin|>{self.call_id(call['id'])}"
                out += f"<|tool_call_argument_begin|>{json.dumps(call['function']['arguments'])}"
            out += "<|im_end|>"
        return out + (self.header if generate else "")


def statuses(render: Any) -> list[CheckStatus]:
    return [check.status for check in template.checks(render, K2)]


OK, BAD = CheckStatus.OK, CheckStatus.BAD


@pytest.mark.parametrize("thought", ["", "<think>", "<think></think>", "<think>\n\n</think>\n"])
def test_right_templates(thought: str) -> None:
    header = f"<|im_assistant|>assistant<|im_middle|>{thought}"
    assert statuses(Template(header)) == [OK, OK, OK]
    assert statuses(Template(f"  {header}")) == [OK, OK, OK]


@pytest.mark.parametrize(
    "header", ["", "<|im_user|>user<|im_middle|>", "<|im_assistant|>assistant<|im_middle|>Well,"]
)
def test_a_prompt_that_does_not_open_the_turn(header: str) -> None:
    [check, *_] = template.checks(Template(header), K2)
    assert check.status is BAD
    assert "add_generation_prompt" in check.mend


def parts(content: str) -> str:
    return str([{"type": "text", "text": content}])


@pytest.mark.parametrize(
    "text",
    [
        parts,
        lambda content: content or parts(content),
        lambda content: content or "None",
        lambda _: "",
        lambda content: content * 2,
    ],
)
def test_strings_that_are_not_rendered_as_they_are(text: Callable[..., Any]) -> None:
    assert statuses(Template(text=text))[:2] == [OK, BAD]


@pytest.mark.parametrize("call_id", [lambda _: "call_1", lambda i: i.removeprefix("functions.")])
def test_call_ids_that_are_not_rendered_as_they_are(call_id: Callable[..., Any]) -> None:
    assert statuses(Template(call_id=call_id)) == [OK, OK, BAD]


def test_a_template_that_drops_results() -> None:
    class Dropping(Template):
        def __call__(
            self,
            messages: list[dict[str, Any]],
            *,
            tools: list[dict[str, Any]] | None,
            generate: bool,
        ) -> str:
            kept = [message for message in messages if message["role"] != "tool"]
            return super().__call__(kept, tools=tools, generate=generate)

    assert statuses(Dropping()) == [OK, OK, BAD]


def test_a_template_that_fails() -> None:
    def failing(*_: object, **__: object) -> None:
        raise ValueError("no such role")

    checks = list(template.checks(failing, K2))
    assert [check.status for check in checks] == [BAD] * 3
    assert "no such role" in checks[0].found


def test_a_tokenizer_that_renders_without_a_template_is_left_alone() -> None:
    [check] = template.checks_of(object(), None, K2)
    assert check.status is OK


def test_code_of_a_tokenizers_class_stands_for_a_template() -> None:
    class Rendering:
        def __init__(self, render: Template) -> None:
            self.render = render

        def get_chat_template(self) -> None:
            raise ValueError("no template")

        def apply_chat_template(
            self,
            messages: list[dict[str, Any]],
            *,
            tools: list[dict[str, Any]] | None,
            add_generation_prompt: bool,
            tokenize: bool,
        ) -> str:
            assert not tokenize
            return self.render(messages, tools=tools, generate=add_generation_prompt)

    right = template.checks_of(Rendering(Template()), None, K2)
    assert [check.status for check in right] == [OK, OK, OK]
    wrong = template.checks_of(Rendering(Template(header="")), None, K2)
    assert [check.status for check in wrong] == [BAD, OK, OK]


def k3(
    messages: list[dict[str, Any]], *, tools: list[dict[str, Any]] | None, generate: bool
) -> str:
    return "".join(kimi_k3_tokenizer.rendered(messages, tools, add_generation_prompt=generate))


def test_kimi_k3s_own_encoder_is_right() -> None:
    found = list(template.checks(k3, dialects.load("kimi_k3")))
    assert [check.status for check in found] == [OK, OK, OK], found


@parametrized("tools/doctor/cases/template.toml", "headers")
def test_the_headers_of_other_formats(dialect: str, tail: str) -> None:
    def render(*_: object, generate: bool, **__: object) -> str:
        return "A prompt." + (tail if generate else "")

    [right, *_] = template.checks(render, dialects.load(dialect))
    assert right.status is OK, right
    [wrong, *_] = template.checks(render, K2)
    assert wrong.status is BAD


def test_a_format_whose_prompts_end_in_what_opens_the_turn_needs_no_header() -> None:
    [right, *_] = template.checks(lambda *_, **__: "[INST]Hi[/INST]", dialects.load("mistral"))
    assert right.status is OK
