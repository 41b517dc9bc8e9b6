"""What is remembered beside an object, and for how long."""

import gc

from enforcer.vllm.server.side_table import SideTable


class Equal:
    """As vLLM's requests: equal to others, and without a hash."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


def test_each_object_has_its_own_value_for_as_long_as_it_lives() -> None:
    known: SideTable[int] = SideTable()
    first, second = Equal(), Equal()
    known.put(first, 1)
    assert (known.get(first), known.get(second)) == (1, None)
    known.put(second, 2)
    known.put(first, 3)
    assert (known.get(first), known.get(second)) == (3, 2)
    del first
    gc.collect()
    assert len(known._known) == 1
    assert known.get(second) == 2


def test_an_object_in_the_place_of_one_that_went_is_another() -> None:
    known: SideTable[int] = SideTable()
    for number in range(100):  # CPython gives the same place again
        one = Equal()
        assert known.get(one) is None
        known.put(one, number)
        assert known.get(one) == number
        del one
    assert len(known._known) == 0
