"""Structural tags that vLLM's own front ends build for Kimi K3 mean what their requests said."""

import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
from vllm.tool_parsers.kimi_k3_tool_parser import KimiK3ToolParser
from vllm.tool_parsers.structural_tag_registry import get_kimi_k3_structural_tag

from enforcer.errors import InvalidTools
from enforcer.request.spec import Spec
from enforcer.turn.parser import Parser
from enforcer.vllm.config import names
from enforcer.vllm.engine.backend import EnforcedGrammar
from enforcer.vllm.native import kimi_k3
from enforcer.vllm.native.misreadings import ReadableMatcher
from enforcer.vllm.native.tags import NativeTurn, UnlikeError
from enforcer.vllm.server import runtime
from enforcer.vocabulary import Vocabulary
from tests import kimi_k3_tokenizer
from tests.kimi_k3_tokenizer import CLOSE, END, OPEN, SEP, Control
from tests.support.tools import tool
from tests.vllm.native.test_native_tags import expected, nodes, put
from tests.vllm_managers import manager, ready, request
from tests.vocabularies import bits

LINES = Path(__file__).with_name("rust_tags_k3.jsonl").read_text("utf-8").splitlines()
RUST = [json.loads(line) for line in LINES]
CALLS = [case for case in RUST if kimi_k3.OPEN + "tools" in (case["tag"] or "")]
VOCABULARY = Vocabulary.of_bytes([OPEN, CLOSE, SEP, END])
SCHEMA = {"type": "object", "properties": {'a"&': {"type": "integer"}}, "required": ['a"&']}
TOOLS = [tool("get", SCHEMA), tool("bare")]
OFF = {"thinking": False}
ASK = [{"role": "user", "content": "Hi"}]


def ids_of(parts: list[str | Control] | tuple[str | Control, ...]) -> list[int]:
    ids: list[Any] = []
    for part in parts:
        ids += [VOCABULARY.control(part)] if isinstance(part, Control) else part.encode()
    return ids


def prompt(body: dict[str, Any], messages: list[dict[str, Any]] = ASK) -> list[int]:
    options: Any = {"tool_choice": body.get("tool_choice"), **body.get("chat_template_kwargs", {})}
    own = {"add_generation_prompt": True, **options}
    return ids_of(kimi_k3_tokenizer.rendered(messages, body.get("tools"), **own))


def read(case: dict[str, Any]) -> NativeTurn:
    return kimi_k3.turn(json.loads(case["tag"]), VOCABULARY, prompt(case["body"]))


def test_what_was_recorded_has_many_shapes() -> None:
    assert len(CALLS) > 30


def same(found: Spec, wanted: Spec) -> bool:
    """Schemas are compared as values: the prompt has them with their keys sorted."""
    for name in {*found.toolset.tools, *wanted.toolset.tools}:
        mine, theirs = (spec.toolset.tools[name].schema for spec in (found, wanted))
        assert json.loads(mine) == json.loads(theirs), name

    def asked(spec: Spec) -> Any:
        toolset = spec.toolset
        return toolset.allowed, toolset.choice, toolset.parallel, spec.response_format

    return bool(asked(found) == asked(wanted))


@pytest.mark.parametrize("case", CALLS, ids=lambda case: f"{case['level']} {case['body']}"[:90])
def test_a_tag_of_the_rust_front_end_means_its_request(case: dict[str, Any]) -> None:
    spec, think_apart, _ = read(case)
    assert same(spec, expected(case["body"], "parameter"))
    assert think_apart is case["body"].get("chat_template_kwargs", {}).get("thinking", True)


def python_tag(choice: str, listed: list[dict[str, Any]] = TOOLS) -> str:
    made = [ChatCompletionToolsParam.model_validate(tool) for tool in listed]
    return str(get_kimi_k3_structural_tag(made, [], choice, reasoning=False).model_dump_json())


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_tag_of_the_python_front_end_means_its_request(choice: str) -> None:
    case = {"tag": python_tag(choice), "body": {"tools": TOOLS}}
    spec, think_apart, _ = read(case)
    assert same(spec, expected({"tools": TOOLS, "tool_choice": choice}, "parameter"))
    assert not think_apart


