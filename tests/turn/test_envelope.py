"""What a request makes of the table of states."""

from typing import Any

import pytest

from enforcer.turn import dialects
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.lexer import Opening
from enforcer.turn.table import Table
from tests import toys
from tests.vocabularies import small

V = small()
KIMI = dialects.load("kimi_k2")
TABLE = Table(KIMI, V)


@pytest.mark.parametrize(
    ("calls", "text", "expected"),
    [
        (0, 0, Opening(call=True, finish=False, text=True, empty=False)),
        (0, 4, Opening(call=True, finish=False, text=True, empty=False)),
        (0, 5, Opening(call=True, finish=False, text=False, empty=False, blank=True)),
        (0, 8, Opening(call=True, finish=False, text=False, empty=False)),
        (1, 5, Opening(call=True, finish=True, text=True, empty=False)),
        (2, 0, Opening(call=False, finish=True, text=True, empty=False)),
    ],
)
def test_what_is_open_where_a_call_is_demanded(calls: int, text: int, expected: Opening) -> None:
    envelope = Envelope(TABLE, ("a",), due=Due.CALL, most=2, first=0, preamble=5)
    assert envelope.opening(calls, text) == expected


def test_without_names_no_call_is_open() -> None:
    envelope = Envelope(TABLE, (), due=Due.WORD, most=9, first=0, preamble=5)
    assert envelope.opening(0, 10**6) == Opening(call=False, finish=True, text=True, empty=False)


@pytest.mark.parametrize("due", Due)
def test_a_format_of_text_alone_says_whether_a_turn_may_end_without_a_word(due: Due) -> None:
    def empty(*, formatted: bool, fits: bool) -> bool:
        start = (lambda: toys.Listed(V, [b""])) if formatted else None
        found = Envelope(TABLE, (), due=due, most=0, first=0, preamble=5, text_format=start)
        return found.opening(0, 0, fits=fits).empty

    assert empty(formatted=True, fits=True)
    assert not empty(formatted=True, fits=False)
    for fits in (False, True):
        assert empty(formatted=False, fits=fits) == (due is Due.NOTHING)


def test_header_tries_are_shared_and_do_not_pile_up() -> None:
    envelope = Envelope(TABLE, ("a", "b"), due=Due.WORD, most=9, first=3, preamble=5)
    again = Envelope(TABLE, ("a", "b"), due=Due.CALL, most=9, first=4, preamble=5)
    assert envelope.headers(1) is again.headers(0)
    assert envelope.headers(1) is not envelope.headers(0)
    for index in range(2000):
        envelope.headers(index)
    assert TABLE.tries.weight < 2000 * envelope.headers(0).weight


def test_what_is_kept_of_many_tools_is_weighed_and_not_counted() -> None:
    table = Table(KIMI, V)
    held = 0
    for request in range(90):
        names = tuple(f"tool_{request}_{n}" for n in range(2000))
        envelope = Envelope(table, names, due=Due.WORD, most=9, first=0, preamble=5)
        last = envelope.headers(0)
        held += last.weight
        assert envelope.headers(0) is last
    assert held > 24 << 20
    assert table.tries.weight <= 16 << 20


def test_an_index_in_its_message_is_also_taken_where_it_goes_on_from_earlier_ones() -> None:
    from tests.dialect_cases import served

    envelope = Envelope(served("kimi_k3").table, ("a",), due=Due.WORD, most=9, first=3, preamble=5)
    for calls, indices in ((0, (1, 4)), (1, (2, 5)), (2, (3, 6))):
        texts = [f'a" index="{index}"'.encode() for index in indices]
        assert envelope.headers(calls).texts == texts


def test_envelopes_that_allow_the_same_share_an_automaton() -> None:
    table = Table(KIMI, V)

    def alike(*names: str, most: int = 9, text_format: Any = None) -> object:
        return Envelope(
            table, names, due=Due.WORD, most=most, first=0, preamble=5, text_format=text_format
        ).alike()

    found = alike("a", "b")
    assert alike("a", "b") is found
    assert alike("ab") is not found
    assert alike("a", "b", most=8) is not found
    texts = [alike("a", "b", text_format=lambda: toys.Listed(V, [b""])) for _ in range(2)]
    assert len({id(each) for each in (*texts, found)}) == 3
