"""Tokens across borders, against reading every token of the vocabulary symbol by symbol."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.turn import dialects
from enforcer.turn.dialect import FREE_TEXT
from enforcer.turn.lexer import OPEN, Lexer
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary
from tests.dialect_cases import NAMES, served, vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Opening, Place

OPENINGS = [
    OPEN,
    replace(OPEN, call=False),
    replace(OPEN, finish=False, empty=False),
    replace(OPEN, text=False, finish=False),
]


def texts(vocabulary: Vocabulary) -> Iterator[tuple[bytes, int]]:
    keys, ids = vocabulary.sorted_text
    return zip(keys, ids, strict=True)


def places(name: str, limit: int = 40) -> list[Place]:
    """Give places outside headers and arguments, those within spelled markers too."""
    lexer, dialect = served(name).table.lexer, served(name).dialect
    found = [
        lexer.enter(state)
        for state, each in dialect.states.items()
        if each.segment in FREE_TEXT or each.segment.value == "none"
    ]
    for place in found:
        for byte in b'<tool_call>functin ["}]nam:;\n':
            step = lexer.by_markers(place, byte, OPEN)
            if step and not step.marker and step.place not in found and len(found) < limit:
                found.append(step.place)
    return found


def sort_of(name: str, place: Place, data: bytes, opening: Opening) -> str:
    """Say what a token is: kept in the segment, ending in a marker, beyond one, or illegal."""
    lexer, borders = served(name).table.lexer, served(name).table.borders
    for count, byte in enumerate(data, 1):
        step = lexer.by_markers(place, byte, opening)
        if step is None:
            return "illegal"
        place = step.place
        if step.marker:
            rest = data[count:]
            if not rest:
                return "legal"
            return "crossing" if borders.viable(place, rest) else "illegal"
    return "inside"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_token_is_what_its_bytes_are(name: str) -> None:
    table = served(name).table
    if table.is_simple:
        return
    for place in places(name):
        for opening in OPENINGS:
            row = table.row_at(place, opening)
            used = row.opening
            crossing = {token for cut in row.crossing.values() for token in cut.ids.tolist()}
            mask = {i for i in range(table.vocabulary.size) if row.mask[i // 32] >> (i % 32) & 1}
            for data, token in texts(table.vocabulary):
                kind = sort_of(name, place, data, used)
                at = (name, place, used, data)
                assert (token in mask) == (kind in {"inside", "legal"}), at
                assert (token in crossing) == (kind == "crossing"), at


@pytest.mark.parametrize("name", NAMES)
def test_tokens_that_leave_arguments_are_all_found(name: str) -> None:
    table = served(name).table
    state = next(n for n, s in table.dialect.states.items() if s.segment.value == "arguments")
    then = table.dialect.states[state].then
    scans = {table.layout.scan()}
    for byte in b'{"a": [{}, "x}"], (\'=\n</functionparmeter>name"invoke>':
        scans |= {after for scan in scans if (after := scan.after(byte)) and not after.ends}
    for scan in list(scans)[:25]:
        expected = set()
        for data, token in texts(table.vocabulary):
            at, count = scan, 0
            for byte in data:
                at, count = at.after(byte), count + 1
                if at is None or at.ends:
                    break
            # Brackets of other kinds are the grammar's to refuse.
            ends = at is not None and at.ends and data[count - 1] == table.layout.last_byte
            goes_on = ends and count < len(data) and then is not None
            if goes_on and table.borders.viable(table.lexer.enter(then), data[count:]):
                expected.add((token, count))
        cut = table.borders.leaving(state, scan)
        assert set(cut.ids.tolist()) == {i for i, _ in expected}
        counts = dict(expected)
        whole = len(cut.ids) - len(cut.loose)
        assert [counts[token] for token in cut.ids[whole:].tolist()] == [*cut.loose]
        for token, head, tail in zip(cut.ids[:whole], cut.heads, cut.tails, strict=False):
            data, count = table.vocabulary.token_bytes(token), counts[token]
            parts = table.vocabulary.token_bytes(head), table.vocabulary.token_bytes(tail)
            assert parts == (data[:count], data[count:])


def names_behind(name: str, node: HeaderNode, then: str, data: bytes) -> str | None:
    """Read a token from within a header; return the tool whose arguments it goes on in, if any."""
    table = served(name).table
    at: HeaderNode | None = node
    for count, byte in enumerate(data):
        found = at.name
        after = at.step(byte)
        if at.ends or (found is not None and after is None):
            # What is all of the arguments begins them, whatever comes before.
            rest = data[count:] if count else b""
            return found if rest and table.borders.viable(table.lexer.enter(then), rest) else None
        at = after
        if at is None:
            return None
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tokens_that_go_on_behind_a_header_are_all_found(name: str) -> None:
    table = served(name).table
    headers = [n for n, s in table.dialect.states.items() if s.segment.value == "header"]
    then = table.dialect.states[headers[0]].then
    if then is None:
        return
    tried = 0
    for names in (("get", "a"), ("get_weather",)):
        trie = table.headers(names, (0,))
        for each in names:
            node = trie.root
            for byte in table.dialect.header_text(each, 0).encode():
                expected = {
                    (token, found)
                    for data, token in texts(table.vocabulary)
                    if (found := names_behind(name, node, then, data)) is not None
                }
                given = [
                    (token, found)
                    for found, cut in table.borders.behind(node, then)
                    for token in cut.ids.tolist()
                ]
                assert len(given) == len(set(given))
                assert set(given) == expected
                tried += len(expected)
                node = node.step(byte)
    assert tried


def test_behind_thousands_of_names_that_nothing_follows_nothing_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names that begin longer words: only what may stand behind a name has to be looked for."""
    small = vocabulary("mistral")
    names = tuple(f"name{n:04}" for n in range(2000))
    words = [small.token_bytes(token) for token in range(small.size)]
    found = Vocabulary([*words, *(f"{name}s".encode() for name in names)], small.controls)
    table = Table(dialects.load("mistral"), found)
    table.borders.behind(table.headers(("a",), (0,)).root, "ARGUMENTS")
    read = 0
    step = Lexer.step

    def counted(*args: Any) -> Any:
        nonlocal read
        read += 1
        return step(*args)

    monkeypatch.setattr(Lexer, "step", counted)
    node = table.headers(names, (0,)).root
    assert len(node.past) == len(names)
    assert table.borders.behind(node, "ARGUMENTS") == ()
    assert read < 20
