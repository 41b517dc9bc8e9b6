"""A look at a prompt agrees with the turn that is then started, wherever it can."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import enforcer
from enforcer.engines import machine
from enforcer.errors import IllegalPrefix, InvalidTools
from enforcer.request import spec as specs
from enforcer.request import spec_text, tools
from enforcer.request.options import Options
from enforcer.request.spec import Spec
from enforcer.request.tools import ToolSet
from enforcer.turn import dialects, request_envelope
from enforcer.turn.envelope import Due
from enforcer.turn.request_envelope import look_at_prompt
from tests import vocabularies
from tests.dialect_cases import opening, served
from tests.spec_cases import settled as settle
from tests.support import cases
from tests.support.cases import each_case
from tests.support.tools import tool
from tests.vocabularies import legal

VOCABULARY = vocabularies.small()
ENFORCER = enforcer.Enforcer(VOCABULARY)
OPENING = "<|im_assistant|>assistant<|im_middle|>"
BEGIN = "<|tool_calls_section_begin|><|tool_call_begin|>"
TOOL = tool("get", {"type": "object"})
ARGUMENTS = "<|tool_call_argument_begin|>"
FORMAT = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}


def spec(
    choice: str | None = "auto",
    tools: tuple[dict[str, Any], ...] = (TOOL,),
    response_format: dict[str, Any] | None = None,
) -> Spec:
    return spec_text.read(spec_text.write(list(tools), choice, True, 0, response_format))


@pytest.mark.parametrize(
    ("parallel", "options", "most", "due"),
    [
        (True, Options(max_calls=7), 7, Due.WORD),
        (False, Options(max_calls=7), 1, Due.WORD),
        (True, Options(max_calls=7, allow_empty_turns=True), 7, Due.NOTHING),
    ],
)
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_allowed_calls(parallel: bool, options: Options, most: int, due: Due, choice: str) -> None:
    wanted = spec_text.read(spec_text.write([TOOL], choice, parallel, 4))
    found = request_envelope.envelope(ENFORCER.table, wanted, options, None)
    assert (found.names, found.first, found.most) == (("get",), 4, most)
    assert found.preamble == 32
    assert found.due is (Due.CALL if choice == "required" else due)


@pytest.mark.parametrize("name", dialects.available())
def test_text_before_a_demanded_call_is_the_formats(name: str) -> None:
    table = served(name).table
    wanted = spec_text.read(spec_text.write([TOOL], "required", True, 0))
    for given, most in ((None, 32 if name.startswith("kimi") else 0), (0, 0), (3, 3)):
        options = Options(preamble_ids=given)
        assert request_envelope.envelope(table, wanted, options, None).preamble == most


def is_refused(look: Callable[..., Any], text: str) -> bool:
    try:
        look(vocabularies.write(VOCABULARY, text))
    except IllegalPrefix:
        return True
    return False


@pytest.mark.parametrize("case", cases.read("turn/cases/request_envelope.toml"))
def test_a_begun_turn(case: dict[str, Any]) -> None:
    begun = case["begun"].replace("{B}", BEGIN).replace("{A}", ARGUMENTS)
    wanted = spec(
        case.get("choice", "auto"), response_format=FORMAT if "has_format" in case else None
    )
    if "without_tools" in case:
        wanted = spec(None, ())

    def look(ids: list[int]) -> None:
        look_at_prompt(ENFORCER.table, wanted, Options(), ids)

    def start(ids: list[int]) -> None:
        ENFORCER.start(wanted, ids)

    assert is_refused(look, OPENING + begun) is case["refused"]
    assert is_refused(start, OPENING + begun) is case["refused"]


def test_what_only_an_engine_can_tell_is_left_to_whoever_starts_the_turn() -> None:
    prompt = vocabularies.write(VOCABULARY, OPENING + BEGIN + "functions.get:0" + ARGUMENTS + "[1]")
    look_at_prompt(ENFORCER.table, spec(), Options(), prompt)
    with pytest.raises(IllegalPrefix):
        ENFORCER.start(spec(), prompt)


@pytest.mark.parametrize("pattern", ["yes", "(yes)?"])
def test_whether_a_format_takes_no_text_is_left_to_whoever_starts_the_turn(pattern: str) -> None:
    text = "<|open|>response<|sep|><|close|>response<|sep|><|close|>message<|sep|>"
    table = served("kimi_k3").table
    prompt = [*opening("kimi_k3"), *vocabularies.write(table.vocabulary, text)]
    wanted = spec(response_format={"type": "regex", "regex": pattern})
    assert look_at_prompt(table, wanted, Options(), prompt) == len(table.opened(prompt)[1]) > 0
    if pattern == "yes":
        with pytest.raises(IllegalPrefix):
            served("kimi_k3").start(wanted, prompt)
    else:
        assert legal(served("kimi_k3").start(wanted, prompt)) == table.turn_end_ids


def test_looking_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(machine.MachineEngine, "compile", refuse)
    prompt = vocabularies.write(
        VOCABULARY, OPENING + (BEGIN + "functions.get:0" + ARGUMENTS + '{"a')
    )
    look_at_prompt(ENFORCER.table, spec(), Options(), prompt)


def test_the_settled_options_are_the_ones_that_hold() -> None:
    settled = specs.Settled("kimi_k2", "machine", Options(max_calls=1))
    text = settle(spec_text.write([TOOL], "auto", True, 0), settled)
    call = BEGIN.removeprefix("<|tool_calls_section_begin|>") + "functions.get:{}" + ARGUMENTS
    two = BEGIN + "functions.get:0" + ARGUMENTS + "{}<|tool_call_end|>" + call.format(1)
    prompt = vocabularies.write(VOCABULARY, OPENING + two)
    look_at_prompt(ENFORCER.table, spec(), Options(), prompt)
    with pytest.raises(IllegalPrefix):
        look_at_prompt(ENFORCER.table, spec_text.read(text), Options(), prompt)
    assert json.loads(text)["settled"]["options"]["max_calls"] == 1


@pytest.mark.parametrize("name", ["from", "_hidden", "a.b", "a-b", "a/b", "1st", "None", "ﬁnd"])
def test_names_that_a_format_has_no_call_for_are_refused(name: str) -> None:
    def toolset(*names: str) -> ToolSet:
        return tools.parse([*map(tool, names)], "auto", True)

    pythonic = dialects.load("pythonic")
    with pytest.raises(InvalidTools, match="pythonic") as caught:
        request_envelope.refuse_names(pythonic, toolset("good", name))
    assert caught.value.path == "$.tools[1].function.name"
    request_envelope.refuse_names(pythonic, toolset("good", "größe", "a_1"))
    request_envelope.refuse_names(dialects.load("kimi_k2"), toolset("good", name))


@pytest.mark.parametrize(("begun", "is_begun"), [("", False), ('{"a', True)])
def test_a_text_begun_in_a_prompt_differs_from_a_new_one(begun: str, is_begun: bool) -> None:
    prompt = vocabularies.write(VOCABULARY, OPENING + begun)
    wanted = spec(tools=(), response_format=FORMAT)
    found = look_at_prompt(ENFORCER.table, wanted, Options(), prompt)
    assert found == (len(ENFORCER.table.opened(prompt)[1]) if is_begun else 0)
    assert (found > 0) is is_begun


@each_case
def test_only_an_engine_knows_where_arguments_have_ended(begun: str, refused: bool) -> None:
    table = served("hermes").table
    prompt = [*opening("hermes"), *vocabularies.write(table.vocabulary, begun)]
    try:
        looked = look_at_prompt(table, spec(), Options(), prompt)
    except IllegalPrefix:
        assert refused
    else:
        assert not refused
        assert looked == len(table.opened(prompt)[1])
        served("hermes").start(spec(), prompt)
