"""The `extra_body` of a client, and what of a request carries a spec."""

import json
from typing import Any

import pytest

from enforcer.client.body import Route, extra_body
from enforcer.errors import ConfigurationError, InvalidTools
from enforcer.request import carrier, spec_text
from enforcer.request.carrier import KEY
from enforcer.request.tools import ToolChoice
from enforcer.schema import OnUnsupported
from tests.spec_cases import TOOL
from tests.support.cases import each_case

HISTORY = [
    {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "get"}}]},
    {"role": "tool", "tool_call_id": "x", "content": "done"},
]


def body(*args: Any, **kwargs: Any) -> str:
    """Give the spec that `extra_body` writes for the plugin."""
    return str(extra_body(*args, **kwargs)["structured_outputs"]["structural_tag"])


def test_what_is_written_is_read_back() -> None:
    spec = spec_text.read(
        carrier.from_structural_tag(body([TOOL], parallel_tool_calls=False, messages=HISTORY))
    )
    assert spec.first_index == 1
    assert spec.toolset.allowed == ("get",)
    assert spec.toolset.choice is ToolChoice.AUTO
    assert not spec.toolset.parallel
    assert json.loads(spec.toolset.tools["get"].schema) == TOOL["function"]["parameters"]
    assert spec.response_format is None


def test_descriptions_do_not_travel() -> None:
    assert "Gets." not in body([TOOL])


def test_the_embedded_format_is_read_by_xgrammar_but_never_compiled() -> None:
    xgrammar = pytest.importorskip("xgrammar")
    tag = body([TOOL])
    xgrammar.Grammar.from_structural_tag(tag)  # all that vLLM's API server does with it
    tokens = [bytes([byte]) for byte in range(256)]
    info = xgrammar.TokenizerInfo(tokens, vocab_size=163840)
    with pytest.raises(RuntimeError, match="Token id"):
        xgrammar.GrammarCompiler(info).compile_structural_tag(tag)


def test_the_other_route() -> None:
    sent = extra_body([TOOL], "required", via=Route.LOGITS_PROCESSOR)
    assert set(sent) == {"vllm_xargs"}
    text = sent["vllm_xargs"][KEY]
    assert isinstance(text, str)  # vLLM takes nothing nested there
    assert spec_text.read(text).toolset.choice is ToolChoice.REQUIRED


@pytest.mark.parametrize("tools", [None, []])
def test_without_tools_nothing_may_be_called(tools: list[Any] | None) -> None:
    assert (
        spec_text.read(carrier.from_structural_tag(body(tools))).toolset.choice is ToolChoice.NONE
    )


@pytest.mark.parametrize("each", OnUnsupported)
def test_what_to_do_with_a_schema_travels_as_itself_or_as_its_word(each: OnUnsupported) -> None:
    said = extra_body([TOOL], on_unsupported=each)
    assert said == extra_body([TOOL], on_unsupported=each.value)
    tag = carrier.from_structural_tag(said["structured_outputs"]["structural_tag"])
    assert spec_text.read(tag).on_unsupported is each


@each_case
def test_bad_options_are_refused(args: tuple[Any, ...], kwargs: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        extra_body(*args, **kwargs)
    assert caught.value.path == path


@each_case
def test_a_word_in_the_extra_arguments_is_no_spec(extra: Any, found: Any) -> None:
    assert carrier.from_extra(extra) == found


@each_case
def test_a_tag_of_another_kind_carries_no_spec(tag: bytes | str | None, found: str | None) -> None:
    assert carrier.from_structural_tag(tag) == found
    assert carrier.from_structural_tag(None) is carrier.from_structural_tag(b"") is None


def test_a_tag_whose_spec_is_no_text_is_no_spec_that_can_be_read() -> None:
    with pytest.raises(InvalidTools):
        spec_text.read(carrier.from_structural_tag(f'{{"{KEY}": {{"tools": []}}}}'))


def test_a_body_that_may_carry_a_spec_is_told_from_others_without_being_read() -> None:
    assert carrier.may_be_in(json.dumps(extra_body([TOOL])).encode())
    assert carrier.may_be_in(json.dumps(extra_body([TOOL], via="logits_processor")).encode())
    assert carrier.may_be_in('{"prompt":"Hi"}'.encode("utf-16-le"))  # who knows
    assert carrier.may_be_in('{"prompt":"Hi"}'.encode("utf-32-be"))
    assert not carrier.may_be_in(b'{"prompt":"Hi","max_tokens":4}')


def test_a_route_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"`via` is .*proxy.*Route\.PLUGIN"):
        extra_body([TOOL], via="proxy")
