"""Explanations in words: the legal continuations of a turn, and why a token id is illegal.

`expecting` has the words for a place of a turn; `turn` has the matcher, and the reasons why an id
is illegal; `trace` follows a whole turn, and `table` shows that to people. Inside a text `place`
reads from the machine what is open and may come, in every layout, and `arguments` has the words.
The mask decides what is legal. Must not know: hosts.
"""

from enforcer.tools.explain.turn import ExplainedMatcher, explained
from enforcer.tools.explain.words import Expected, Explanation, Option

__all__ = ["Expected", "ExplainedMatcher", "Explanation", "Option", "explained"]
