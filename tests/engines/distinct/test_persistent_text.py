from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.distinct.persistent_text import PersistentText


@given(st.text(max_size=300))
def test_every_beginning_stays_what_it_was(text: str) -> None:
    every = [PersistentText()]
    for char in text:
        every.append(every[-1].add(char))
    assert [each.whole() for each in every] == [text[:end] for end in range(len(text) + 1)]
    assert [each.length for each in every] == list(range(len(text) + 1))
    assert all(len(each._pieces) <= each.length.bit_length() for each in every)
