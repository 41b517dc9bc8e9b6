"""Raw text: characters as they are, markers, and ends that come by themselves."""

from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.errors import EngineFailure
from enforcer.machine.grammar import MachineGrammar
from enforcer.machine.tables import raw_tables
from enforcer.regex import (
    ANY,
    Regex,
    both,
    either,
    fullmatch,
    inverse,
    length,
    literal,
    marker,
    parse,
)
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, concat, repeat
from enforcer.vocabulary import Vocabulary
from tests.schema_judge import agree_along_a_walk
from tests.support import machine

_PIECES = ("<", "</", "</s", "</s>", "s>", ">", "a", "ab", "b</", "é", "\u2028", "😀", '"', "\\",
           "\n", "\t\n", " ", "\\n", 'a"b', "12", "\x00", "｜", ">｜")  # fmt: skip
_MARKERS = (256, 257)


@cache
def vocabulary() -> Vocabulary:
    """Every byte, two markers, pieces of text and tokens that begin or end within a character."""
    random = Random(3)
    texts = [piece.encode() for piece in _PIECES]
    mixed = {b"".join(random.choices(texts, k=random.randint(2, 4))) for _ in range(300)}
    cut = {text[random.randrange(3) : len(text) - random.randrange(3)] for text in mixed}
    tokens = sorted({*texts, *mixed, *cut} - {b""})
    every = [bytes([byte]) for byte in range(256)]
    return Vocabulary([*every, b"", b"", *tokens], {"<one>": 256, "<two>": 257})


def row(text: kernel.TextMatcher) -> set[int]:
    return machine.mask(text, vocabulary())


_STOP = literal("</s>")
_TAGGED = concat(both(ANY, inverse(concat(ANY, _STOP, ANY))), _STOP)
_WIDE_BAR = concat(repeat(chars(CharSet.span("ac")), 0, None), literal("｜"))
LANGUAGES: dict[str, tuple[tuple[Regex, ...], bool]] = {
    "any": ((ANY,), False),
    "control characters": ((parse(r"^[\x00-\x1f]*$"),), False),
    "a pattern": ((parse(r'^("|\\|a|é|😀)+<?$'),), False),
    "a length": ((length(2, 5),), False),
    "a pattern of a length": ((both(parse("^[^a]*<*$"), length(1, 40)),), False),
    "a stop": ((_TAGGED,), True),
    "a stop beyond ASCII": ((_WIDE_BAR,), True),
    "two stops": ((concat(parse("^[^<｜]*$"), either(literal("<"), literal("｜"))),), True),
    "a bounded stop": ((both(_TAGGED, length(0, 44)),), True),
    "two languages": ((concat(literal("a"), ANY), parse("^[ab]*$")), False),
    "a marker": ((concat(ANY, marker(0)),), True),
    "markers between": (
        (concat(repeat(concat(marker(1), parse("^[a-b]*$")), 1, 3), either(_STOP, marker(0))),),
        True,
    ),
    "markers and no end": ((concat(ANY, repeat(concat(marker(0), ANY), 0, None)),), False),
}


def begun(name: str) -> kernel.TextMatcher:
    languages, ends = LANGUAGES[name]
    tables = raw_tables(languages, ends=ends, markers=_MARKERS)
    return MachineGrammar(tables, machine.tree(vocabulary(), is_raw=True)).matcher()


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_row_has_exactly_the_ids_that_are_accepted(name: str) -> None:
    for seed in range(6):
        agree_along_a_walk(begun(name), vocabulary(), Random(seed), lambda _: True)


@pytest.mark.parametrize("name", [name for name in LANGUAGES if "marker" not in name])
@given(data=st.data())
def test_texts_are_those_of_the_languages(name: str, data: st.DataObject) -> None:
    languages, _ = LANGUAGES[name]
    written = "".join(data.draw(st.lists(st.sampled_from(_PIECES), max_size=8)))
    text = begun(name)
    taken = all(map(text.accept, written.encode()))
    assert (taken and text.is_accepting()) == any(fullmatch(each, written) for each in languages)


@pytest.mark.parametrize(
    ("name", "ids", "complete"),
    [
        *(("a marker", [*b"a\n", 256], True), ("a marker", [256], True)),
        *(("a marker", [*b"a", 257], False), ("a marker", [*"é".encode()[:1], 256], False)),
        *(("markers between", [257, *b"ab", 257, 256], True), ("markers between", [*b"a"], False)),
        *(("markers between", [257, *b"</s>"], True),),
        ("markers and no end", [*b"a", 256, 256, *b"b"], True),
    ],
)
def test_markers_are_characters_of_their_own(name: str, ids: list[int], complete: bool) -> None:
    text = begun(name)
    assert (all(map(text.accept, ids)) and text.is_accepting()) == complete


@pytest.mark.parametrize("name", ["any", "a stop", "a marker", "markers and no end"])
def test_no_byte_leads_into_a_surrogate(name: str) -> None:
    text = begun(name)
    assert text.accept(0xED)
    assert row(text).isdisjoint(range(0xA0, 0xC0))
    assert text.accept(0x9F)


def test_a_text_of_a_marker_has_no_byte() -> None:
    text = MachineGrammar(
        raw_tables([marker(0)], ends=True, markers=[257]), machine.tree(vocabulary(), is_raw=True)
    ).matcher()
    assert row(text) == {257}


def test_markers_of_another_vocabulary_are_refused() -> None:
    tables = raw_tables([concat(ANY, marker(0))], markers=[vocabulary().size])
    with pytest.raises(EngineFailure, match="another vocabulary"):
        MachineGrammar(tables, machine.tree(vocabulary(), is_raw=True))


@pytest.mark.parametrize("name", ["a stop", "a stop beyond ASCII", "a length", "markers between"])
def test_the_source_does_as_the_compiled_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Vocabulary(vocabulary().texts[:300], {"<one>": 256, "<two>": 257})
    languages, ends = LANGUAGES[name]
    tables = raw_tables(languages, ends=ends, markers=_MARKERS)
    ids = (*"ab<｜".encode(), 257, *b"</s>")
    machine.assert_same_interpreted(monkeypatch, tables, small, ids, is_raw=True)
