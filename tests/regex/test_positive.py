from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import (
    ANY,
    both,
    either,
    entangled,
    fullmatch,
    inverse,
    length,
    literal,
    loosened,
    not_matching,
    parse,
    positive,
    unwritten,
)
from enforcer.regex.syntax import Complement, Intersection
from tests.languages import asserting_patterns, languages, texts

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


_LONG = length(0, 400)


def _free(_steps: int) -> None:
    pass


def _positive(regex: Regex) -> Regex:
    return positive(regex, _free)


def _entangled(regex: Regex) -> frozenset[Regex]:
    return entangled(_positive(regex))


def _unwritten(regex: Regex) -> frozenset[Regex]:
    return unwritten(regex, _free)


def _loosened(regex: Regex) -> Regex:
    return loosened(_positive(regex))


@given(languages, st.lists(texts(), min_size=1, max_size=8))
def test_the_language_stays_the_same(language: Regex, some: list[str]) -> None:
    beside = both(language, _LONG)
    written = _positive(beside)
    for text in some:
        assert fullmatch(written, text) == fullmatch(beside, text) == fullmatch(language, text)


@given(asserting_patterns, st.lists(texts(max_size=8), min_size=1, max_size=8))
def test_what_a_pattern_does_not_match_is_written_without_complements(
    pattern: str, some: list[str]
) -> None:
    failing = not_matching(pattern)
    if not isinstance(failing, Complement):
        return
    written = _positive(both(failing, _LONG))
    for text in some:
        assert fullmatch(written, text) == fullmatch(failing, text)
        if fullmatch(failing, text):
            assert fullmatch(_loosened(failing), text)


def _complements(regex: Regex) -> list[Regex]:
    parts = regex.parts if isinstance(regex, Intersection) else [regex]
    return [part for part in parts if isinstance(part, Complement)]


@pytest.mark.slow
def test_only_what_is_large_or_beside_a_large_count_is_written_anew() -> None:
    failing = not_matching("--")
    assert _positive(failing) == failing
    assert _positive(both(failing, length(0, 10))) == both(failing, length(0, 10))
    written = _positive(both(failing, _LONG))
    assert not _complements(written)
    wide = not_matching(r"\b\w+\b\s+\b\w+\b")
    assert _complements(wide)
    assert not _complements(_positive(wide))
    assert fullmatch(written, "a-b-c")
    assert not fullmatch(written, "a--b")


def test_what_is_too_large_together_is_written_part_by_part() -> None:
    words = "admin|support|postmaster|hostmaster|security|noreply|billing|accounting|superuser"
    failing = not_matching(f"(?i)^.*({words}|javascript:|on[a-z]+=|data:text/html)")
    written = _positive(both(failing, _LONG))
    assert not _complements(written)
    assert isinstance(written, Intersection)
    assert len(written.parts) > 2
    for text in ("ADMIN", "a SuperUser", "oNclick=", "x data:text/html"):
        assert not fullmatch(written, text)
    assert fullmatch(written, "adm1n on= securit")


def test_complements_of_some_lengths_are_said_as_the_others() -> None:
    assert _positive(inverse(length(1, 500))) == either(length(0, 0), length(501, None))
    digits = parse("^[0-9]+$")
    longer = _positive(both(digits, inverse(length(20, 500))))
    assert not any(fullmatch(longer, "7" * n) for n in (20, 500))
    assert all(fullmatch(longer, "7" * n) for n in (1, 19, 501))


def test_complements_of_finitely_many_texts_stay() -> None:
    failing = inverse(literal("none"))
    assert _positive(both(failing, _LONG)) == both(failing, _LONG)
    assert not _entangled(both(failing, _LONG))


@pytest.mark.slow
def test_only_what_no_small_automaton_says_is_entangled() -> None:
    hard, easy = not_matching("x.{20}y"), not_matching("xy")
    assert _entangled(both(hard, easy, _LONG)) == _unwritten(hard) == {hard}
    assert not _entangled(both(easy, _LONG))
    assert not _unwritten(easy)
    assert _entangled(hard), "its own count is enough"
    assert not _entangled(not_matching("[ab]*a[ab]{8}c")), "no large count, inside or beside"
    assert _entangled(not_matching(r"\b\d{16}\b")), "there is too much of it"
    assert not _entangled(both(hard, parse("^[a-z]{1,400}$"))), "among few characters"
    late = not_matching("^https://[^/]*x.{20}y")
    assert _unwritten(late)
    assert not _entangled(both(late, _LONG)), "most texts begin in another way"


def test_loosened_leaves_out_only_what_cannot_be_written() -> None:
    hard, easy = not_matching("x.{20}y"), not_matching("xy")
    assert loosened(hard) == ANY
    left = _loosened(both(hard, easy, inverse(literal("none")), _LONG))
    assert fullmatch(left, "x" + "-" * 20 + "y")
    assert not fullmatch(left, "xy")
    assert not fullmatch(left, "none")


def test_work_is_counted_whether_or_not_it_was_done_before() -> None:
    spent: list[Any] = []
    for _ in range(2):
        positive(both(not_matching("abc|abd"), _LONG), spent.append)
    assert sum(spent[: len(spent) // 2]) == sum(spent[len(spent) // 2 :])
    assert 0 < sum(spent) < 10_000
