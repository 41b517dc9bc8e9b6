"""What is said of a token that cannot stand where a prompt has put it."""

import pytest

from enforcer.turn.dialect import Segment
from enforcer.turn.wording import misplaced
from enforcer.vocabulary import Vocabulary
from tests.support.cases import each_case

BYTES = [bytes([n]) for n in range(256)]
V = Vocabulary([*BYTES, b"ab", b"\n\xff", b"x" * 1000, b"", b"<|end|>"], {"<|end|>": 260})


@pytest.mark.parametrize("segment", Segment)
def test_every_segment_has_words(segment: Segment) -> None:
    said = misplaced(V, 256, segment)
    assert said.startswith("'ab' (id 256) cannot stand ")
    assert segment.name not in said


@each_case
def test_the_text_is_escaped(token_id: int, shown: str) -> None:
    assert misplaced(V, token_id, Segment.HEADER).startswith(f"{shown} cannot")


def test_the_text_is_short() -> None:
    assert len(misplaced(V, 258, Segment.CONTENT)) < 100
