"""Ids read back into reasoning, content and calls."""

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn import dialects
from enforcer.turn.events import Call, Event, Happening, Turn
from enforcer.turn.parser import Parser
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary
from tests.dialect_cases import NAMES, TOOLS, opening, served, vocabulary
from tests.properties.test_dialects import walk
from tests.support import cases
from tests.turn.known import HEADER
from tests.vocabularies import PIECES, call, section, small, write

V = small()
TABLE = Table(dialects.load("kimi_k2"), V)
WHOLE = "<think>so</think>I look." + section(call("get", 3, '{"città":"日本"}'), call("a", 4, "{}"))


def read(text: Any, prompt: str | None = None, names: set[str] | None = None) -> Turn:
    parser = Parser(TABLE, None if prompt is None else write(V, prompt), names)
    parser.feed(write(V, text) if isinstance(text, str) else text)
    return parser.turn()


def test_a_whole_turn() -> None:
    assert read(WHOLE) == Turn(
        reasoning="so",
        content="I look.",
        calls=(
            Call("functions.get:3", "get", 3, '{"città":"日本"}'),
            Call("functions.a:4", "a", 4, "{}"),
        ),
        ended=True,
        stray=None,
    )


@cases.parametrized("turn/cases/parser.toml", "reply")
def test_the_turn_goes_on_where_the_prompt_leaves_it(
    prompt: str | None, text: str, reasoning: str, content: str
) -> None:
    turn = read(text + "<|im_end|>", prompt and prompt.replace("{H}", HEADER))
    assert (turn.reasoning, turn.content, turn.stray) == (reasoning, content, None)


def test_a_call_inside_an_open_think() -> None:
    turn = read("<think>hm" + section(call("get", 0, "{}")))
    assert (turn.reasoning, turn.content, len(turn.calls)) == ("hm", "", 1)


def test_a_call_that_is_cut_off_is_none() -> None:
    ids = write(V, WHOLE)
    for until in range(len(ids)):
        turn = read(ids[:until])
        assert len(turn.calls) == ids[:until].count(V.control("<|tool_call_end|>"))
        assert not turn.ended


def test_only_declared_calls_are_kept() -> None:
    assert [found.name for found in read(WHOLE, names={"a"}).calls] == ["a"]
    assert read(WHOLE, names=set()).calls == ()


@pytest.mark.parametrize(
    "header",
    ["get:0", "functions.get", "functions.get:" + "1" * 60, "search:2", "", "functions.:0"],
)
def test_a_malformed_header_makes_no_call(header: str) -> None:
    turn = read(section(call("get", 0, "{}")).replace("functions.get:0", header))
    assert turn.calls == ()
    assert turn.ended


def test_markers_spelled_in_text_are_text() -> None:
    spelled = section(call("evil", 0, "{}"))
    ids = V.encode(spelled)
    assert V.control_ids.isdisjoint(ids)
    turn = read(ids)
    assert (turn.content, turn.calls) == (spelled, ())


@cases.parametrized("turn/cases/parser.toml", "stray")
def test_reading_stops_at_the_first_stray_id(text: str, stray: int) -> None:
    turn = read(text)
    assert turn.stray == stray
    assert turn.calls == ()
    assert turn == read(write(V, text)[: stray + 1])


@pytest.mark.parametrize(("name", "end"), [("hermes", "<|im_end|>"), ("pythonic", "<|eot_id|>")])
def test_what_stands_behind_the_end_is_stray_where_symbols_are_read(name: str, end: str) -> None:
    parser = Parser(served(name).table)
    assert not served(name).table.is_simple
    ids = write(vocabulary(name), f"ab{end}")
    parser.feed([*ids, *write(vocabulary(name), "c")])
    assert parser.turn() == Turn("", "ab", (), ended=True, stray=len(ids))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_turn_of_a_prompt_that_nobody_knows_is_read_as_it_was_masked(name: str) -> None:
    """Kimi K3's begins inside of a response there, and a whole one before it."""
    random, read = Random(5), 0
    for _ in range(12):
        matcher = served(name).matcher(TOOLS, "required")
        ids = walk(matcher, random)
        parser = Parser(served(name).table)
        for at in range(0, len(ids), 7):
            parser.feed(ids[at : at + 7])
        assert parser.turn() == served(name).parse(ids)
        assert (parser.turn().stray, parser.state) == (None, matcher.state)
        read += len(parser.turn().calls)
        assert parser.turn().calls or not parser.ended
    assert read


