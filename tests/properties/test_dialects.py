"""What holds of every turn in every dialect: soundness, masks, going back, splits."""

import json
from functools import cache
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import enforcer
from enforcer.api import Enforcer
from enforcer.layouts import LayoutKind
from enforcer.request.spec import Spec
from enforcer.request.tools import parse
from enforcer.turn import dialects
from enforcer.turn.events import Happening
from enforcer.turn.lexer import BLANK_BYTES
from enforcer.turn.matcher import Matcher
from enforcer.turn.parser import Parser
from tests.dialect_cases import NAMES, opening, served, vocabulary
from tests.support.machine import agreed
from tests.support.tools import tool
from tests.vocabularies import legal, row_of, split, write
from tests.walks import OBJECTS, examples

SEEDS = st.integers(0, 2**32)
TOOLS = ["get", "get_", "a", "get_weather"]


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(TOOLS), unique=True, max_size=3))
    tools = [tool(name, draw(OBJECTS)) for name in names]
    choices: list[Any] = ["auto", "none"]
    if names:
        choices += ["required", {"type": "function", "function": {"name": names[-1]}}]
    return {
        "tools": tools,
        "tool_choice": draw(st.sampled_from(choices)),
        "parallel_tool_calls": draw(st.booleans()),
    }


def step(matcher: Matcher, random: Random, hurry: float) -> int:
    found = matcher.envelope.table.vocabulary
    ids = sorted(legal(matcher))
    if random.random() < hurry:
        controls = [i for i in ids if i in found.control_ids]
        closers = [i for i in ids if set(found.token_bytes(i)) <= set(b'"}])\n <{[')]
        calls = [i for i in ids if found.token_bytes(i)[:1] in b"{[<"]
        ids = random.choice([controls, closers, calls]) or controls or closers or ids
    return random.choice(ids)


def walk(matcher: Matcher, random: Random, most: int = 200) -> list[int]:
    ids: list[Any] = []
    while len(ids) < most and not matcher.is_finished:
        ids.append(step(matcher, random, hurry=0.4 + len(ids) / most))
        assert matcher.accept(ids[-1]), (ids[-1], matcher, matcher.failure)
    return ids


def callable_tools(request: dict[str, Any]) -> list[str]:
    if request["tool_choice"] == "none":
        return []
    return [each["function"]["name"] for each in request["tools"]]


