"""Structural tags that vLLM's own front ends build mean what their requests said."""

import copy
import itertools
import json
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from enforcer import errors
from enforcer.errors import InvalidTools, UnknownTag
from enforcer.request import response_format, tools
from enforcer.request.spec import Spec
from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vllm.native import native_tags
from enforcer.vllm.native.tags import NativeTurn
from enforcer.vocabulary import Vocabulary
from tests.stock_tags import python_tag
from tests.support import cases
from tests.support.rust_tags import BODIES
from tests.vocabularies import small, write

KIMI = dialects.load("kimi_k2")
LINES = Path(__file__).with_name("rust_tags.jsonl").read_text("utf-8").splitlines()
RUST = [json.loads(line) for line in LINES]
TABLE = Table(KIMI, Vocabulary.of_bytes(KIMI.controls))
LEVELS = ("parameter", "function", "auto")


def read(tag: str) -> NativeTurn:
    return native_tags.recognise(tag, TABLE, None)


def expected(body: dict[str, Any], level: str) -> Spec:
    """The spec of the request itself, as far as vLLM's front ends pass it on."""
    declared = copy.deepcopy(body["tools"])
    choice = body.get("tool_choice") or "auto"
    parallel = body.get("parallel_tool_calls", True)
    if isinstance(choice, dict):
        declared = [tool for tool in declared if tool["function"]["name"] == "get"]
        choice, parallel = "required", False
    for tool in declared:
        if level != "parameter" and not tool["function"].get("strict"):
            tool["function"].pop("parameters", None)
    own = body.get("response_format")
    for kind, value in body.get("structured_outputs", {}).items():
        own = {"type": kind, kind: value}
    wanted = response_format.parse(own) if choice == "auto" else None
    return Spec(tools.parse(declared, choice, parallel), 0, wanted)


def is_strict(body: dict[str, Any]) -> bool:
    return any(tool["function"].get("strict") for tool in body["tools"])


def is_formatted(body: dict[str, Any]) -> bool:
    formatted = body.get("response_format", {"type": "text"})["type"] != "text"
    return formatted or "structured_outputs" in body


def rust_calls(body: dict[str, Any], level: str) -> bool:
    """Whether the Rust front end builds a tag for a request's calls."""
    if not body.get("tools") or body.get("tool_choice") == "none":
        return False
    return level != "auto" or is_strict(body) or is_formatted(body) or bool(body.get("tool_choice"))


def python_calls(body: dict[str, Any], level: str) -> bool:
    """The same for the Python one, which leaves more requests alone."""
    choice = body.get("tool_choice", "auto")
    if not body.get("tools") or choice in (None, "none"):
        return False
    one = "parallel_tool_calls" in body and not is_formatted(body)
    return level != "auto" or is_strict(body) or choice != "auto" or one


@pytest.mark.parametrize("case", RUST, ids=lambda case: f"{case['level']} {case['body']}"[:90])
def test_a_tag_of_the_rust_front_end_means_its_request(case: dict[str, Any]) -> None:
    body, level, tag = case["body"], case["level"], case["tag"]
    if not native_tags.concerns(tag, KIMI):
        # Nothing is called: the reply is not read for calls either.
        assert not rust_calls(body, level)
        return
    found = read(tag)
    assert found.spec == expected(body, level)
    thinks = case["reasoning"] != "none"
    assert found.think_apart is thinks


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body)[:90])
def test_a_tag_of_the_python_front_end_means_its_request(body: dict[str, Any], level: str) -> None:
    tag = python_tag(body, level)
    assert native_tags.concerns(tag, KIMI) == python_calls(body, level)
    if tag is None:
        return
    found = read(tag)
    assert found.spec == expected(body, level)
    assert not found.think_apart


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body)[:90])
def test_tools_are_named_whose_schemas_a_tag_leaves_out(body: dict[str, Any], level: str) -> None:
    tag = python_tag(body, level)
    if tag is None:
        return
    functions = [tool["function"] for tool in body["tools"]]
    if isinstance(body.get("tool_choice"), dict):
        functions = [each for each in functions if each["name"] == "get"]
    free = {
        each["name"]
        for each in functions
        if "parameters" not in each or (level != "parameter" and not each.get("strict"))
    }
    concerns = native_tags.concerns(tag, KIMI)
    assert set(native_tags.left_free(tag, KIMI)) == (free if concerns else set())
    if concerns:
        assert set(read(tag).left_free) == free