def test_a_whole_turn_of_kimi_k3_is_read_without_its_prompt() -> None:
    [*_, example] = dialects.load("kimi_k3").examples
    for text, stray in ((example["text"], None), ("<|close|>" + example["text"], 1)):
        turn = served("kimi_k3").parse(write(vocabulary("kimi_k3"), text))
        assert turn.stray == stray
        assert turn.reasoning == ("" if stray else example["reasoning"])
    # What is known to begin a turn does.
    behind = write(vocabulary("kimi_k3"), "Hm.")
    assert served("kimi_k3").parse(behind).stray is None
    assert served("kimi_k3").parse(behind, opening("kimi_k3")).stray == 0


@pytest.mark.parametrize("token_id", [-1, V.size, 10**9])
def test_ids_outside_the_vocabulary_are_stray(token_id: int) -> None:
    assert read([97, token_id, 98]) == Turn("", "a", (), ended=False, stray=1)


def test_broken_characters_become_the_replacement_character() -> None:
    end = V.control("<|im_end|>")
    assert read([0xE6, 0x97, end]).content == "\ufffd"
    assert read([0xFF, 97, end]).content == "\ufffda"


def test_events_come_as_ids_are_read() -> None:
    parser = Parser(TABLE)
    events = [event for token_id in write(V, WHOLE) for event in parser.feed([token_id])]
    assert Event(Happening.CALL, "functions.get:3", "get") in events
    assert Event(Happening.CALL_END, '{"città":"日本"}') in events
    pieces = [event.text for event in events if event.what is Happening.ARGUMENTS]
    assert len(pieces) > 3
    assert "".join(pieces) == '{"città":"日本"}{}'


def test_an_undeclared_call_brings_no_event() -> None:
    events = Parser(TABLE, names={"a"}).feed(write(V, WHOLE))
    assert [event.name for event in events if event.what is Happening.CALL] == ["a"]
    assert all("città" not in event.text for event in events)


def test_a_call_begun_by_the_prompt() -> None:
    prompt = HEADER + "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0"
    rest = "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>"
    assert [found.id for found in read(rest, prompt).calls] == ["functions.get:0"]
    # Without its whole arguments it is no call of this reply.
    assert read("}" + rest[rest.index("<|tool_call_end|>") :], prompt + rest[:29]).calls == ()


def test_the_section_is_open_until_its_end() -> None:
    parser = Parser(TABLE)
    seen = []
    for token_id in write(V, "a" + section(call("a", 0, "{}"))):
        seen.append(parser.in_calls)
        parser.feed([token_id])
    inside = seen.index(True)
    assert seen == [False] * inside + [True] * (len(seen) - inside - 1) + [False]
    assert not parser.in_calls


def test_ids_of_reasoning_are_counted() -> None:
    parser = Parser(TABLE)
    parser.feed(write(V, "<think>abc</think>de<|im_end|>"))
    assert parser.reasoning_ids == 3


def test_so_are_those_that_may_begin_a_marker() -> None:
    table = served("qwen3_coder").table
    parser = Parser(table)
    parser.feed([table.vocabulary.control("<think>")])
    for count, byte in enumerate(b"a<b</c", 1):
        parser.feed(table.vocabulary.pieces(bytes([byte])))
        assert parser.reasoning_ids == count
    parser.feed([table.vocabulary.control("</think>"), *table.vocabulary.pieces(b"d")])
    assert parser.reasoning_ids == count


