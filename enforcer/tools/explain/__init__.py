"""Saying in words what a turn may go on with, and why an id is not legal.

`expecting` has the words for a place of a turn, and `why` the reasons; `turn` asks both, `trace`
does so for a whole turn, `table` and `page` show that to people. Inside of a text `cursor` finds
the place, `outline` the values of the grammar that may be due there, `arguments` the words, and
`questions` asks the engine about each before it is said. What is legal is not decided here.
Must not know: hosts.
"""

from enforcer.tools.explain.turn import ExplainedMatcher, explained
from enforcer.tools.explain.words import Expected, Explanation, Option

__all__ = ["Expected", "ExplainedMatcher", "Explanation", "Option", "explained"]
