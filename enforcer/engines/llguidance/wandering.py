"""Texts at random, which show whether a grammar that is a client's own leads nowhere.

What a schema becomes has no dead ends by construction, and its texts are chosen (`probes`). Of a
grammar that somebody has written nothing is known: a rule may ask for what no text has, or for a
control token, which no text of a reply may have; and a mask may take long anywhere.

Owns: how many texts are tried, and how they go on. Must not know: notations, who is told of it.
"""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import members
from enforcer.errors import EngineFailure

if TYPE_CHECKING:
    from enforcer.engines.llguidance.grammar import LLGuidanceGrammar, LLGuidanceMatcher
    from enforcer.vocabulary import Vocabulary

_TEXTS = 8
_IDS = 48  # of each
_SECONDS = 0.5  # of processor time, for all
_NOTHING_FITS = "NoExtension"  # what llguidance calls a text that is not complete, and stuck


def dead_end(grammar: LLGuidanceGrammar, vocabulary: Vocabulary) -> str | None:
    """Look for a text that is not complete, and that nothing may follow.

    The same texts each time. None found does not mean that there is none.

    Raises:
        EngineFailure: the engine gave up on one of the texts.

    """
    until = time.thread_time() + _SECONDS
    for seed in range(_TEXTS):
        ids: list[int] = []
        if _is_stuck(grammar.matcher(), vocabulary, Random(seed), ids, until):  # noqa: S311
            text = b"".join(map(vocabulary.token_bytes, ids))
            return text.decode(errors="replace")
    return None


def _is_stuck(
    matcher: LLGuidanceMatcher,
    vocabulary: Vocabulary,
    random: Random,
    ids: list[int],
    until: float,
) -> bool:
    """Follow a text at random, noting its ids."""
    row = np.zeros(vocabulary.words, np.int32)
    while len(ids) < _IDS and time.thread_time() < until:
        try:
            matcher.fill(row)
        except EngineFailure as error:
            if _NOTHING_FITS in str(error):
                return True
            raise
        legal = members(row)
        if not len(legal):
            return not matcher.is_accepting()
        ids.append(int(legal[random.randrange(len(legal))]))
        matcher.accept(ids[-1])
    return False
