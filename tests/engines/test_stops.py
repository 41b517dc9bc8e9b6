"""Beginnings of stops, and what completes them, against regular expressions and plain search."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import stops as stops_module
from enforcer.engines.stops import NOTHING, Stops
from enforcer.vocabulary import Vocabulary
from tests.walks import examples

STOPS = st.lists(
    st.lists(st.text("<|a", min_size=1, max_size=3), max_size=3).map(
        lambda parts: "<" + "{_}".join(parts)
    ),
    min_size=1,
    max_size=2,
)
TEXTS = st.text("<|a \n", max_size=8)
SPACES = st.sampled_from(["", " ", "\n", " \n ", "\t"])


@st.composite
def cut_stops(draw: st.DrawFn) -> tuple[list[str], str, list[str]]:
    """Draw stops, a text in which some may have begun, and tokens that may go on with them."""
    texts = draw(STOPS)

    def written() -> tuple[str, str]:
        parts = draw(st.sampled_from(texts)).split("{_}")
        whole = "".join(part + draw(SPACES) for part in parts[:-1]) + parts[-1]
        at = draw(st.integers(0, len(whole)))
        return whole[:at], whole[at:]

    before, missing = written()
    tokens = [missing, missing + "b", missing + "日", *(written()[1] for _ in range(6))]
    tokens += draw(st.lists(TEXTS, max_size=6))
    return texts, draw(TEXTS) + before, list(dict.fromkeys(tokens))


def patterns(texts: list[str]) -> list[str]:
    return ["[\\t-\\r ]*".join(map(re.escape, text.split("{_}"))) for text in texts]


def completes(texts: list[str], before: str, data: str) -> bool:
    """Tell whether a stop that begins in the text before ends within the data behind it."""
    every = before + data
    # Stops that end sooner are over, and nothing of them is missing.
    return any(
        re.fullmatch(pattern, every[begin:end])
        and not any(re.fullmatch(pattern, every[begin:k]) for k in range(begin, len(before) + 1))
        for pattern in patterns(texts)
        for begin in range(len(before))
        for end in range(len(before) + 1, len(every) + 1)
    )


def some_vocabulary(tokens: list[str]) -> Vocabulary:
    base = [bytes([byte]) for byte in range(256)]
    more = [each.encode() for each in tokens if len(each) > 1]
    return Vocabulary([*base, *more, b"<end>"], {"<end>": 256 + len(more)})


@pytest.mark.parametrize("many", [1, stops_module._MANY])
@given(drawn=cut_stops())
@examples(300)
def test_what_completes_a_stop_that_has_begun(
    many: int, drawn: tuple[list[str], str, list[str]]
) -> None:
    texts, before, tokens = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stops_module, "_MANY", many)
        _completes_as_it_says(texts, before, some_vocabulary(tokens))


def _completes_as_it_says(texts: list[str], before: str, vocabulary: Vocabulary) -> None:
    stops = Stops(texts, vocabulary)
    begun = stops.after(NOTHING, before.encode())
    found = stops.completing(begun)
    every, ids = vocabulary.sorted_text
    wanted = {
        i
        for data, i in zip(every, ids, strict=True)
        if completes(texts, before, data.decode(errors="replace"))
    }
    assert set(found.ids.tolist()) == wanted
    assert len(found.ids) == len(wanted), "each once"
    together = {*found.alone, *found.others.tolist(), *([] if found.by is None else [found.by])}
    assert together == wanted
    for token_id, rest in zip(found.others.tolist(), found.rests.tolist(), strict=True):
        assert found.by is not None
        begins = vocabulary.token_bytes(found.by)
        assert begins + vocabulary.token_bytes(rest) == vocabulary.token_bytes(token_id)


@given(drawn=cut_stops(), parts=st.lists(st.integers(0, 12), max_size=3))
@examples(100)
def test_it_does_not_matter_in_which_pieces_a_text_comes(
    drawn: tuple[list[str], str, list[str]], parts: list[int]
) -> None:
    texts, before, _ = drawn
    stops = Stops(texts, some_vocabulary([]))
    cuts = sorted({min(each, len(before)) for each in parts})
    begun = NOTHING
    for first, end in zip([0, *cuts], [*cuts, len(before)], strict=True):
        begun = stops.after(begun, before[first:end].encode())
    assert begun == stops.after(NOTHING, before.encode())


def test_many_ids_that_begin_alike_are_asked_for_by_one() -> None:
    many = [f">{letter}" for letter in "abcdefghij"]
    vocabulary = some_vocabulary([*many, ">日"])
    stops = Stops(["</a>"], vocabulary)
    found = stops.completing(stops.after(NOTHING, b"x</a"))
    assert found.by == ord(">")
    assert len(found.others) == len(many)
    assert [vocabulary.token_bytes(i) for i in found.alone] == [">日".encode()]


def test_an_id_may_end_a_value_if_it_is_no_text_or_has_what_ends_it() -> None:
    vocabulary = some_vocabulary(["</a>", "</b>"])
    stops = Stops(["</a>", "</b>"], vocabulary)
    whole, other, end = 256, 257, 258
    assert stops.may_end([whole])
    assert stops.may_end([*b"x</a>y"])
    assert stops.may_end([end])
    assert not stops.may_end([other, *b"</a"])
    assert stops.beginning == {ord("<"), whole, other}
    assert stops.telling == stops.beginning | {end}
