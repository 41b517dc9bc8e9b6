"""Strings that stand as they are: places in them, and masks, agree with their languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.lengths.automaton import Automaton, built, joined
from enforcer.engines.lengths.raw_strings import RawStringKeeper
from enforcer.engines.lengths.string_ids import StringIds
from enforcer.regex import fullmatch, parse
from tests.vocabularies import bits, cut, split

if TYPE_CHECKING:
    from random import Random

    from enforcer.engines.lengths.counted import Counted

V = cut(('<b>é 日本\\"</x>\n', "a b c"), (b"</", b"x>", b"aaa", "本\n".encode(), b"\xe6\x97"))
IDS = StringIds(V, quoted=False)
# The stop is a part of the pattern; of several, each has a greatest length of its own.
PATTERNS = {"^[^<]*</x>$": 9, "^(a|é|日)*b</x>$": 10, "^[^<\n]*\n</x>$": 11}
CASES = [[each] for each in PATTERNS] + [[*PATTERNS]]
TEXTS = st.text('ab <é日本\n\\"', max_size=9)


def keeper(*patterns: str, more: int = 0) -> RawStringKeeper:
    least = min(PATTERNS[each] for each in patterns)
    parts = [(built(parse(each), 200), PATTERNS[each] - least) for each in patterns]
    most = max(PATTERNS[each] for each in patterns)
    return RawStringKeeper(Automaton(joined(parts, 500)), most + more, IDS)


@pytest.mark.parametrize("patterns", CASES)
@given(text=TEXTS, random=st.randoms(use_true_random=False))
def test_a_text_is_read_to_its_stop_if_one_of_the_patterns_has_it(
    patterns: list[str], text: str, random: Random
) -> None:
    whole = text + "</x>"
    kept = keeper(*patterns)
    place: Counted | None = kept.start
    for token_id in split(random.choice, V, whole.encode()):
        place = None if place is None else kept.read(place, V.token_bytes(token_id))
    fits = any(fullmatch(parse(x), whole) and len(whole) <= PATTERNS[x] for x in patterns)
    assert (place is not None) == fits


@pytest.mark.parametrize("patterns", CASES)
@given(ids=st.lists(st.sampled_from(V.sorted_text[1]), max_size=8))
def test_the_mask_is_what_is_read(patterns: list[str], ids: list[int]) -> None:
    kept, endless = keeper(*patterns), keeper(*patterns, more=1_000)
    place, text = kept.start, endless.start
    for token_id in ids:
        after = kept.read(place, V.token_bytes(token_id))
        if after is None:
            continue
        read = endless.read(text, V.token_bytes(token_id))
        assert read is not None
        place, text = after, read
        row = V.row(readable(endless, text))  # what an engine permits that does not count
        kept.forbid(place, row)
        assert bits(row) == readable(kept, place)


def readable(kept: RawStringKeeper, place: Counted) -> set[int]:
    return {i for i in V.sorted_text[1] if kept.read(place, V.token_bytes(i)) is not None}
