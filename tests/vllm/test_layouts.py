"""Sampled arguments in every layout, read by vLLM's own functions and by ours."""

import ast
import json
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from vllm.parser.engine.parser_engine import ParserEngine
from vllm.parser.glm47_moe import _glm47_arg_converter
from vllm.parser.minimax_m2 import _minimax_m2_arg_converter
from vllm.parser.qwen3 import _qwen3_arg_converter
from vllm.tool_parsers.kimi_k3_tool_parser import KimiK3ToolParser
from vllm.tool_parsers.utils import (
    coerce_to_schema_type,
    extract_types_from_schema,
    handle_single_tool,
)

from enforcer.errors import UnsupportedSchema
from enforcer.layouts import Decoder
from enforcer.layouts.declared import read_value, types_of_properties
from enforcer.schema import Root, compile_schema
from tests import laid_out
from tests.walks import OBJECTS

CONVERTERS = {
    "qwen3_coder": _qwen3_arg_converter,
    "minimax_m2": _minimax_m2_arg_converter,
    "glm45": _glm47_arg_converter,
}


def stock(name: str, text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Read the text of arguments with vLLM's own code."""
    if name in CONVERTERS:
        found = json.loads(CONVERTERS[name](text, False))
        return dict(ParserEngine._coerce_dict(found, schema.get("properties", {}))[0])
    if name == "pythonic":
        (said,) = ast.parse(f"[f({text}]").body
        assert isinstance(said, ast.Expr)
        assert isinstance(said.value, ast.List)
        read = handle_single_tool(said.value.elts[0])
    else:
        # A vocabulary is all that the parser of K3 asks of a tokenizer.
        parser = KimiK3ToolParser(SimpleNamespace(get_vocab=dict))
        body = text.removesuffix("<|close|>call<|sep|>")
        read = parser._decode_call('tool="f" index="1"', body)
    return dict(json.loads(read.function.arguments))


def sample(name: str, schema: dict[str, Any], random: Random) -> list[int] | None:
    """Sample a text from the masks; its ids, or None if it does not end."""
    try:
        compiled = compile_schema(schema, root=Root.OBJECT)
        grammar = laid_out.engine().compile(compiled, laid_out.bound(name))
    except UnsupportedSchema:
        return None
    matcher = grammar.matcher()
    ids: list[int] = []
    while not matcher.is_accepting() and len(ids) < 200:
        allowed = sorted(laid_out.legal(matcher))
        ends = [i for i in allowed if i > 255 or chr(i) in "<>\"')}]\n"]
        hurry = random.random() < 0.1 + len(ids) / 60
        ids.append(random.choice(ends if hurry and ends else allowed))
        assert matcher.accept(ids[-1])
    return ids if matcher.is_accepting() else None


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONVERTERS, "pythonic", "kimi_k3"])
@given(schema=OBJECTS, seed=st.integers(0, 2**32))
def test_vllm_reads_like_us_and_the_copies(name: str, schema: dict[str, Any], seed: int) -> None:
    ids = sample(name, schema, Random(seed))
    assume(ids is not None)
    text = laid_out.spelled(ids)
    decoder = Decoder(laid_out.bound(name), schema)
    ours = json.loads(decoder.feed(laid_out.symbols_of_ids(ids)) + decoder.finish())
    assert ours == stock(name, text, schema), text
    assert ours == dict(laid_out.read(name, text, schema)), text


@given(laid_out.TEXTS, st.lists(st.sampled_from(laid_out.TYPES), min_size=1, unique=True))
def test_declared_types_are_read_as_by_vllm(text: str, types: list[str]) -> None:
    schema = {"type": types}
    expected = json.dumps(coerce_to_schema_type(text, extract_types_from_schema(schema)))
    declared = types_of_properties({"properties": {"a": schema}})["a"]
    assert json.dumps(read_value(text, declared)) == expected
    assert json.dumps(laid_out.coerced(text, schema)) == expected
