"""The rows that are kept of today's engine are those that it makes; a sample of them."""

import pytest

from bench.reference import cases
from bench.reference.__main__ import kept
from bench.reference.rows import follow
from tests.shared_data import shared

_GROUPS = ("engine", "kimi_k3 raw", "pythonic numbers")


@pytest.mark.slow
def test_a_sample_of_the_reference_still_holds() -> None:
    shared("kimi", "tiktoken.model")
    shared("cases", "maskbench")
    known = kept()
    # Cases that have come since are not in it.
    of_groups = [each for each in cases.all_cases() if each.key.startswith(_GROUPS)]
    chosen = [each for each in of_groups if each.key in known][::4]
    assert len(chosen) > 40
    for case in chosen:
        found = follow(case, known[case.key].ids)
        assert (found.outcome, found.hashes) == (known[case.key].outcome, known[case.key].hashes)