def written(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """Leave out the arguments that a dialect has to refuse for their names."""
    if dialects.load(name).arguments.kind is LayoutKind.JSON:
        return request
    tools = []
    for each in request["tools"]:
        schema = each["function"]["parameters"]
        properties = {k: v for k, v in schema["properties"].items() if k in {"a", "city"}}
        required = [key for key in schema["required"] if key in properties]
        schema = {**schema, "properties": properties, "required": required}
        tools.append(tool(each["function"]["name"], schema))
    return {**request, "tools": tools}


# Other white space may come in pieces, none of which is any.
BLANKS = bytes(BLANK_BYTES).decode()


def matcher_of(name: str, request: dict[str, Any]) -> Matcher:
    return served(name).matcher(**request, prompt_ids=opening(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(request=requests(), seed=SEEDS)
def test_sampled_calls_are_valid(name: str, request: dict[str, Any], seed: int) -> None:
    request = written(name, request)
    matcher = matcher_of(name, request)
    ids = walk(matcher, Random(seed))
    assert matcher.failure is None
    declared = {t["function"]["name"]: t["function"]["parameters"] for t in request["tools"]}
    turn = served(name).parse(ids, opening(name), callable_tools(request), declared)
    text = vocabulary(name).decode(ids)
    assert turn.stray is None, text
    for found in turn.calls:
        jsonschema.Draft202012Validator(declared[found.name]).validate(json.loads(found.arguments))
        if isinstance(request["tool_choice"], dict):
            assert found.name == request["tool_choice"]["function"]["name"]
    assert len(turn.calls) <= (3 if request["parallel_tool_calls"] else 1)
    if turn.ended:
        assert turn.content.strip(BLANKS) or turn.calls, text
        assert turn.calls or request["tool_choice"] in ("auto", "none"), text
    if request["tool_choice"] == "none" or not request["tools"]:
        assert not turn.calls


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(8)
@given(request=requests(), seed=SEEDS)
def test_a_mask_is_what_accept_takes(name: str, request: dict[str, Any], seed: int) -> None:
    request = written(name, request)
    matcher = matcher_of(name, request)
    random = Random(seed)
    size = vocabulary(name).size
    for at in range(50):
        assert legal(matcher) == agreed(matcher, vocabulary(name), range(-1, size + 1)) != set()
        matcher.accept(step(matcher, random, hurry=0.5 + at / 100))


def forget(matcher: Matcher) -> None:
    """Keep nothing of masks and positions."""
    matcher._transitions.shared = None
    if matcher._now.shared is not None:
        matcher._now = matcher._now.but()


@cache
def two(name: str) -> list[Enforcer]:
    """Give enforcers that no other test has asked for masks."""
    return [enforcer.Enforcer(vocabulary(name), name) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(request=requests(), first=st.integers(0, 2), seed=SEEDS)
def test_masks_ignore_caches(name: str, request: dict[str, Any], first: int, seed: int) -> None:
    request = written(name, request)
    spec = Spec(parse(**request), first)
    keeps, forgets = two(name)
    matcher, anew = (each.start(spec, opening(name)) for each in (keeps, forgets))
    random = Random(seed)
    rows, ids = [], []
    for at in range(60):
        forget(anew)
        rows.append(row_of(anew))
        assert (row_of(matcher) == rows[-1]).all(), matcher
        if matcher.is_finished:
            break
        ids.append(step(matcher, random, hurry=0.4 + at / 100))
        assert matcher.accept(ids[-1])
        assert anew.accept(ids[-1])
    # What comes a second time is kept, and given the third.
    for _ in range(2):
        matcher = keeps.start(spec, opening(name))
        for row, token_id in zip(rows, ids, strict=False):
            assert (row_of(matcher) == row).all(), matcher
            assert matcher.accept(token_id)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(30)
@given(request=requests(), seed=SEEDS)
def test_going_back_is_as_if_it_had_not_been(name: str, request: dict[str, Any], seed: int) -> None:
    request = written(name, request)
    matcher, random = matcher_of(name, request), Random(seed)
    rows = [row_of(matcher)]
    ids = []
    for _ in range(80):
        if matcher.state == "END":
            break
        ids.append(step(matcher, random, hurry=0.5))
        assert matcher.accept(ids[-1])
        rows.append(row_of(matcher))
        if random.random() < 0.3:
            back = random.randint(1, min(8, len(ids)))
            matcher.rollback(back)
            del ids[-back:], rows[-back:]
            assert (row_of(matcher) == rows[-1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(30)
@given(request=requests(), seed=SEEDS)
def test_who_masks_a_turn_and_who_reads_it_stand_in_the_same_state(
    name: str, request: dict[str, Any], seed: int
) -> None:
    request = written(name, request)
    matcher, random = matcher_of(name, request), Random(seed)
    reader = Parser(served(name).table, opening(name), callable_tools(request))
    assert reader.state == matcher.state
    while matcher.accepted < 80 and matcher.state != "END":
        token = step(matcher, random, hurry=0.4)
        assert matcher.accept(token)
        reader.feed([token])
        assert reader.turn().stray is None
        assert reader.state == matcher.state


CASES = [(name, at) for name in NAMES for at in range(len(dialects.load(name).examples))]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "at"), CASES)
@examples(30)
@given(seed=SEEDS)
def test_the_files_examples_are_accepted_in_any_split(name: str, at: int, seed: int) -> None:
    example = dialects.load(name).examples[at]
    found, random = vocabulary(name), Random(seed)
    ids: list[Any] = []
    for token in write(found, example["text"]):
        # Runs of bytes are split anew; control tokens stay what they are.
        if token in found.control_ids:
            ids.append(token)
        elif ids and isinstance(ids[-1], bytes):
            ids[-1] += found.token_bytes(token)
        else:
            ids.append(found.token_bytes(token))
    flat: list[int] = []
    for part in ids:
        flat += split(random.choice, found, part) if isinstance(part, bytes) else [part]
    calls = example.get("calls", [])
    tools = [*map(tool, {call["name"] for call in calls} | {"other"})]
    first = calls[0].get("index", 0) if calls else 0
    asked = [{"id": "x", "function": {"name": "other"}}] * first
    matcher = served(name).matcher(
        tools, messages=[{"role": "assistant", "tool_calls": asked}], prompt_ids=opening(name)
    )
    count = matcher.validate(flat)
    assert count == len(flat), found.decode(flat[:count])
    reader = Parser(served(name).table, opening(name))
    reader.feed(flat)
    turn = reader.turn()
    assert turn.content == example["content"]
    assert turn.reasoning == example.get("reasoning", "")
    read = [{"name": c.name, "arguments": c.arguments} for c in turn.calls]
    assert read == [{"name": c["name"], "arguments": c["arguments"]} for c in calls]


@pytest.mark.parametrize(("name", "at"), CASES)
def test_calls_to_tools_that_are_not_declared_are_dropped_whole(name: str, at: int) -> None:
    example = dialects.load(name).examples[at]
    ids = write(vocabulary(name), example["text"])
    reader = Parser(served(name).table, opening(name), ["other"])
    events = reader.feed(ids)
    turn = reader.turn()
    assert turn.calls == ()
    assert (turn.content, turn.stray, turn.ended) == (example["content"], None, True)
    assert reader.dropped == len(example.get("calls", ()))
    assert {event.what for event in events} <= {Happening.CONTENT, Happening.REASONING}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(15)
@given(seed=SEEDS)
def test_text_that_is_read_at_once_is_read_as_id_by_id(name: str, seed: int) -> None:
    """Of a prompt that has long begun the turn, and of a reply: both are read in runs of text."""
    random, found, table = Random(seed), vocabulary(name), served(name).table
    text = [i for i in range(found.size) if i not in found.control_ids]
    blank = [i for i in text if not found.token_bytes(i).strip()]
    tools = [tool("get")]
    # An ended turn is none that goes on; some markers are spelled with ids of text.
    markers = [[token] for token in sorted(found.control_ids - table.turn_end_ids)]
    markers += [found.encode(marker) for marker in sorted(dialects.load(name).tokens.spelled)]
    thinks = [[found.controls[each]] for each in ("<think>",) if each in found.controls]
    ids: list[int] = random.choice([*thinks, []])
    for _ in range(random.randint(1, 4)):
        pool, length = random.choice([text, blank]), random.choice([1, 70, 200])
        ids = [*ids, *random.choices(pool, k=length), *random.choice([[], *markers])]

    one_by_one = served(name).matcher(tools, prompt_ids=opening(name))
    begun = [token for token in ids if one_by_one.accept(token)]
    if opening(name):  # else no prompt opens a turn, whatever it has
        at_once = served(name).matcher(tools, prompt_ids=[*opening(name), *begun])
        assert at_once.state == one_by_one.state
        assert (row_of(at_once) == row_of(one_by_one)).all()

    whole, single = Parser(table, opening(name)), Parser(table, opening(name))
    told = whole.feed(ids), [event for token in ids for event in single.feed([token])]
    assert whole.finish() == single.finish()
    assert whole.turn() == single.turn()
    assert (whole.state, whole.reasoning_ids) == (single.state, single.reasoning_ids)
    said, again = (
        {what: "".join(event.text for event in events if event.what is what) for what in Happening}
        for events in told
    )
    assert said == again
