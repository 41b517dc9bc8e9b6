"""What is said within a call's arguments holds in the masks, in JSON, pairs and Python alike.

Of each place of a drawn text: what is said to be legal may be written there, in the layout's own
spelling, and whatever single byte begins something is in the mask; and each legal byte that is no
white space begins something that was said.
"""

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import enforcer
from enforcer.errors import SchemaError
from enforcer.tools.explain.turn import ExplainedMatcher
from enforcer.turn import dialects
from tests.explained_turns import start
from tests.support import cases
from tests.support.tools import tool
from tests.vocabularies import feed, legal
from tests.walks import examples

_CASES = cases.load("properties/cases/explained_layouts.toml")
CALLS, DELIMITERS = _CASES["calls"], _CASES["delimiters"]
STOP = "</parameter>"
NAMES = ("a", "ab", "b", "cé")
LEAVES = st.sampled_from([*map(json.loads, _CASES["leaves"])])


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw a schema of objects."""
    properties = draw(st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3))
    more = draw(st.sampled_from([{}, {"maxProperties": 2}, {"minProperties": 1}]))
    closed = {"additionalProperties": False} if draw(st.integers(0, 2)) else {}
    required = [name for name in properties if draw(st.booleans())]
    return {"type": "object", "properties": properties, "required": required, **closed, **more}


SCHEMAS = objects(st.one_of(LEAVES, objects(LEAVES)))


@cache
def served(dialect: str) -> enforcer.Enforcer:
    """Return the enforcer over the 256 bytes."""
    vocabulary = enforcer.Vocabulary.of_bytes(dialects.load(dialect).controls)
    return enforcer.Enforcer(vocabulary, dialect)


def begun(dialect: str, schema: dict[str, Any]) -> ExplainedMatcher | None:
    """Start the arguments of a tool over the vocabulary of the 256 bytes; None if refused."""
    try:
        matcher = start(served(dialect), [tool("f", schema)], "required")
        feed(matcher, served(dialect).vocabulary.encode(CALLS[dialect], markers=True))
    except SchemaError:
        return None
    return matcher


def may_follow(matcher: ExplainedMatcher, texts: Iterator[str] | list[str]) -> bool:
    """Return whether one of some texts may be written, by the masks."""
    # Behind a carriage return a line feed has to come.
    data = [(lead + text).encode() for text in texts for lead in ("", "\n")]
    return any(matcher.validate([*text]) == len(text) for text in data)


def rests(text: str, begun_text: str, lead: str) -> Iterator[str]:
    """Yield what is left of a text that has perhaps been begun."""
    if not begun_text:
        yield lead + text
    elif text.startswith(begun_text):
        left = text[len(begun_text) :]
        # The delimiter of a raw value has perhaps been begun.
        yield from (left[at:] for at in range(len(left) if left == STOP else 1))


def spellings(dialect: str, value: str, *, is_name: bool, depth: int) -> list[str]:
    """Return the spellings of a JSON text that a layout has for it at some depth."""
    data = json.loads(value)
    if is_name and depth == 0 and dialect != "kimi_k2":
        return [data + (">" if dialect == "qwen3_coder" else "=")]
    if dialect == "qwen3_coder" and depth == 1 and not is_name:
        return [(data if isinstance(data, str) else value) + STOP]
    if dialect != "pythonic":
        return [value]
    words = [value, value.capitalize(), "None" if data is None else value]
    inner = value[1:-1].replace(r"\"", '"').replace("'", r"\'")
    return [*words, f"'{inner}'"] if isinstance(data, str) else words


def check(dialect: str, matcher: ExplainedMatcher) -> None:
    """Compare what is said at a place with the mask."""
    found = matcher.expected()
    ids = legal(matcher)
    assert found.legal == len(ids)
    assert found.options, f"no words for {len(ids)} ids"
    if {*found.begun} & {"\ufffd", "\\"} or not found.begun.isprintable():
        event("within a character, or behind another spelling of one")
        return
    firsts, is_listed = set[str](), True
    if found.options[0].what[0] == found.options[0].what[-1] == "`":
        event("tokens are listed")  # as behind a carriage return
        return
    for option in found.options:
        lead = option.what.split("`")[1] if option.what.startswith("`") else ""
        if lead:
            assert may_follow(matcher, [lead]), option
            firsts.add(lead[0])
        is_name = "name of a property" in option.what or "another property" in option.what
        # Of a number that has been begun the delimiters behind it are said, too.
        depth = len(json_path(found.at)) - (is_name and bool(lead) and bool(found.begun))
        depth += bool(lead) and "element" in option.what
        is_marker = option.what.startswith("the marker")
        for value in () if is_marker else option.values:
            texts = spellings(dialect, value, is_name=is_name, depth=depth)
            left = [x for text in texts for x in rests(text, "" if lead else found.begun, lead)]
            if not left and found.begun[:1] not in {'"', "'"}:
                event("another spelling of a number or word")
                continue
            assert may_follow(matcher, left), (option, value, left)
            firsts |= {text[0] for text in left if text}
        is_listed = is_listed and (bool(option.values) or bool(lead)) and not is_marker
    if is_listed and found.begun.islower() >= found.begun.isalpha():
        # Quotes that end what is whole, white space, and other spellings are not mentioned.
        # vLLM reads words of pairs in either case.
        firsts |= {each.swapcase() for each in firsts}
        others = {chr(i) for i in ids if i < 128} - firsts - {*" \t\r\n\"'\\"}
        assert not others - {*"0123456789.eE+-"}, (found, others)
        if not found.begun:
            assert not {i for i in ids if i >= 128} - {first.encode()[0] for first in firsts}


def json_path(at: str | None) -> list[str]:
    """Return the steps of a path."""
    return (at or "$").replace("[", ".[").split(".")[1:]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", CALLS)
@examples(20)
@given(schema=SCHEMAS, seed=st.integers(0, 2**32))
def test_exactly_the_mask_is_said_legal(dialect: str, schema: dict[str, Any], seed: int) -> None:
    matcher, random = begun(dialect, schema), Random(seed)
    if matcher is None:
        event("refused")
        return
    for _ in range(30):
        if matcher.state != "ARGUMENTS":
            return
        check(dialect, matcher)
        ids = sorted(legal(matcher))
        ends = [i for i in ids if chr(i) in "\"'}]),:=<>/"]
        plain = [i for i in ids if chr(i) in "abcéxyqz1u<\"'{[tfn"]
        assert matcher.accept(random.choice(random.choice([ids, ends or ids, plain or ids])))


@pytest.mark.parametrize("dialect", CALLS)
@examples(15)
@given(schema=SCHEMAS, seed=st.integers(0, 2**32))
def test_the_delimiters_that_come_are_said(dialect: str, schema: dict[str, Any], seed: int) -> None:
    """A delimiter is said wherever the mask has it outside of strings."""
    matcher, random = begun(dialect, schema), Random(seed)
    for _ in range(30 if matcher is not None else 0):
        assert matcher is not None
        if matcher.state != "ARGUMENTS":
            return
        found = matcher.expected()
        said = {x.what.split("`")[1] for x in found.options if x.what.startswith("`")}
        # Keys and raw values have no quotes: a delimiter of JSON is a part of them.
        if not found.begun and not (dialect == "qwen3_coder" and len(json_path(found.at)) < 2):
            signs = {x for x in DELIMITERS[dialect] if matcher.validate([*x.encode()]) == len(x)}
            event(f"{len(signs)} delimiters")
            assert signs <= said, (found, signs, said)
        assert matcher.accept(random.choice(sorted(legal(matcher))))
