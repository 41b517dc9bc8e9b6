"""The ids of calls, of each kind."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from enforcer.turn import dialects
from enforcer.turn.dialect import Ids
from enforcer.vllm.intake import dialogs

KIMI = dialects.load("kimi_k2")
GOOD = "aB3dE6gH9"


def _asks(*calls: tuple[str | None, str]) -> dict[str, Any]:
    listed = [{"id": i, "type": "function", "function": {"name": n}} for i, n in calls]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def _answers(call_id: str | None) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "21 °C"}


DIALOG = [
    {"role": "user", "content": "Hi."},
    _asks(("x", "a"), (GOOD, "b"), (None, "a")),
    _answers(GOOD),
    _answers("x"),
    _answers(None),
    _asks(("x", "a")),
    _answers("x"),
]


def _ids(kind: Ids) -> list[str | None]:
    """Give the ids of a dialog's calls and results in order."""
    before = copy.deepcopy(DIALOG)
    found = []
    for message in dialogs.normalised_ids(DIALOG, replace(KIMI, ids=kind)):
        found += [call["id"] for call in message.get("tool_calls", ())]
        found += [message["tool_call_id"]] if "tool_call_id" in message else []
    assert before == DIALOG
    return found


def test_what_the_model_writes_counts_over_the_dialog() -> None:
    one, two, three, four = (f"functions.{n}:{at}" for at, n in enumerate("abaa"))
    assert _ids(Ids.WRITTEN) == [one, two, three, two, one, three, four, four]


def test_ids_that_are_not_rendered_tell_a_renderer_which_call_a_result_is_of() -> None:
    assert _ids(Ids.MESSAGE) == ["a:0", "b:1", "a:2", "b:1", "a:0", "a:2", "a:0", "a:0"]


def test_templates_that_take_any_id_get_the_clients_own() -> None:
    assert _ids(Ids.RANDOM) == ["x", GOOD, None, GOOD, "x", None, "x", "x"]


def test_templates_that_demand_nine_letters_and_digits_get_them_each_time_the_same() -> None:
    ids = _ids(Ids.RANDOM9)
    one, two, three, four = (*ids[:3], ids[6])
    assert ids == [one, two, three, two, one, three, four, four]
    assert two == GOOD
    assert len({one, two, three, four}) == 4
    assert all(len(i) == 9 and i.isascii() and i.isalnum() for i in ids)
    assert _ids(Ids.RANDOM9) == ids


@pytest.mark.parametrize("kind", list(Ids))
def test_an_invented_id_is_not_given_twice(kind: Ids) -> None:
    ids = {dialogs.new_call_id(kind) for _ in range(1000)}
    assert len(ids) == 1000


def test_what_is_invented_needs_no_change_in_the_next_request() -> None:
    invented = dialogs.new_call_id(Ids.RANDOM9)
    dialog = [_asks((invented, "a")), _answers(invented)]
    assert dialogs.normalised_ids(dialog, replace(KIMI, ids=Ids.RANDOM9)) == dialog
