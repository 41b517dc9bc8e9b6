"""Error messages about token ids that a prompt has in an illegal position.

Owns: the words for the segments of a turn. Must not know: masks, what is legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import brief
from enforcer.turn.dialect import Segment

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary

_WHERE = {
    Segment.REASONING: "in the reasoning",
    Segment.CONTENT: "in the text of the reply",
    Segment.HEADER: "in the header of a call, where the name of a tool that may be called is due",
    Segment.ARGUMENTS: "in the arguments of a call, which must fit the tool's schema",
    Segment.NONE: "between the parts of the turn, where only a marker of the format can",
}


def misplaced(vocabulary: Vocabulary, token_id: int, segment: Segment) -> str:
    """Describe that a token cannot stand in a segment; its text is escaped and shortened."""
    text = "no text"
    if 0 <= token_id < vocabulary.size:
        text = brief(vocabulary.token_bytes(token_id).decode("utf-8", "backslashreplace"))
    return f"{text} (id {token_id}) cannot stand {_WHERE[segment]}"