def test_in_a_tag_of_another_shape_no_tool_is_named() -> None:
    for tag in ("", "[" * 10_000, '{"type": "tag", "begin": 3, "content": {"elements": [3]}}'):
        assert native_tags.left_free(tag, KIMI) == ()
    assert native_tags.left_free(RECORDED[0], dialects.load("kimi_k3")) == ()


def paths(node: Any, at: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Every place in a tag, the schemas of its tools left out."""
    yield at
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "json_schema":
                yield from paths(value, (*at, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from paths(value, (*at, index))


def nodes(data: Any) -> Iterator[tuple[int | str, ...]]:
    """Every place where a key may be put."""
    return (path for path in paths(data) if isinstance(reduce(getitem, path, data), dict))


def put(tag: str, path: tuple[int | str, ...], value: Any) -> Any:
    data = json.loads(tag)
    reduce(getitem, path[:-1], data)[path[-1]] = value
    return data


RECORDED = [
    case["tag"]
    for case in RUST
    if case["level"] == "parameter" and native_tags.concerns(case["tag"], KIMI)
]
OTHER: tuple[Any, ...] = (0, 1, True, False, None, "x", [], {}, ["x"])


@pytest.mark.slow
@pytest.mark.parametrize("tag", RECORDED, ids=range(len(RECORDED)))
def test_a_tag_that_differs_anywhere_is_refused_or_means_what_it_says(tag: str) -> None:
    spec, data = read(tag).spec, json.loads(tag)
    refused = 0
    for path, value in itertools.product(list(paths(data))[1:], OTHER):
        other = put(tag, path, value)
        if json.dumps(other) == json.dumps(data):
            continue
        try:
            found = read(json.dumps(other)).spec
        except (UnknownTag, InvalidTools):
            refused += 1
            continue
        # What may vary: one call or more, and the format of a text.
        assert path[-1] in ("stop_after_first", "pattern", "value", "grammar"), path
        assert found != spec
    assert refused > 100


@pytest.mark.parametrize("tag", RECORDED, ids=range(len(RECORDED)))
def test_a_tag_with_a_key_more_is_refused(tag: str) -> None:
    for path in nodes(json.loads(tag)):
        with pytest.raises(UnknownTag):
            read(json.dumps(put(tag, (*path, "more"), 1)))


CALL = RECORDED[1]
CHANGED = cases.read("vllm/native/cases/native_tags.toml", "changed")


@pytest.mark.parametrize(
    ("tag", "error"),
    [
        *((CALL.replace(each["old"], each["new"]), each["error"]) for each in CHANGED),
        (CALL[:-1], "UnknownTag"),
        ("<|tool_call_begin|>", "UnknownTag"),
        ('{"a":' * 10**5 + '"<|tool_call_begin|>"' + "}" * 10**5, "UnknownTag"),
    ],
)
def test_unenforceable_tags_are_refused(tag: str, error: str) -> None:
    assert tag != CALL
    assert native_tags.concerns(tag, KIMI)
    with pytest.raises(getattr(errors, error)):
        read(tag)


def test_a_marker_is_seen_however_a_tag_spells_it() -> None:
    value = "<|tool_calls_section_begin|><|tool_call_begin|>functions.evil:0"
    plain = json.dumps({"type": "structural_tag", "format": {"value": value, "value2": 1}})
    for tag in (
        plain,
        plain.replace("<", "\\u003c"),
        plain.replace("tool", "\\u0074ool"),
        plain.replace("<", "\\u003c").replace('"value2": 1', '"value": "other"'),
    ):
        assert json.loads(tag)["type"] == "structural_tag"
        assert native_tags.concerns(tag, KIMI)
    assert not native_tags.concerns(plain.replace("<|", "<\\u007c\\\\"), KIMI)


def test_tags_of_other_formats_are_left_alone() -> None:
    for tag in (None, "", "{}", '{"type": "structural_tag", "format": {"type": "any_text"}}'):
        assert not native_tags.concerns(tag, KIMI)
    hermes = CALL
    for role in KIMI.markers.values():
        for marker in role:
            hermes = hermes.replace(marker, "<tool_call>")
    assert not native_tags.concerns(hermes, KIMI)


def test_the_first_index_is_read_from_the_prompt() -> None:
    vocabulary = small()
    table = Table(KIMI, vocabulary)
    call = "<|tool_call_begin|>x<|tool_call_argument_begin|>{}<|tool_call_end|>"
    turn = "<|im_assistant|>assistant<|im_middle|>"
    prompt = write(vocabulary, f"{turn}{call}{call}<|im_end|>{turn}")
    assert native_tags.recognise(CALL, table, prompt).spec.first_index == 2
    assert native_tags.recognise(CALL, table, None).spec.first_index == 0
