"""The fuzzers' properties on examples that Hypothesis draws, so that they go on working."""

from random import Random

import pytest

from tests.fuzz.targets import TARGETS


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_the_invariant_holds_of_drawn_examples(name: str) -> None:
    TARGETS[name]()


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_draw_an_example(name: str) -> None:
    """As the fuzzer calls it: bytes that suffice are given back, as far as they were used."""
    fuzz = TARGETS[name].hypothesis.fuzz_one_input
    assert any(fuzz(Random(seed).randbytes(2_000)) is not None for seed in range(20))
