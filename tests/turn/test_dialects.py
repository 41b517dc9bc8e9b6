"""Dialect files: Kimi's own, and every way in which a file can be wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import UnknownDialect
from enforcer.turn import dialects
from enforcer.turn.dialect import Guard, Segment, Tokens, Transition
from enforcer.turn.parser import Parser
from enforcer.turn.table import Table
from tests.support import cases
from tests.vocabularies import small, write

KIMI = dialects.load("kimi_k2")

CASES = Path(__file__).with_name("cases")
MINIMAL = (CASES / "minimal_dialect.toml").read_text(encoding="utf-8")


def _read_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "_folder", lambda: folder)
    for cached in ("_load", "of_parser"):
        monkeypatch.setattr(dialects, cached, getattr(dialects, cached).__wrapped__)


def test_a_known_dialect_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server asks at each request, whatever has become of the package's files since it began."""
    known = dialects.load("kimi_k2")
    monkeypatch.setattr(dialects, "_folder", lambda: tmp_path / "gone")
    assert dialects.load("kimi_k2") is known
    for unknown in ("kimi_k0", ["kimi_k2"]):
        with pytest.raises(UnknownDialect, match="known are: none"):
            dialects.load(unknown)  # type: ignore[arg-type]


def test_vllms_parsers_sort_their_dialects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dialects.of_parser("kimi_k2") == (KIMI,)
    assert dialects.of_parser("kimi_k2_enforced") == dialects.of_parser("") == ()
    assert "kimi_k2" in dialects.parsers()
    for name, needed in (("a", "[]"), ("b", '["<call>"]')):
        keys = f'parsers = ["shared", "only_{name}"]\n'
        text = keys + MINIMAL.replace('name = "mini"', f'name = "{name}"')
        text += f"[tokens]\nneeded = {needed}\n"
        (tmp_path / f"{name}.toml").write_text(text)
    _read_from(tmp_path, monkeypatch)
    assert [one.name for one in dialects.of_parser("shared")] == ["b", "a"]
    assert [one.name for one in dialects.of_parser("only_a")] == ["a"]
    assert dialects.parsers() == ("only_a", "only_b", "shared")
    # Without a tokenizer the most particular is meant, with one the first whose tokens it has.
    for controls, name in ((None, "b"), (["<call>", "<x>"], "b"), (["<x>"], "a"), ([], "a")):
        assert dialects.named("shared", controls).name == name
    several = (*dialects.of_parser("only_b"), replace(dialects.load("b"), name="c"))
    assert dialects.fitting(several, []).name == "c"  # as none's tokens are there
    assert dialects.named("only_b", []).name == "b"
    assert dialects.named("b", []).name == "b"


def test_kimi_is_there() -> None:
    assert "kimi_k2" in dialects.available()
    assert KIMI is dialects.load("kimi_k2")
    assert KIMI.header_text("get_weather", 12) == "functions.get_weather:12"
    assert {state.segment for state in KIMI.states.values()} == set(Segment)


@pytest.mark.parametrize("name", ["kimi", "", "../grammars/kimi_k2", "kimi_k2.toml", None, [], 3])
def test_an_unknown_name_is_refused_with_the_known_ones(name: Any) -> None:
    with pytest.raises(UnknownDialect, match="kimi_k2"):
        dialects.load(name)


@pytest.mark.parametrize("name", [{"/": None}, ["a.toml", "/"], b"/", 7, None])
def test_what_is_no_name_is_none_of_a_dialect(name: Any) -> None:
    with pytest.raises(UnknownDialect, match=r"unknown dialect .*; known are: "):
        dialects.load(name)


@pytest.mark.parametrize("path", ["mine.toml", "/etc/dialects/mine.toml", "./mine"])
def test_who_gives_a_path_is_told_where_the_file_belongs(path: str) -> None:
    for find in (dialects.load, dialects.named):
        with pytest.raises(UnknownDialect, match=r"put the file into .*grammars.* it 'mine'"):
            find(path)