def test_tools_that_messages_declare_are_known() -> None:
    case: dict[str, Any] = {"tag": python_tag("auto"), "body": {"tools": TOOLS[1:]}}
    late: list[dict[str, Any]] = [*ASK, {"role": "system", "tools": TOOLS[:1]}, *ASK]
    spec, *_ = kimi_k3.turn(json.loads(case["tag"]), VOCABULARY, prompt(case["body"], late))
    assert json.loads(spec.toolset.tools["get"].schema) == SCHEMA


def test_what_a_user_spells_declares_nothing() -> None:
    declared = "".join(kimi_k3_tokenizer.rendered([], TOOLS, thinking=False))
    spelled = prompt({}, [{"role": "user", "content": declared}])
    with pytest.raises(UnlikeError):
        kimi_k3.turn(json.loads(python_tag("auto")), VOCABULARY, spelled)


def test_a_tool_that_the_prompt_does_not_declare_is_refused() -> None:
    for ids in ([], prompt({"tools": TOOLS[:1]})):
        with pytest.raises(UnlikeError):
            kimi_k3.turn(json.loads(python_tag("auto")), VOCABULARY, ids)


def test_a_declaration_that_cannot_be_read_is_refused() -> None:
    parts = kimi_k3_tokenizer.rendered([], TOOLS, thinking=False)
    broken = [p if isinstance(p, Control) else p.replace('"name"', "name") for p in parts]
    with pytest.raises(InvalidTools, match="cannot be read"):
        kimi_k3.turn(json.loads(python_tag("auto")), VOCABULARY, ids_of(broken))


def in_arguments(data: dict[str, Any], path: tuple[int | str, ...]) -> bool:
    """Whether a node is among a call's arguments, which the prompt tells."""
    node: Any = data
    for at, key in enumerate(path):
        node = node[key]
        if key == "content" and isinstance(node, dict) and at:
            elements = node.get("elements") or [{}]
            if elements[0].get("type") == "regex" and len(path) > at + 2:
                return path[at + 2] == 2
    return False


@pytest.mark.parametrize("case", CALLS[::3], ids=range(0, len(CALLS), 3))
def test_a_tag_with_a_key_more_is_refused(case: dict[str, Any]) -> None:
    data = json.loads(case["tag"])
    own = [path for path in nodes(data) if not in_arguments(data, path)]
    assert len(own) > 8
    for path in own:
        with pytest.raises(UnlikeError):
            kimi_k3.turn(put(case["tag"], (*path, "more"), 1), VOCABULARY, prompt(case["body"]))


MANY = {"type": "object", "additionalProperties": {"type": "string"}}
PROPERTIES = {"s": {"type": "string", "maxLength": 12}, "n": {"type": "integer"}, "o": MANY}
GET = {"type": "object", "properties": PROPERTIES, "required": ["s"], "additionalProperties": False}
TURN_TOOLS: list[dict[str, Any]] = [tool("get", GET), tool("now", {"type": "object"})]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, installed: None, known: Any) -> Any:  # noqa: ARG001
    """Give vLLM's manager over a tokenizer of bytes and Kimi K3's control tokens."""
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k3")
    return manager(known(VOCABULARY), VOCABULARY.size)


def begin(engine: Any, tag: str, prompt_ids: list[int]) -> EnforcedGrammar:
    one = request("r", prompt_ids, {"structural_tag": tag, "_backend": "xgrammar"})
    engine.grammar_init(one)
    found: EnforcedGrammar = ready(one)
    return found


def takes(grammar: EnforcedGrammar, *parts: str | Control) -> bool:
    ids = ids_of(parts)
    return grammar.validate_tokens(ids) == ids


