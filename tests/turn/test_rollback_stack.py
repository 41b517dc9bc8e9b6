"""The way back, against a plain list."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn.rollback_stack import RollbackStack

STEPS = st.lists(st.one_of(st.sampled_from("abc"), st.integers(0, 6)), max_size=60)


@given(STEPS, st.one_of(st.none(), st.integers(0, 8)))
def test_it_gives_back_what_a_list_would(steps: list[int | str], most: int | None) -> None:
    trail: RollbackStack[Any] = RollbackStack(most)
    plain: list[Any] = []
    for what in steps:
        if isinstance(what, str):
            trail.push(what)
            plain.append(what)
        else:
            count = min(what, len(trail))
            runs = list(trail.pop(count))
            assert all(a != b for (a, _), (b, _) in pairwise(runs))
            taken = [entry for entry, run in runs for _ in range(run)]
            assert taken == [plain.pop() for _ in range(count)]
        if most is not None:
            del plain[: max(len(plain) - most, 0)]
        assert len(trail) == len(plain)
