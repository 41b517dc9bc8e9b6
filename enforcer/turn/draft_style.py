"""Style of the texts that a model writes, and caches, shared by the drafters of a format.

A server has one model, so the style that was seen last is taken for that of the next turn.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from enforcer.engines import Startable
    from enforcer.vocabulary import Vocabulary

_KEPT = 16_384  # texts whose token ids are kept
# The style of `json.dumps`, and of tags on lines of their own; see `enforcer.kernel.drafts`.
_USUAL = 27


class DraftStyle:
    """The style and the caches that the drafters of one table share.

    Args:
        vocabulary: the table's.

    Attributes:
        style: of the texts that were written last; see `TextMatcher.draft`.
        ids: returns the token ids of a text.
        beginnings: by grammar, the likely beginnings of its texts by length, style and policy.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.style = _USUAL
        self._vocabulary = vocabulary
        self.ids = lru_cache(_KEPT)(self._find_ids)
        self.beginnings: WeakKeyDictionary[Startable, dict[tuple[int, ...], list[bytes | int]]]
        self.beginnings = WeakKeyDictionary()

    def _find_ids(self, data: bytes) -> tuple[int, ...]:
        try:
            return tuple(self._vocabulary.encode(data.decode()))
        except UnicodeDecodeError:  # it begins or ends within a character
            return tuple(self._vocabulary.pieces(data))