@pytest.mark.parametrize("example", KIMI.examples, ids=lambda example: example["text"][:30])
def test_the_files_own_examples(example: dict[str, Any]) -> None:
    vocabulary = small()
    parser = Parser(Table(KIMI, vocabulary))
    parser.feed(write(vocabulary, example["text"]))
    turn = parser.turn()
    assert turn.stray is None
    assert turn.ended
    assert turn.content == example["content"]
    assert turn.reasoning == example.get("reasoning", "")
    found = [{"name": c.name, "index": c.index, "arguments": c.arguments} for c in turn.calls]
    assert found == example.get("calls", [])


def test_a_call_may_begin_only_where_one_is_open_and_a_turn_end_only_where_it_may() -> None:
    for name, state in KIMI.states.items():
        for marker, transition in state.on.items():
            if marker in {"section_begin", "call_begin"}:
                assert transition.when is Guard.CALL, (name, marker)
            if marker == "turn_end" and state.segment is not Segment.NONE:
                said = name == "CONTENT"
                assert transition.when is (Guard.FINISH if said else Guard.EMPTY), (name, marker)


def test_a_small_file_is_read() -> None:
    dialect = dialects.parse(MINIMAL)
    assert dialect.header_text("a", 3) == "a#3"
    assert dialect.states["TEXT"].on["open"] == Transition("HEADER", Guard.CALL)
    assert dialect.tokens == Tokens(None, frozenset(), frozenset())


@cases.parametrized("turn/cases/broken_dialects.toml", "case")
def test_a_broken_file_is_refused(old: str, new: str) -> None:
    assert MINIMAL.count(old) >= 1
    with pytest.raises(UnknownDialect):
        dialects.parse(MINIMAL.replace(old, new, 1))


@cases.parametrized("turn/cases/broken_dialects.toml", "named")
def test_a_broken_file_is_named_with_the_place_and_the_legal_words(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mini.toml").write_text(MINIMAL.replace(old, new, 1))
    _read_from(tmp_path, monkeypatch)
    with pytest.raises(UnknownDialect, match=rf"mini\.toml is no dialect: .*{said}"):
        dialects.load("mini")


def test_a_copy_of_the_same_name_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mini", "longcat"):
        (tmp_path / f"{name}.toml").write_text(MINIMAL)
    _read_from(tmp_path, monkeypatch)
    assert dialects.load("mini").name == "mini"
    with pytest.raises(
        UnknownDialect, match=r"longcat\.toml says `name = 'mini'`.*name = \"longcat\""
    ):
        dialects.load("longcat")


def test_a_file_that_is_no_text_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mini.toml").write_bytes(b"\xff")
    _read_from(tmp_path, monkeypatch)
    with pytest.raises(UnknownDialect, match=r"mini\.toml cannot be read"):
        dialects.load("mini")


@pytest.mark.parametrize("text", [None, b"name = 1", 3, [], "a = " + "[" * 100_000])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(UnknownDialect):
        dialects.parse(text)


def test_a_dialect_is_named_by_itself_or_by_a_parser_and_others_are_told_of() -> None:
    assert dialects.named("kimi_k2") is KIMI
    assert dialects.named("kimi_k2", ()) is KIMI
    with pytest.raises(UnknownDialect, match="unknown dialect or parser 'nobody'") as caught:
        dialects.named("nobody")
    assert set(str(caught.value).split("known are: ")[1].split(", ")) == {
        *dialects.available(),
        *dialects.parsers(),
    }


def test_installed_files_precede_checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "__file__", str(tmp_path / "enforcer" / "turn" / "dialects.py"))
    beside = tmp_path / "grammars"
    beside.mkdir()
    (beside / "near.toml").touch()
    assert dialects.available() == ("near",)
    inside = tmp_path / "enforcer" / "grammars"
    inside.mkdir(parents=True)
    (inside / "within.toml").touch()
    assert dialects.available() == ("within",)
