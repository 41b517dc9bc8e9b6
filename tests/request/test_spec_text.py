"""A spec as text, and back; nothing in it is trusted."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from enforcer.errors import InvalidTools
from enforcer.request import spec as specs
from enforcer.request import spec_text
from enforcer.request.carrier import KEY
from enforcer.request.options import Options
from enforcer.schema import OnUnsupported
from tests.spec_cases import TOOL
from tests.spec_cases import settled as settle
from tests.support.cases import each_case
from tests.support.nested import nested


@pytest.mark.parametrize(
    "value",
    [{1, 2}, float("nan"), [b"x"], {"type": object()}],
    ids=["set", "NaN", "bytes", "object"],
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidTools):
        spec_text.write(value, None, None, 0)


def test_what_is_nested_too_deeply_is_named_where_it_stands() -> None:
    deep = nested(100_000, lambda inner: [inner], 1)
    tools = [{"function": {"name": "b", "parameters": {"a": deep}}}]
    test_what_is_no_json_is_named_where_it_stands(
        {"tools": tools}, "$.tools[0].function.parameters"
    )


@each_case
def test_what_is_no_json_is_named_where_it_stands(fields: dict[str, Any], path: str) -> None:
    """JSON has no such numbers, but Python reads `NaN` and `1e999` as them, also on a server."""
    whole = {"tools": [TOOL], "tool_choice": None, "parallel": None, "first_index": 0, **fields}
    with pytest.raises(InvalidTools, match="it is not JSON") as refused:
        spec_text.write(**whole)
    assert refused.value.path == path


SETTLED: dict[str, Any] = {"dialect": "kimi_k2", "engine": "machine", "as_text": False}
SETTLED["options"] = msgspec.to_builtins(Options())
GOOD = json.loads(spec_text.write([TOOL], "auto", True, 0))


@each_case
def test_a_forged_spec_is_refused(change: Any, settled: Any) -> None:
    forged = change or {"settled": {**SETTLED, **settled}}
    with pytest.raises(InvalidTools):
        spec_text.read(json.dumps({**GOOD, **forged}))


WITHOUT_TOOLS = json.dumps({key: value for key, value in GOOD.items() if key != "tools"})
LARGE = json.dumps({**GOOD, "first_index": 0}).replace(": 0", ": " + "9" * 5000)


@pytest.mark.parametrize(
    "text",
    [
        *(None, 3, b"{}", "", "{", "[]", "null", '"text"', "{}", "[" * 100_000, '{"a":' * 100_000),
        *(WITHOUT_TOOLS, LARGE),
    ],
)
def test_a_text_that_is_no_spec_is_refused(text: bytes | int | str | None) -> None:
    with pytest.raises(InvalidTools):
        spec_text.read(text)


def test_what_a_server_settled_is_read() -> None:
    read = spec_text.read(json.dumps({**GOOD, "settled": SETTLED}))
    assert read.settled == specs.Settled("kimi_k2", "machine", Options())


def test_a_letter_takes_its_own_bytes() -> None:
    """A spec travels as text of bounded length: as escapes, Chinese would take twice as much."""
    tool = {"function": {"name": "a", "parameters": {"required": ["天气"]}}}
    written = spec_text.write([tool], "auto", True, 0)
    assert "天气" in written
    assert "天气" in settle(written, specs.Settled("kimi_k2", "xgrammar", Options()))


def test_what_a_server_settles_travels() -> None:
    settled = specs.Settled("kimi_k2", "xgrammar", Options(max_calls=3, preamble_ids=0))
    text = spec_text.write(
        [TOOL], "auto", True, 2, on_unsupported="relax", finish_within_budget=True
    )
    before, after = spec_text.read(text), spec_text.read(settle(text, settled))
    assert after == replace(before, settled=settled)
    assert after.resolve(Options()) == settled.options
    wishes = Options(OnUnsupported.RELAX, finish_within_budget=True, max_calls=9)
    assert before.resolve(Options(max_calls=9)) == wishes


@pytest.mark.parametrize("end", [',"settled":null}', ',"settled": null }', "}"])
def test_settling_takes_a_text_as_its_client_has_written_it(end: str) -> None:
    settled = specs.Settled("kimi_k2", "xgrammar", Options(max_calls=3))
    written = spec_text.write([TOOL], "auto", True, 2).removesuffix(',"settled":null}')
    text = written.replace('{"', '{"settled":null,"', 1) + "}" if end == "}" else written + end
    assert spec_text.read(settle(text, settled)) == replace(spec_text.read(text), settled=settled)


@pytest.mark.parametrize(("first", "good"), [(0, True), (10**8 - 1, True), (10**8, False)])
def test_an_index_has_at_most_as_many_digits_as_are_read_back(first: int, good: bool) -> None:
    text = json.dumps({**GOOD, "first_index": first})
    if good:
        assert spec_text.read(text).first_index == first
        return
    with pytest.raises(InvalidTools) as caught:
        spec_text.read(text)
    assert caught.value.path == f"$.{KEY}.first_index"


def test_documents_are_put_into_a_format_beside_no_tools() -> None:
    wanted = {"type": "json_schema", "json_schema": {"schema": {"$ref": "urn:x"}}}
    text = spec_text.write(None, None, True, 0, wanted)
    spec = specs.bundled(spec_text.read(text), lambda _: '{"const":1}', 100)
    put = spec_text.decode(text).put(spec).spec()
    assert put.response_format is not None
    assert json.loads(put.response_format.source) == {"const": 1}
