"""One budget in bytes, whoever asks and however many at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.cache import Cache
from enforcer.errors import EngineFailure, RequestError


def _given(weight: int, _: object) -> int:
    return weight


def plain(value: Any) -> Callable[..., Any]:
    return lambda: value


@given(
    st.integers(0, 20_000),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9_000)), max_size=80),
)
def test_the_weight_of_entries_is_within_budget(budget: int, asked: list[tuple[int, int]]) -> None:
    cache = Cache(budget)
    for key, size in asked:
        weight = size if key % 2 else key * 100
        assert cache.get(key, plain(key), partial(_given, weight)) == key
        assert cache.weight <= budget
        assert cache.weight == sum(entry.weight for entry in cache._entries.values())


def test_the_least_recently_used_goes_first() -> None:
    cache = Cache(3_500)
    for key in "abc":
        cache.get(key, plain(key), lambda _: 600)
    cache.get("a", plain("made again"), lambda _: 600)
    cache.get("d", plain("d"), lambda _: 600)
    assert [cache.peek(key) for key in "abcd"] == ["a", None, "c", "d"]


def test_a_value_that_grows_pushes_others_out() -> None:
    cache = Cache(10_000)
    grown = [100]
    cache.get("other", plain(1), lambda _: 1_000)
    cache.get("grows", plain(grown), lambda value: value[0])
    grown[0] = 9_000
    assert cache.peek("grows") is grown
    assert cache.peek("other") is None
    assert cache.weight <= 10_000


class Counted:
    """What some values have beside their weight."""

    bytes = most = 0


def test_what_is_counted_beside_the_weights_pushes_values_out() -> None:
    cache, counted = Cache(8_000), Counted()
    cache.count(counted)
    for key in "abc":
        cache.get(key, plain(key), lambda _: 600)
    counted.bytes = 6_500
    assert cache.weight == 9_500
    assert cache.peek("c") == "c"  # what is asked for is the last to go
    assert [cache.peek(key) for key in "abc"] == [None, None, "c"]
    assert cache.weight == 7_500
    assert counted.most == 8_000 + 1_000 - 1_000
    counted.bytes = 20_000  # of values that are in use
    assert cache.get("d", plain("d"), lambda _: 600) == "d"
    assert len(cache) == 0
    counted.bytes = 0
    assert cache.weight == 0


def test_what_is_heavier_than_the_budget_is_given_and_not_kept() -> None:
    cache = Cache(1_000)
    cache.get("small", plain(1), lambda _: 100)
    assert cache.get("large", plain(2), lambda _: 5_000) == 2
    assert cache.peek("large") is None
    assert cache.peek("small") == 1


def test_who_asks_while_it_is_made_waits_for_the_one_who_makes() -> None:
    cache, made, begun = Cache(10_000), [], threading.Barrier(8)

    def make() -> str:
        made.append(1)
        threading.Event().wait(0.05)
        return "value"

    def ask(_: int) -> str:
        begun.wait()
        return cache.get("key", make, lambda _: 10)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == ["value"] * 8
    assert made == [1]


def _asked_by_two(cache: Cache, error: Any) -> list[Any]:
    """Have two ask at once for what fails the first time; give what became of each."""
    begun, made = threading.Barrier(2), []

    def make() -> str:
        made.append(1)
        if len(made) > 1:
            return "value"
        threading.Event().wait(0.2)
        raise error

    def ask() -> str:
        begun.wait()
        return cache.get("key", make, lambda _: 1)

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask) for _ in range(2)]
        return [each.exception() or each.result() for each in asked]


def test_what_is_wrong_with_the_key_is_told_to_everyone_who_waits() -> None:
    cache, error = Cache(10_000), RequestError("$.tools", "no")
    assert _asked_by_two(cache, error) == [error, error]
    assert cache.get("key", plain("value"), lambda _: 1) == "value"


@pytest.mark.slow
@pytest.mark.parametrize("error", [ValueError("no"), EngineFailure("no"), BaseException("panic")])
def test_an_error_is_not_told_to_others(error: BaseException | ValueError | EngineFailure) -> None:
    assert set(_asked_by_two(Cache(10_000), error)) == {error, "value"}


def test_a_failure_is_nobodys_afterwards() -> None:
    cache = Cache(10_000)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("key", fail, lambda _: 1)
    assert cache.get("key", plain("value"), lambda _: 1) == "value"
