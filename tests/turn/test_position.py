"""Where the text of a place may end, and which markers that makes legal."""

from dataclasses import dataclass
from itertools import product
from typing import Any

from enforcer.turn.lexer import Place
from enforcer.turn.position import Position


@dataclass
class Text:
    """Arguments, or formatted text, that may or may not end here."""

    accepting: bool

    def is_accepting(self) -> bool:
        return self.accepting


@dataclass
class Node:
    """A place in the trie of headers; at a whole one it has a name."""

    name: str | None


ROW: Any = "row"
BEFORE: Any = "before"


def at(**more: Any) -> Position:
    return Position(Place("ANY"), row=ROW, before=BEFORE, calls=0, text=0, **more)


def test_free_text_may_end_anywhere() -> None:
    assert at().complete()
    assert at().markers == ROW


def test_a_header_is_complete_where_it_has_a_name() -> None:
    assert at(header=Node("get")).markers == ROW
    assert at(header=Node(None)).markers == BEFORE


def test_followed_text_says_itself_whether_it_may_end() -> None:
    for accepting, header in product((True, False), (None, Node(None), Node("get"))):
        found = at(grammar=Text(accepting), header=header)
        assert found.complete() is accepting
        assert found.markers == (ROW if accepting else BEFORE)
