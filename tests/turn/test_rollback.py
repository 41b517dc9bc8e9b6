"""The ways back of a matcher: ids taken back, drafts tried, and how far both can reach."""

import gc
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from tests.turn.known import HEADER, OPENED, THOUGHT, V, at, matcher
from tests.vocabularies import call, feed, row_of, section, write


def test_rollback_crosses_every_segment() -> None:
    calls = call("get", 0, '{"a": 1}'), call("get", 1, "{}")
    ids = write(V, "<think>hm</think>I look." + section(*calls))
    prompt = write(V, HEADER)
    masks = []
    found = matcher(prompt_ids=prompt)
    for token_id in ids:
        masks.append(row_of(found))
        feed(found, [token_id])
    last = row_of(found)
    for back in range(len(ids) + 1):
        found.rollback(back)
        assert found.accepted == len(ids) - back
        if back:
            assert (row_of(found) == masks[len(ids) - back]).all()
        feed(found, ids[len(ids) - back :])
        assert (row_of(found) == last).all()


@pytest.mark.parametrize("count", [-1, 4, 1000])
def test_no_way_back_beyond_the_start(count: int) -> None:
    found = at("abc")
    with pytest.raises(ConfigurationError, match="roll back"):
        found.rollback(count)
    assert found.accepted == 3


def test_the_prompt_is_not_taken_back() -> None:
    found = matcher(prompt_ids=write(V, HEADER + "<think>abc"))
    with pytest.raises(ConfigurationError):
        found.rollback(1)


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_no_way_back_beyond_what_is_kept(kept: int) -> None:
    ids = write(V, "<think>hm</think>I look." + section(call("get", 0, '{"a": 1}')))
    found = matcher(prompt_ids=write(V, HEADER), rollback=kept)
    masks: list[Any] = []
    for count, token_id in enumerate(ids):
        assert found.accepted == count
        with pytest.raises(ConfigurationError, match="roll back"):
            found.rollback(min(kept, count) + 1)
        for back in range(min(kept, count) + 1):
            found.rollback(back)
            assert not back or (row_of(found) == masks[count - back]).all()
            feed(found, ids[count - back : count])
        masks.append(row_of(found))
        feed(found, [token_id])


def test_drafts_may_be_longer_than_what_is_kept() -> None:
    ids = write(V, "I look." + section(call("get", 0, '{"a": 1}')))
    found = matcher(rollback=2)
    feed(found, ids[:3])
    assert found.validate(ids[3:]) == len(ids) - 3
    assert found.accepted == 3
    found.rollback(2)
    feed(found, ids[1:])


@pytest.mark.slow
@pytest.mark.parametrize("kept", [4, None])
def test_a_long_text_leaves_nothing_for_the_garbage_collector(kept: int | None) -> None:
    found = matcher({"get": [b"x" * 5000]}, prompt_ids=write(V, HEADER + "<think>"), rollback=kept)
    feed(found, [ord("x")] * 10)
    gc.collect()
    before = len(gc.get_objects())
    feed(found, [ord("x")] * 2000)
    assert len(gc.get_objects()) - before < 20
    feed(found, [THOUGHT, *write(V, OPENED), *[ord("x")] * 10])
    gc.collect()
    before = len(gc.get_objects())
    feed(found, [ord("x")] * 2000)
    # The toy engine itself keeps a list, of bytes.
    assert len(gc.get_objects()) - before < 20


def test_validate_counts_and_leaves_no_trace() -> None:
    ids = write(V, "I look." + section(call("get", 0, "{}"), call("get", 1, '{"a": 12}')))
    found = matcher()
    for start in range(len(ids)):
        before = row_of(found)
        assert found.validate(ids[start:]) == len(ids) - start
        assert found.validate([*ids[start : start + 3], -1]) == min(3, len(ids) - start)
        assert found.validate([]) == 0
        assert (row_of(found) == before).all()
        assert found.accepted == start
        feed(found, [ids[start]])
