from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.distinct import seen_strings
from enforcer.engines.distinct.persistent_text import PersistentText
from enforcer.engines.distinct.seen_strings import SeenStrings
from enforcer.partial import Partial
from enforcer.regex import ANY, finite_members, parse
from enforcer.regex.derivative import derivative

if TYPE_CHECKING:
    import pytest

    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Regex


FEW = ["^[ab]{0,2}$", "^(a|ab|abc|b.)$".replace(".", "[xyz]"), "^(|é|è|日)$", "^[ab]{3}$"]


@given(st.sampled_from(FEW), st.data())
def test_a_beginning_is_spent_exactly_if_nothing_unused_begins_so(
    pattern: str, data: st.DataObject
) -> None:
    language = parse(pattern)
    every = finite_members(language, 100)
    used = data.draw(st.lists(st.sampled_from(every), unique=True))
    memory = SeenStrings(language)
    for text in used:
        memory = memory.with_element(text)
    left = set(every) - set(used)
    beginnings = {text[:end] for text in every for end in range(len(text) + 1)}
    dead = {b for b in beginnings if not any(text.startswith(b) for text in left)}
    assert {b for b in beginnings if any(b.startswith(s) for s in memory.spent)} == dead
    assert memory.is_full == (not left)
    assert memory.may_fill_up == (len(left) <= 1)


def test_strings_of_any_kind_never_run_out() -> None:
    memory = SeenStrings(ANY)
    for text in ("", "a", "ab", "b" * 1000):
        memory = memory.with_element(text)
    assert next(memory.spent, None) is None
    assert not list(memory.spent)
    assert not memory.is_full
    assert not memory.may_fill_up


def test_a_part_of_a_character_leads_on_if_one_that_is_not_spent_may_come_of_it() -> None:
    memory = SeenStrings(parse("^(é|è|a)$")).with_element("é")
    assert memory.leads_on(PersistentText(), Partial(b"\xc3"))  # è
    assert memory.leads_on(PersistentText(), Partial(b"\\u00e"))
    assert not memory.with_element("è").leads_on(PersistentText(), Partial(b"\xc3"))


WORDS = st.sampled_from(["", "a", "b", "ab", "日", "ba"])


@given(
    st.lists(st.one_of(WORDS, st.integers(1, 4)), max_size=30),
    st.sampled_from([ANY, parse("^[ab日]*$")]),
)
def test_going_back_and_on_otherwise_leaves_what_was_there(
    steps: list[int | str], language: Regex
) -> None:
    """A number goes back so many elements; a word is tried, and added if it is not there."""
    path = [SeenStrings(language)]
    expected: list[tuple[str, ...]] = [()]
    for step in steps:
        if isinstance(step, int):
            kept = max(1, len(path) - step)
            del path[kept:], expected[kept:]
        else:
            for other in ("tried", "also tried"):  # and left, as ids are before one is taken
                path[-1].with_element(other).with_element(other * 2)
            assert (step in path[-1]) == (step in expected[-1])
            if step not in path[-1]:
                path.append(path[-1].with_element(step))
                expected.append((*expected[-1], step))
        for memory, texts in zip(path, expected, strict=True):
            assert tuple(memory) == texts
            assert len(memory) == len(texts)
            assert all((word in memory) == (word in texts) for word in ("", "a", "b", "ab", "日"))
            assert memory.longest == max(map(len, texts), default=-1)


def test_a_long_text_is_not_read_again_for_each_end_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def counted(language: Regex, char: str) -> Regex:
        taken.append(char)
        return derivative(language, char)

    monkeypatch.setattr(seen_strings, "derivative", counted)
    memory, text = SeenStrings(parse("^.{0,9000}$")).with_element("x"), "a" * 5_000
    for end in ("", "b", "bc", "c") * 5:
        assert next(memory.with_element(text + end).spent, None) is None
    assert len(taken) < 5_000 + 20 * 70


def test_what_is_prepared_for_has_the_last_state_of_the_first_element_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[Regex] = []
    living = seen_strings._living

    def counted(language: Regex) -> CharSet:
        looked_at.append(language)
        return living(language)

    monkeypatch.setattr(seen_strings, "_living", counted)
    seen_strings.prepare(parse("^[ab]{3}$"))
    prepared, looked_at[:] = set(looked_at), []
    assert not SeenStrings(parse("^[ab]{3}$")).with_element("aaa").is_full
    after = SeenStrings(parse("^[ab]{3}$")).with_element("aaa")
    assert next(after.spent, None) is not None
    assert looked_at
    assert set(looked_at) <= prepared