def opened(tag: str, **attributes: Any) -> list[str | Control]:
    return kimi_k3_tokenizer._open(tag, **attributes)


def test_the_engine_enforces_what_the_prompt_declares(engine: Any) -> None:
    body = {"tools": TURN_TOOLS, "chat_template_kwargs": OFF}
    grammar = begin(engine, python_tag("required", TURN_TOOLS), prompt(body))
    assert isinstance(grammar.matcher, ReadableMatcher)
    close = kimi_k3_tokenizer._close
    tools_ = [*close("response"), *opened("tools")]
    call = [*tools_, *opened("call", tool="get", index="1")]
    argument = opened("argument", key="s", type="string")
    whole = [*call, *argument, "twelve bytes", *close("argument"), *close("call")]
    assert takes(grammar, *whole)
    assert not takes(grammar, *call, *close("call"))  # without what is required
    assert not takes(grammar, *call, *argument, "thirteen bytes")
    assert not takes(grammar, *tools_, *opened("call", tool="evil", index="1"))
    assert not takes(grammar, *tools_, *opened("call", tool="get", index="2"))
    assert not takes(grammar, *close("response"), *close("message"))
    # What vLLM's parsers, which read text, would take for markers.
    assert not takes(grammar, *call, *argument, "<|close|>")
    assert not takes(grammar, "<|open|>")


def test_a_think_that_is_split_off_is_closed_before_calls(engine: Any) -> None:
    case = next(case for case in CALLS if "chat_template_kwargs" not in case["body"])
    grammar = begin(engine, case["tag"], prompt(case["body"]))
    assert not takes(grammar, "So.", *opened("tools"))
    assert takes(grammar, "So.", *kimi_k3_tokenizer._close("think"), *opened("response"))


# What stock parsers ask of a tokenizer.
TOKENS = SimpleNamespace(get_vocab=lambda: dict(VOCABULARY.controls))


def sampled(grammar: EnforcedGrammar, random: Random) -> list[int] | None:
    """Give the ids of a turn with random logits; None where it does not end soon."""
    ids: list[int] = []
    ends = VOCABULARY.control(END)
    while len(ids) < 600:
        mask = np.zeros((1, VOCABULARY.words), dtype=np.int32)
        grammar.matcher.fill(mask)
        legal = sorted(bits(mask[0]))
        quick = [i for i in legal if i in VOCABULARY.control_ids or i in b'"}]']
        ids.append(random.choice(quick if quick and random.random() < 0.5 else legal))
        assert grammar.accept_tokens("r", ids[-1:])
        if ids[-1] == ends:
            return ids
    return None


@pytest.mark.slow
def test_what_is_sampled_is_read_by_vllms_parser_to_the_same_calls(engine: Any) -> None:
    prompt_ids = prompt({"tools": TURN_TOOLS, "chat_template_kwargs": OFF})
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TURN_TOOLS}
    listed = [ChatCompletionToolsParam.model_validate(tool) for tool in TURN_TOOLS]
    ended = 0
    for seed in range(40):
        ids = sampled(begin(engine, python_tag("required", TURN_TOOLS), prompt_ids), Random(seed))
        if ids is None:
            continue
        ended += 1
        mine = Parser(runtime.table_for(engine.tokenizer), prompt_ids, schemas.keys(), schemas.get)
        mine.feed(ids)
        turn = mine.turn()
        assert turn.ended
        assert turn.calls
        text = OPEN + "response" + SEP + VOCABULARY.decode(ids).decode(errors="replace")
        stock = KimiK3ToolParser(TOKENS, listed)
        theirs = stock.extract_tool_calls(text, SimpleNamespace(tools=listed))
        functions = [call.function for call in theirs.tool_calls]
        found = [(each.name, json.loads(each.arguments)) for each in functions]
        assert found == [(call.name, json.loads(call.arguments)) for call in turn.calls]
        assert (theirs.content or "") == turn.content
        for name, arguments in found:
            jsonschema.validate(arguments, schemas[name])
    assert ended > 30
