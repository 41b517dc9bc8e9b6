"""A request as text that travels through vLLM, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from enforcer.errors import InvalidTools, SchemaLimit
from enforcer.request import spec as specs
from enforcer.request.options import Options
from enforcer.request.spec import KEY, Route
from enforcer.request.tools import ToolChoice
from enforcer.schema import Conventions, Formats, Limits, OnUnsupported
from enforcer.schema.bundling import Documents

EMPTY: list[Any] = []
NOTHING: dict[str, Any] = {}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get",
        "description": "Gets.",
        "strict": True,
        "parameters": {"type": "object", "properties": {"città": {"enum": ["東京", 3.33]}}},
    },
}
HISTORY = [
    {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "get"}}]},
    {"role": "tool", "tool_call_id": "x", "content": "done"},
]


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def body(*args: list[dict[str, Any]] | None, **kwargs: Any) -> str:
    """Give the spec that `extra_body` writes for the plugin."""
    return str(specs.extra_body(*args, **kwargs)["structured_outputs"]["structural_tag"])


def test_what_is_written_is_read_back() -> None:
    spec = specs.read(
        specs.from_structural_tag(body([TOOL], parallel_tool_calls=False, messages=HISTORY))
    )
    assert spec.first_index == 1
    assert spec.toolset.allowed == ("get",)
    assert spec.toolset.choice is ToolChoice.AUTO
    assert not spec.toolset.parallel
    schema = json.loads(spec.toolset.tools["get"].schema)
    assert schema == TOOL["function"]["parameters"]
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
    sent = specs.extra_body([TOOL], "required", via=Route.LOGITS_PROCESSOR)
    assert set(sent) == {"vllm_xargs"}
    text = sent["vllm_xargs"][KEY]
    assert isinstance(text, str)  # vLLM takes nothing nested there
    assert specs.read(text).toolset.choice is ToolChoice.REQUIRED


@pytest.mark.parametrize("tools", [None, []])
def test_without_tools_nothing_may_be_called(tools: list[Any] | None) -> None:
    assert specs.read(specs.from_structural_tag(body(tools))).toolset.choice is ToolChoice.NONE


@pytest.mark.parametrize(
    ("args", "kwargs", "path"),
    [
        ((3,), {}, "$.tools"),
        (([TOOL, TOOL],), {}, "$.tools[1].function.name"),
        (([{"function": {"name": "<|im_end|>"}}],), {}, "$.tools[0].function.name"),
        (([TOOL], "always"), {}, "$.tool_choice"),
        ((None, "required"), {}, "$.tool_choice"),
        (([TOOL],), {"parallel_tool_calls": "no"}, "$.parallel_tool_calls"),
        (([TOOL],), {"messages": "Hi"}, "$.messages"),
        (([TOOL],), {"response_format": 3}, "$.response_format"),
    ],
)
def test_what_a_chat_request_does_not_carry_is_refused_at_once(
    args: tuple[Any, ...], kwargs: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidTools) as caught:
        specs.extra_body(*args, **kwargs)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "value",
    [{1, 2}, float("nan"), [b"x"], {"type": object()}],
    ids=["set", "NaN", "bytes", "object"],
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidTools):
        specs.write(value, None, None, 0)


SETTLED = {"dialect": "kimi_k2", "engine": "llguidance", "options": Options().to_json()}
GOOD = json.loads(specs.write([TOOL], "auto", True, 0))


@pytest.mark.parametrize(
    "text",
    [
        *(None, 3, b"{}", "", "{", "[]", "null", '"text"', "{}", "[" * 100_000, '{"a":' * 100_000),
        json.dumps({**GOOD, "version": 0}),
        json.dumps({**GOOD, "mode": "off"}),
        json.dumps({key: value for key, value in GOOD.items() if key != "tools"}),
        *(json.dumps({**GOOD, "first_index": i}) for i in (-1, 1.5, True, "0", None, 10**10)),
        json.dumps({**GOOD, "first_index": 0}).replace(": 0", ": " + "9" * 5000),
        json.dumps({**GOOD, "tools": {}}),
        json.dumps({**GOOD, "tool_choice": "never"}),
        json.dumps({**GOOD, "parallel_tool_calls": "x"}),
        json.dumps({**GOOD, "response_format": []}),
        *(json.dumps({**GOOD, "finish_within_budget": word}) for word in ("on", 1, EMPTY)),
        *(json.dumps({**GOOD, "closed_objects": word}) for word in ("on", 0, NOTHING)),
        *(
            json.dumps({**GOOD, "settled": word})
            for word in (True, EMPTY, NOTHING, {"dialect": "x"})
        ),
        json.dumps({**GOOD, "settled": {**SETTLED, "options": {}}}),
        json.dumps({**GOOD, "settled": {**SETTLED, "engine": 3}}),
        *(json.dumps({**GOOD, "on_unsupported": word}) for word in ("ignore", True, EMPTY, 1)),
        json.dumps({**GOOD, "tools": [{"function": {"name": "a", "parameters": {"a": 1e999}}}]}),
    ],
)
def test_a_forged_spec_is_refused(text: bytes | int | str | None) -> None:
    with pytest.raises(InvalidTools):
        specs.read(text)


def test_a_wish_for_closed_objects_leaves_the_other_conventions_as_they_are() -> None:
    text = specs.write([TOOL], "auto", True, 0, closed_objects=True)
    own = Options(conventions=Conventions(Formats.STANDARD))
    assert specs.read(text).resolve(own).conventions == Conventions(Formats.STANDARD, True)
    other = specs.read(specs.write([TOOL], "auto", True, 0, closed_objects=False))
    assert other.resolve(specs.read(text).resolve(own)) == own


def test_what_a_server_settles_travels() -> None:
    settled = specs.Settled("kimi_k2", "xgrammar", Options(max_calls=3, preamble_ids=0))
    text = specs.write([TOOL], "auto", True, 2, on_unsupported="relax", finish_within_budget=True)
    before, after = specs.read(text), specs.read(specs.settle(text, settled))
    assert after == replace(before, settled=settled)
    assert after.resolve(Options()) == settled.options
    wishes = Options(OnUnsupported.RELAX, finish_within_budget=True, max_calls=9)
    assert before.resolve(Options(max_calls=9)) == wishes


@pytest.mark.parametrize("end", [',"settled":null}', ',"settled": null }', "}"])
def test_settling_takes_a_text_as_its_client_has_written_it(end: str) -> None:
    settled = specs.Settled("kimi_k2", "xgrammar", Options(max_calls=3))
    written = specs.write([TOOL], "auto", True, 2).removesuffix(',"settled":null}')
    text = written.replace('{"', '{"settled":null,"', 1) + "}" if end == "}" else written + end
    after = specs.read(specs.settle(text, settled))
    assert after == replace(specs.read(text), settled=settled)


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        (None, None),
        ({}, None),
        ({KEY: "off"}, None),
        ({KEY: ["off"]}, None),
        ({KEY: ' {"version": 2}'}, ' {"version": 2}'),
    ],
)
def test_a_word_in_the_extra_arguments_is_no_spec(
    extra: dict[str, Any] | None, found: str | None
) -> None:
    assert specs.from_extra(extra) == found


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        (None, None),
        (b"", None),
        ("", None),
        (f'"{KEY}"', None),
        (f'["{KEY}"]', None),
        (f'{{"{KEY}": ', None),
        ('{"type": "structural_tag"}', None),
        (f'{{"{KEY}": "x"}}', "x"),
    ],
)
def test_a_tag_of_another_kind_carries_no_spec(tag: bytes | str | None, found: str | None) -> None:
    assert specs.from_structural_tag(tag) == found


def test_a_tag_whose_spec_is_no_text_is_no_spec_that_can_be_read() -> None:
    with pytest.raises(InvalidTools):
        specs.read(specs.from_structural_tag(f'{{"{KEY}": {{"tools": []}}}}'))


@pytest.mark.parametrize(("first", "good"), [(0, True), (10**8 - 1, True), (10**8, False)])
def test_an_index_has_at_most_as_many_digits_as_are_read_back(first: int, good: bool) -> None:
    text = json.dumps({**GOOD, "first_index": first})
    if good:
        assert specs.read(text).first_index == first
        return
    with pytest.raises(InvalidTools) as caught:
        specs.read(text)
    assert caught.value.path == f"$.{KEY}.first_index"


PARTS = {"https://example.com/a": {"type": "integer"}, "https://example.com/b": {"enum": ["x"]}}
WANTED = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"$ref": [*PARTS][1]}}}


def referring(*uris: str, response_format: dict[str, Any] | None = None) -> str:
    tools = [
        {"type": "function", "function": {"name": f"f{at}", "parameters": {"$ref": uri}}}
        for at, uri in enumerate(uris)
    ]
    return specs.write([*tools, TOOL, {"type": "function", "function": {"name": "bare"}}],
                       "auto", None, 0, response_format)  # fmt: skip


def test_documents_are_put_into_all_schemas_of_a_spec_and_travel_with_it() -> None:
    bundle = Documents(PARTS).bundle
    text = referring(*PARTS, response_format=WANTED)
    spec = specs.read(text)
    bundled = specs.bundled(spec, bundle, 10_000)
    assert bundled.toolset.tools["get"] == spec.toolset.tools["get"]
    assert bundled.toolset.tools["bare"].schema == "{}"
    for name, uri in zip(("f0", "f1"), PARTS, strict=True):
        assert list(json.loads(bundled.toolset.tools[name].schema)["$defs"]) == [uri]
    assert "$defs" in json.loads(bundled.response_format.source)
    travelled = specs.put(text, bundled)
    assert specs.read(travelled) == bundled
    assert specs.bundled(specs.read(travelled), bundle, 0) == bundled


def test_a_spec_that_refers_to_no_document_is_the_same_object() -> None:
    spec = specs.read(referring("#", "https://example.com/absent"))
    assert specs.bundled(spec, Documents(PARTS).bundle, 0) is spec


@pytest.mark.parametrize(
    ("uris", "wanted", "path"),
    [
        ([*PARTS, next(iter(PARTS))], None, "$.tools[2].function.parameters"),
        ([*PARTS], WANTED, "$.response_format.json_schema.schema"),
    ],
)
def test_what_documents_add_to_a_request_is_bounded(
    uris: list[str], wanted: dict[str, Any] | None, path: str
) -> None:
    bundle = Documents(PARTS).bundle
    spec = specs.read(referring(*PARTS))
    added = sum(
        len(tool.schema) - len(spec.toolset.tools[name].schema)
        for name, tool in specs.bundled(spec, bundle, 10_000).toolset.tools.items()
    )
    assert specs.bundled(spec, bundle, added) is not spec
    with pytest.raises(SchemaLimit, match=rf"over {added} .*limit `size`") as caught:
        specs.bundled(specs.read(referring(*uris, response_format=wanted)), bundle, added)
    assert caught.value.path == path


def test_the_copies_of_a_tag_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As vLLM makes one for each prompt of a list, and for each of `n` replies."""
    read: list[str] = []
    loads = json.loads

    def counted(text: str) -> Any:
        read.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", counted)
    tag = specs.structural_tag(specs.write([named("copied")], "auto", True, 0))
    copies = [tag[:1] + tag[1:] for _ in range(9)]
    assert copies[0] is not copies[1]
    assert len({specs.from_structural_tag(copy) for copy in copies}) == 1
    assert len(read) == 1


@pytest.mark.parametrize(
    ("limits", "path", "reason"),
    [
        (Limits(tools=2), "$.tools", r"3 tools, over 2 \(limit `tools`\); declare fewer"),
        (Limits(request=5), "$.tools", r"6 characters together, over 5 \(limit `request`\)"),
        (Limits(tools=3, request=6), None, ""),
    ],
)
def test_the_tools_of_a_request_have_a_bound(limits: Limits, path: str | None, reason: str) -> None:
    spec = specs.read(specs.write([named(name) for name in "abc"], "auto", True, 0))
    if path is None:
        specs.refuse_large(spec, limits)
        return
    with pytest.raises(SchemaLimit, match=reason) as refused:
        specs.refuse_large(spec, limits)
    assert refused.value.path == path


def test_a_format_counts_as_the_tools_do() -> None:
    wanted = {"type": "json_schema", "json_schema": {"schema": {"const": "x" * 100}}}
    spec = specs.read(specs.write(None, None, True, 0, wanted))
    with pytest.raises(SchemaLimit, match="characters together") as refused:
        specs.refuse_large(spec, Limits(request=100))
    assert refused.value.path == "$.response_format"
