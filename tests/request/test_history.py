"""The calls that a dialog already has: counted, and their ids put into Kimi's form."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidTools
from enforcer.request import history
from enforcer.request.history import PastCall
from enforcer.turn import dialects
from tests.support.cases import each_case

KIMI = dialects.load("kimi_k2")


def kimi(call: PastCall) -> str | None:
    return call.name and KIMI.header_text(call.name, call.index)


def asks(*calls: tuple[object, str | None]) -> dict[str, Any]:
    listed = [{"id": i, "type": "function", "function": {"name": n}} for i, n in calls]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def answers(call_id: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "21 °C"}


USER = {"role": "user", "content": "And now?"}


def normalise(*messages: dict[str, Any]) -> list[str | None]:
    """Give the ids of calls and results in order."""
    ids = []
    for message in history.normalise(list(messages), kimi):
        ids += [call["id"] for call in message.get("tool_calls") or ()]
        if "tool_call_id" in message:
            ids.append(message["tool_call_id"])
    return ids


@each_case
def test_calls_are_counted(messages: Any, count: Any) -> None:
    assert history.count_calls(messages) == count


def test_messages_and_calls_may_be_any_sequence() -> None:
    assert history.count_calls((USER,)) == 0
    calls = iter([{"id": "x"}, {"id": "y"}])
    assert history.count_calls([{"role": "assistant", "tool_calls": calls}]) == 2


@each_case
def test_what_is_no_dialog(messages: Any, path: str) -> None:
    for read in (history.count_calls, lambda value: history.normalise(value, kimi)):
        with pytest.raises(InvalidTools) as caught:
            read(messages)
        assert caught.value.path == path


@pytest.mark.parametrize("messages", [b"", iter([USER])])
def test_what_is_no_list_of_messages(messages: Any) -> None:
    test_what_is_no_dialog(messages, "$.messages")


def test_ids_continue_across_messages_and_results_follow() -> None:
    assert normalise(
        asks(("search:2", "search"), ("call_abc", "get")),
        *(answers("call_abc"), answers("search:2"), USER),
        asks(("functions_Read_0", "Read")),
        answers("functions_Read_0"),
    ) == [
        *("functions.search:0", "functions.get:1", "functions.get:1", "functions.search:0"),
        *("functions.Read:2", "functions.Read:2"),
    ]


def test_ids_that_are_right_stay() -> None:
    ids = ["functions.a:0", "functions.b:1"]
    assert normalise(asks((ids[0], "a"), (ids[1], "b")), *map(answers, ids)) == ids * 2


def test_repeated_ids_are_told_apart_by_order() -> None:
    assert normalise(asks(("x", "a"), ("x", "b")), answers("x"), answers("x")) == [
        *("functions.a:0", "functions.b:1") * 2,
    ]
    # The same id in two turns: a result answers the nearest one before it.
    assert normalise(asks(("x", "a")), answers("x"), asks(("x", "a")), answers("x")) == [
        *("functions.a:0", "functions.a:0", "functions.a:1", "functions.a:1"),
    ]


def test_missing_ids_are_matched_by_order() -> None:
    assert normalise(asks((None, "a"), (None, "b")), answers(None), answers("")) == [
        *("functions.a:0", "functions.b:1") * 2,
    ]


def test_a_call_without_a_name_keeps_its_id() -> None:
    assert normalise(asks(("x", None), (None, ""), ("y", "a")), answers("x"), answers("y")) == [
        *("x", None, "functions.a:2"),
        *("x", "functions.a:2"),
    ]


def test_a_result_that_answers_nothing_keeps_its_id() -> None:
    assert normalise(answers("before"), asks(("x", "a")), answers("other"), answers("x")) == [
        *("before", "functions.a:0", "other", "functions.a:0"),
    ]


def test_a_second_result_of_a_call_follows_it_too() -> None:
    asked = asks(("x", "a"), ("x", "b"), ("y", "c"))
    given = (USER, asked, answers("x"), answers("x"), answers("y"), answers("y"), answers("x"))
    calls = ["functions.a:0", "functions.b:1", "functions.c:2"]
    assert normalise(*given) == [*calls, *calls, "functions.c:2", "functions.b:1"]
    later = normalise(*given, asks(("z", "a")), answers("y"), answers(""))
    assert later[8:] == ["functions.a:3", "y", "functions.a:3"]


def test_of_three_calls_with_one_id_the_last_answered_comes_first() -> None:
    asked = asks(("x", "a"), ("x", "b"), ("x", "c"))
    calls = ["functions.a:0", "functions.b:1", "functions.c:2"]
    assert normalise(asked, *[answers("x")] * 4) == [*calls, *calls, "functions.c:2"]


class Compared(str):
    """An id that counts how often such ids are looked at."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Compared.looks += 1
        return str.__eq__(self, str(other))

    def __hash__(self) -> int:
        Compared.looks += 1
        return str.__hash__(self)


