"""Whose turn it is, without threads."""

from __future__ import annotations

import pytest

from enforcer.checking.line import Job, Line, MadeWay
from enforcer.errors import Busy


def line(*, looks: int = 1, slow: int = 1, most: int = 100, jobs: int = 0) -> Line:
    made = Line(looks, slow, most)
    for number in range(jobs):
        made.add(number, b"")
    return made


def begun(made: Line, jobs: int) -> list[object]:
    """Begin some one after the other, each once the one before has ended."""
    keys = []
    for _ in range(jobs):
        job = made.begin()
        keys.append(job.key)
        made.end(job)
    return keys


def make_way(made: Line) -> Job:
    """Begin one whose first look makes way."""
    job = made.begin()
    job.waiting, job.glanced = 1, True
    made.put_back(job)
    return job


def test_looks_are_in_the_order_of_coming_and_no_more_at_a_time_than_there_may_be() -> None:
    made = line(looks=2, jobs=3)
    first, second = made.begin(), made.begin()
    assert (first.key, second.key) == (0, 1)
    assert not made.may_begin
    made.end(first)
    assert made.begin().key == 2


def test_one_that_has_made_way_is_behind_all_new_ones_but_for_an_eighth() -> None:
    made = line(jobs=20)
    glanced = make_way(made)
    keys = begun(made, 19)
    assert keys.index(glanced.key) == 6  # the eighth look of all
    assert [key for key in keys if key != glanced.key] == list(range(1, 19))


def test_slow_ones_have_room_for_some_and_the_others_wait_behind_looks() -> None:
    made = line(looks=3, jobs=4)
    slow, late, _ = (made.begin() for _ in range(3))
    late.waiting = 1
    made.make_room(slow)
    with pytest.raises(MadeWay):
        made.make_room(late)
    made.put_back(late)
    assert made.begin().key == 3
    assert not made.may_begin
    made.end(slow)
    assert made.begin() is late
    assert made.slow == {late}


def test_more_than_may_wait_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    made = line(most=2, jobs=2)
    with pytest.raises(Busy):
        made.add("another", b"")
    made.begin()
    made.add("another", b"")
    monkeypatch.setattr("enforcer.checking.line._QUEUED", 10)
    with pytest.raises(Busy):
        line().add("large", bytes(11))


def test_one_that_nobody_waits_for_is_gone_whether_it_waits_or_has_made_way() -> None:
    made = line(jobs=2)
    job = made.begin()
    made.put_back(job)  # nobody waits for it
    made.leave(made.jobs[1])
    assert made.is_empty
    assert not made.jobs
