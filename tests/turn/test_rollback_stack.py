"""The way back, against a plain list."""

from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn.rollback_stack import RollbackStack

STEPS = st.lists(st.one_of(st.sampled_from("abc"), st.integers(0, 6)), max_size=60)


@given(STEPS, st.one_of(st.none(), st.integers(0, 8)))
def test_it_gives_back_what_a_list_would(steps: list[int | str], most: int | None) -> None:
    stack: RollbackStack[Any] = RollbackStack(most)
    plain: list[str] = ["a"]  # the position after each id
    lost = 0
    for what in steps:
        accepted = len(plain) - 1
        if isinstance(what, str):
            if what != plain[-1]:
                stack.push(accepted, plain[-1])
            plain.append(what)
        else:
            kept = stack.let_go(accepted)
            lost = lost if most is None else max(lost, accepted - most)
            assert kept == accepted - lost
            to = accepted - min(what, kept)
            now, left = plain[-1], accepted
            runs = [(each, len([*run])) for each, run in groupby(plain[to:])]
            for entry, count in stack.pop(accepted, to):
                assert runs.pop() == (now, count)
                now, left = entry, left - count
            assert runs == [(now, left - to + 1)]
            del plain[to + 1 :]