def test_those_that_end_it_are_none() -> None:
    """In Kimi K3's format they are several, of which all but the last may yet be no end."""
    table = served("kimi_k3").table
    opens, closes, ends = map(table.vocabulary.control, ("<|open|>", "<|close|>", "<|sep|>"))
    think = table.vocabulary.pieces(b"think")
    parser = Parser(table)
    for token_id in (opens, *think, ends, *table.vocabulary.pieces(b"ab"), closes, *think, ends):
        parser.feed([token_id])
    assert (parser.reasoning_ids, parser.state) == (2, "THOUGHT")
    assert parser.another().reasoning_ids == 0


PIECE = {Happening.REASONING, Happening.CONTENT, Happening.ARGUMENTS}


def merge(events: list[Event]) -> list[Event]:
    """Join the pieces of one kind that follow one another."""
    merged: list[Event] = []
    for event in events:
        if merged and merged[-1].what is event.what and event.what in PIECE:
            merged[-1] = Event(event.what, merged[-1].text + event.text)
        else:
            merged.append(event)
    return merged


IDS = st.lists(
    st.one_of(
        st.sampled_from(sorted(V.control_ids)),
        st.integers(0, 255 + len(PIECES)),
        st.sampled_from(write(V, WHOLE)),
    ),
    max_size=60,
)


@given(st.one_of(IDS, st.just(write(V, WHOLE))), st.lists(st.integers(0, 60)))
def test_any_chunking_brings_the_same(ids: list[int], cuts: list[int]) -> None:
    whole = Parser(TABLE)
    expected = merge(whole.feed(ids))
    parser, events = Parser(TABLE), []
    edges = sorted({0, len(ids), *(cut for cut in cuts if cut < len(ids))})
    for start, end in pairwise(edges):
        events += parser.feed(ids[start:end])
    assert merge(events) == expected
    assert parser.turn() == whole.turn()


@pytest.mark.parametrize("name", NAMES)
def test_text_is_read_at_once_as_it_is_id_by_id(name: str) -> None:
    table = served(name).table
    names = ["<|im_end|>", "<think>", "</think>", *sorted(table.vocabulary.controls)[:3]]
    controls = [
        table.vocabulary.controls[each] for each in names if each in table.vocabulary.controls
    ]
    text = [*table.vocabulary.pieces("so 日本 < [ \n".encode()), *table.vocabulary.pieces(b"it is")]
    ids = text * 20
    for control in controls:
        ids += [*text * 17, control, *text * 30]
    for begun in (ids, ids[: len(text) * 20]):
        whole, single = Parser(table), Parser(table)
        events = [event for token_id in begun for event in single.feed([token_id])]
        assert merge(whole.feed(begun)) == merge(events)
        assert (whole.turn(), whole.state) == (single.turn(), single.state)
        assert (whole.read, whole.reasoning_ids) == (single.read, single.reasoning_ids)


@pytest.mark.parametrize("name", ["kimi_k2", "hermes"])
def test_text_takes_a_few_steps(name: str, calls_of: Callable[..., list[Any]]) -> None:
    table = served(name).table
    steps = calls_of(Parser, "_step")
    parser = Parser(table, [*opening(name), *write(table.vocabulary, "so it is " * 1000)])
    another = parser.another()
    another.feed(write(table.vocabulary, "and so on " * 1000))
    assert len(steps) < 200
    assert another.turn().content == "and so on " * 1000
    assert parser.turn().content == ""


def test_another_reply_goes_on_inside_a_character() -> None:
    parser = Parser(TABLE, write(V, HEADER + "日")[:-1])
    for _ in range(2):
        another = parser.another()
        another.feed(write(V, "日")[-1:])
        assert another.turn().content == "日"


