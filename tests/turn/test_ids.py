"""Ids come in lists, arrays and tensors, and are whole numbers behind the door."""

from typing import Any

import numpy as np
import pytest

from enforcer.errors import ConfigurationError
from enforcer.turn.ids import whole, whole_at_ends


class Odd:
    """What equals a number and has a hash of its own, as a tensor has."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self.number == other

    def __hash__(self) -> int:
        return id(self)


FORMS: list[Any] = [
    *([3, 1], (3, 1), np.array([3, 1]), [np.int64(3), np.uint8(1)]),
    *([Odd(3), Odd(1)], [3, Odd(1)], [Odd(3), 1]),
]
WRONGS: list[Any] = [
    *(["3"], "31", [None], [1.0], np.array([1.5]), np.array([[3, 1]]), 5, None, [[3]]),
]


@pytest.mark.parametrize("ids", FORMS, ids=range(len(FORMS)))
def test_every_form_gives_whole_numbers(ids: Any) -> None:
    for read in (whole, whole_at_ends):
        found = read(ids, "ids")
        assert list(found) == [3, 1]
        assert {type(each) for each in found} == {int}


def test_what_gives_them_one_by_one_will_do() -> None:
    assert whole(iter([3, 1]), "ids") == (3, 1)
    assert whole((), "ids") == ()
    assert whole_at_ends([], "ids") == []


@pytest.mark.parametrize("ids", WRONGS, ids=range(len(WRONGS)))
def test_others_are_refused(ids: Any) -> None:
    for read in (whole, whole_at_ends):
        with pytest.raises(ConfigurationError, match=r"^prompt_ids must be ids, whole numbers"):
            read(ids, "prompt_ids")


def test_a_long_list_is_not_read() -> None:
    ids: list[Any] = [1, "what nobody looks at", 3]
    assert whole_at_ends(ids, "ids") is ids


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    ids = torch.tensor([3, 1])
    assert whole(ids, "ids") == whole(list(ids), "ids") == (3, 1)
    assert whole_at_ends(ids, "ids") == whole_at_ends([*ids], "ids") == (3, 1)
    for wrong in (torch.tensor([[3, 1]]), torch.tensor([1.5]), torch.tensor(3)):
        with pytest.raises(ConfigurationError):
            whole(wrong, "ids")