@pytest.mark.parametrize("given", ["reverse", "unknown{at}", "", "c0"])
def test_results_are_matched_in_a_few_looks_each(given: str) -> None:
    count = 400
    asked = asks(*((Compared(f"c{at}"), "a") for at in range(count)))
    ids = [
        f"c{count - 1 - at}" if given == "reverse" else given.format(at=at) for at in range(count)
    ]
    results = [answers(Compared(each)) for each in ids]
    Compared.looks = 0
    normalise(asked, *results, *results)
    assert Compared.looks < 20 * count


ANY_ID = st.sampled_from(["x", "y", "z", "", None, 0, [1], {"x": [1]}])


RESULTS = ANY_ID.filter(lambda each: not isinstance(each, list))


@given(st.lists(st.lists(ANY_ID, max_size=6) | RESULTS, max_size=24))
def test_results_are_matched_as_one_by_one(dialog: list[object]) -> None:
    """A list stands for a message with calls of these ids, anything else for a result."""
    messages = [
        asks(*((each, "a") for each in one)) if isinstance(one, list) else answers(one)
        for one in dialog
    ]
    assert history.normalise(messages, kimi) == one_by_one(messages)


def one_by_one(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Match results by looking through all calls for each of them."""
    out, count = [], 0
    pending: list[tuple[object, str]] = []
    answered: list[tuple[object, str]] = []
    for message in copy.deepcopy(messages):
        if message.get("tool_calls"):
            pending, answered = [], []
            for call in message["tool_calls"]:
                new = KIMI.header_text(call["function"]["name"], count)
                pending.append((text_of(call["id"]), new))
                call["id"], count = new, count + 1
        elif "tool_call_id" in message:
            old = text_of(message["tool_call_id"])
            same = [pair for pair in pending if pair[0] == old]
            match = next(iter(same or ([] if old else pending)), None)
            if match is not None:
                pending.remove(match)
                answered.insert(0, match)
            elif old:
                match = next((pair for pair in answered if pair[0] == old), None)
            if match is not None:
                message["tool_call_id"] = match[1]
        out.append(message)
    return out


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def test_the_given_dialog_is_left_alone() -> None:
    messages = [USER, asks(("x", "a")), answers("x")]
    before = copy.deepcopy(messages)
    changed = history.normalise(messages, kimi)
    assert messages == before
    assert changed[0] == USER
    assert changed[1]["tool_calls"][0]["function"] == {"name": "a"}
    assert changed[2]["content"] == "21 °C"


CALLS = st.tuples(st.sampled_from(["x", "y", "functions.a:7", None]), st.sampled_from(["a", "b"]))


@given(st.lists(st.lists(CALLS, max_size=3), max_size=4))
def test_all_ids_become_the_dialogs_counter_and_stay_so(turns: Any) -> None:
    messages = []
    for calls in turns:
        messages += [USER, asks(*calls), *(answers(call_id) for call_id, _ in calls)]
    once = history.normalise(messages, kimi)
    ids = [call["id"] for message in once for call in message.get("tool_calls") or ()]
    names = [name for calls in turns for _, name in calls]
    assert ids == [KIMI.header_text(name, at) for at, name in enumerate(names)]
    results = [message["tool_call_id"] for message in once if message["role"] == "tool"]
    assert sorted(results) == sorted(ids)
    assert history.normalise(once, kimi) == once
    assert history.count_calls(once) == len(ids)
