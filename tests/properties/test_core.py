"""What holds of every turn: soundness, masks, going back, chunks, round trips, garbage."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import enforcer
from enforcer.turn.events import Happening
from enforcer.turn.lexer import BLANK_BYTES
from enforcer.turn.matcher import Matcher
from enforcer.turn.parser import Parser
from tests import vocabularies, walks
from tests.engine_cases import closed
from tests.support.machine import agreed
from tests.support.tools import tool
from tests.vocabularies import call, feed, legal, row_of, split, write
from tests.walks import OBJECTS, V, examples, instances, requests, schemas, served, step, walk

HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"
TAILS = [None, "", HEADER, HEADER + "<think>", HEADER + "<think></think>", HEADER + "Well, "]
SEEDS = st.integers(0, 2**32)


def prompt_ids(tail: str | None) -> list[int] | None:
    return None if tail is None else write(V, tail)


def first_index(request: dict[str, Any]) -> int:
    return len(request["messages"][0]["tool_calls"])


# 1. Sound


@examples(150)
@given(requests(), st.sampled_from(TAILS), SEEDS)
def test_sampled_calls_are_valid(request: dict[str, Any], tail: str | None, seed: int) -> None:
    prompt = prompt_ids(tail)
    matcher = served().matcher(**request, prompt_ids=prompt)
    ids = walk(matcher, Random(seed))
    assert matcher.failure is None
    # A turn without a prompt starts in content for the masks, where no think may open.
    turn = served().parse(ids, prompt)
    assert turn.stray is None
    declared = schemas(request)
    choice = request["tool_choice"]
    for index, found in enumerate(turn.calls, first_index(request)):
        assert found.id == f"functions.{found.name}:{index}"
        jsonschema.Draft202012Validator(declared[found.name]).validate(json.loads(found.arguments))
        if isinstance(choice, dict):
            assert found.name == choice["function"]["name"]
    # Other white space may come in pieces, none of which is any.
    said = (
        turn.content.strip(bytes(BLANK_BYTES).decode()) or turn.calls or tail == HEADER + "Well, "
    )
    assert said or not turn.ended
    most = 3 if request["parallel_tool_calls"] else 1
    assert len(turn.calls) <= (0 if choice == "none" else most)
    if choice == "required" or isinstance(choice, dict):
        assert turn.calls or not turn.ended


# 2 and 6. Complete, and a round trip


@examples(150)
@given(st.data(), OBJECTS, st.sampled_from(walks.FORMS), SEEDS)
def test_a_valid_call_in_any_form_and_split_is_accepted_and_read_back(
    data: st.DataObject, schema: dict[str, Any], form: Callable[..., Any], seed: int
) -> None:
    value = data.draw(instances(schema))
    text = form(value)
    random = Random(seed)
    ids = write(V, "<|tool_calls_section_begin|><|tool_call_begin|>")
    ids += split(random.choice, V, b"functions.get:4")
    ids += write(V, "<|tool_call_argument_begin|>") + split(random.choice, V, text.encode())
    ids += write(V, "<|tool_call_end|><|tool_calls_section_end|><|im_end|>")
    tools = [tool("get", schema)]
    asked = [{"id": "x", "function": {"name": "get"}}] * 4
    matcher = served().matcher(tools, messages=[{"role": "assistant", "tool_calls": asked}])
    assert matcher.validate(ids) == len(ids), V.decode(ids)
    (found,) = served().parse(ids).calls
    assert (found.id, found.name, found.index) == ("functions.get:4", "get", 4)
    assert found.arguments == text
    assert json.loads(found.arguments) == value


# 3. Mask


@examples(25)
@given(requests(), st.sampled_from(TAILS), SEEDS)
def test_a_mask_is_what_accept_takes(request: dict[str, Any], tail: str | None, seed: int) -> None:
    matcher = served().matcher(**request, prompt_ids=prompt_ids(tail))
    random = Random(seed)
    for at in range(60):
        assert legal(matcher) == agreed(matcher, V, range(-1, V.size + 1)) != set()
        matcher.accept(step(matcher, random, hurry=0.4 + at / 100))


@given(requests(), st.sampled_from(TAILS[1:]), SEEDS, st.booleans())
def test_who_masks_a_turn_and_who_reads_it_stand_in_the_same_state(
    request: dict[str, Any], tail: str, seed: int, formatted: bool
) -> None:
    prompt, random = prompt_ids(tail), Random(seed)
    form = None
    if formatted and request["tool_choice"] in (None, "auto", "none"):
        form = {"type": "json_schema", "json_schema": {"schema": {"enum": [1, " ", [0]]}}}
    try:
        matcher = served().matcher(**request, prompt_ids=prompt, response_format=form)
    except enforcer.RequestError:
        assert formatted  # the tail has begun a text that does not fit
        return
    reader = Parser(served().table, prompt)
    assert reader.state == matcher.state
    while matcher.accepted < 80 and matcher.state != "END":
        token = step(matcher, random, hurry=0.2)
        assert matcher.accept(token)
        reader.feed([token])
        assert reader.state == matcher.state


def test_what_is_forced_may_be_split_in_any_way() -> None:
    """A text without an alternative is still many rows of ids."""
    tools = [tool("get", closed({"city": {"const": "Paris"}}, "city"))]
    matcher = served().matcher(tools, "required")
    opened = call("get", 0, '{"city": "').removesuffix("<|tool_call_end|>")
    vocabularies.feed(matcher, write(V, "<|tool_calls_section_begin|>" + opened))
    assert {b"P", b"Paris"} <= {V.token_bytes(i) for i in legal(matcher)}


# 4. Rollback


class GoingBackAndForth(RuleBasedStateMachine):
    """A matcher that goes back and forth is where one is that went straight there."""

    start_anew: Callable[[], Matcher]
    ids: list[int]

    @initialize(request=requests(), tail=st.sampled_from(TAILS))
    def start(self, request: dict[str, Any], tail: str | None) -> None:
        self.start_anew = lambda: served().matcher(**request, prompt_ids=prompt_ids(tail))
        self.matcher = self.start_anew()
        self.ids = []
        self.rows = [row_of(self.matcher)]

    @rule(seed=SEEDS, count=st.integers(1, 20))
    def forth(self, seed: int, count: int) -> None:
        random = Random(seed)
        for _ in range(count):
            self.ids.append(step(self.matcher, random, hurry=0.5))
            assert self.matcher.accept(self.ids[-1])
            self.rows.append(row_of(self.matcher))

    @rule(token_id=st.integers(-2, V.size + 2))
    def one(self, token_id: int) -> None:
        accepted = self.matcher.accept(token_id)
        assert accepted == (token_id in vocabularies.bits(self.rows[-1]))
        if accepted:
            self.ids.append(token_id)
            self.rows.append(row_of(self.matcher))

    @precondition(lambda self: self.ids)
    @rule(share=st.floats(0, 1))
    def back(self, share: float) -> None:
        count = round(share * len(self.ids))
        self.matcher.rollback(count)
        del self.ids[len(self.ids) - count :]
        del self.rows[len(self.rows) - count :]

    @rule(seed=SEEDS, drafted=st.lists(st.integers(0, V.size - 1), max_size=3))
    def draft(self, seed: int, drafted: list[int]) -> None:
        ahead = self.start_anew()
        feed(ahead, self.ids)
        good = []
        random = Random(seed)
        for _ in range(4):
            good.append(step(ahead, random, hurry=0.5))
            ahead.accept(good[-1])
        legal_too = 0
        while legal_too < len(drafted) and ahead.accept(drafted[legal_too]):
            legal_too += 1
        assert self.matcher.validate(good + drafted) == len(good) + legal_too

    @invariant()
    def the_mask_is_what_it_was_here(self) -> None:
        assert (row_of(self.matcher) == self.rows[-1]).all()
        assert self.matcher.accepted == len(self.ids)
        assert self.matcher.failure is None


TestGoingBackAndForth = GoingBackAndForth.TestCase
TestGoingBackAndForth.settings = settings(examples(25), stateful_step_count=15)


# 5. Chunks


@examples(50)
@given(requests(), st.sampled_from(TAILS), SEEDS)
def test_splits_of_a_turn_are_equal(request: dict[str, Any], tail: str | None, seed: int) -> None:
    prompt = prompt_ids(tail)
    random = Random(seed)
    ids = walk(served().matcher(**request, prompt_ids=prompt), random)
    names = [name for name in schemas(request) if random.random() < 0.7]
    whole = served().parse(ids, prompt, names)
    parser = Parser(served().table, prompt, names)
    events, at = [], 0
    while at < len(ids):
        until = at + random.randint(1, 9)
        events += parser.feed(ids[at:until])
        at = until
    assert parser.turn() == whole
    for what, text in ((Happening.CONTENT, whole.content), (Happening.REASONING, whole.reasoning)):
        assert "".join(event.text for event in events if event.what is what) == text
    ends = [event.text for event in events if event.what is Happening.CALL_END]
    assert ends == [found.arguments for found in whole.calls]


@examples(60)
@given(st.data(), st.lists(st.tuples(st.sampled_from(["get", "天气"]), OBJECTS), max_size=3))
def test_rendering_is_parsed(data: st.DataObject, wanted: list[tuple[str, dict[str, Any]]]) -> None:
    texts = [json.dumps(data.draw(instances(schema)), ensure_ascii=False) for _, schema in wanted]
    calls = [call(name, i, "\0") for i, (name, _) in enumerate(wanted)]
    ids = write(V, "<|tool_calls_section_begin|>") if wanted else []
    for spelled, text in zip(calls, texts, strict=True):
        before, after = spelled.split("\0")
        # The text may spell a marker, which `write` would take for a real one.
        ids += write(V, before) + V.encode(text) + write(V, after)
    ids += write(V, "<|tool_calls_section_end|><|im_end|>" if wanted else "<|im_end|>")
    turn = served().parse(ids)
    assert [(c.name, c.index, c.arguments) for c in turn.calls] == [
        (name, i, text) for i, ((name, _), text) in enumerate(zip(wanted, texts, strict=True))
    ]
    assert turn.ended