@given(IDS)
def test_events_and_turn_say_the_same(ids: list[int]) -> None:
    parser = Parser(TABLE)
    events = parser.feed(ids)
    turn = parser.turn()

    def said(what: Happening) -> str:
        return "".join(event.text for event in events if event.what is what)

    assert said(Happening.CONTENT) == turn.content
    assert said(Happening.REASONING) == turn.reasoning
    assert [e.text for e in events if e.what is Happening.CALL_END] == [
        found.arguments for found in turn.calls
    ]


@given(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=20),
    st.lists(st.tuples(st.sampled_from(["get", "a/b-c.d_e", "天气"]), st.text(max_size=10))),
    st.integers(0, 10**6),
)
def test_written_turns_are_read(content: str, calls: list[tuple[str, str]], first: int) -> None:
    ids = V.encode(content)
    if calls:
        ids.append(V.control("<|tool_calls_section_begin|>"))
        for index, (name, text) in enumerate(calls, first):
            ids += write(V, call(name, index, ""))[:-1]
            ids += [*V.encode(text), V.control("<|tool_call_end|>")]
        ids.append(V.control("<|tool_calls_section_end|>"))
    ids.append(V.control("<|im_end|>"))
    turn = read(ids)
    assert (turn.content, turn.stray, turn.ended) == (content, None, True)
    assert [(found.name, found.index, found.arguments) for found in turn.calls] == [
        (name, index, text.lstrip(" \t\r\n"))  # white space before arguments is the header's
        for index, (name, text) in enumerate(calls, first)
    ]


@pytest.mark.parametrize("text", ["x", "x ", " x"])
def test_text_of_the_reply_closes_the_way_into_a_think(text: str) -> None:
    """After a word the turn is in its content, where a think can no longer begin."""
    turn = read(f"{text}<think>hm")
    assert (turn.content, turn.reasoning) == (text, "")
    assert turn.stray == len(text)


K3_CALL = (
    '<|open|>tools<|sep|><|open|>call tool="get" index="1"<|sep|>'
    '<|open|>argument key="a" type="number"<|sep|>x<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("pythonic", "[get(a=1 2)]<|eot_id|>"), ("pythonic", "[get(f(x))]<|eot_id|>")),
        ("kimi_k3", K3_CALL),
    ],
)
def test_arguments_that_are_none_of_the_formats_make_no_call(name: str, text: str) -> None:
    reader = Parser(served(name).table, None, ["get"])
    events = reader.feed(write(vocabulary(name), text))
    assert reader.turn().calls == ()
    assert (reader.dropped, reader.dropped_name) == (1, "get")
    assert Happening.CALL_END not in {event.what for event in events}
    assert reader.ended


def test_arguments_of_a_call_that_is_dropped_are_not_those_of_the_one_before() -> None:
    text = section(call("get", 0, '{"a":1}'), call("evil", 1, '{"b":2}'))
    reader = Parser(TABLE, None, {"get"})
    reader.feed(write(V, text))
    assert [(each.name, each.arguments) for each in reader.turn().calls] == [("get", '{"a":1}')]
    assert (reader.dropped, reader.dropped_name) == (1, "evil")


def test_a_control_token_within_arguments_may_be_the_first_of_the_vocabulary() -> None:
    dialect = dialects.load("kimi_k3")
    first = "<|open|>"
    controls = {name: at for at, name in enumerate(dict.fromkeys((first, *dialect.controls)))}
    tokens = [*(name.encode() for name in controls), *(bytes([byte]) for byte in range(256))]
    found = Vocabulary(tokens, controls)
    assert found.control(first) == 0
    reader = Parser(Table(dialect, found), None, ["get"])
    reader.feed(write(found, K3_CALL.replace(">x<", ">5<")))
    assert [each.arguments for each in reader.turn().calls] == ['{"a": 5}']


def test_two_replies_are_decoded_apart() -> None:
    first = Parser(TABLE, write(V, HEADER))
    second = first.another()
    one, other = write(V, "龘"), write(V, "é")
    assert len(one) > 1
    first.feed(one[:-1])
    second.feed(other)
    first.feed(one[-1:])
    assert (first.turn().content, second.turn().content) == ("龘", "é")
