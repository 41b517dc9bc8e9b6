"""Saying in words what a turn may go on with, and why an id is not legal.

`arguments` reads the text of a call over its finished grammar (`outline`), `expecting` the places
around it, `why` has the reasons, `turn` asks both, `trace` does so for a whole turn token by token,
`table` and `page` show that to people. Nothing here decides what is legal: masks do, and words that
a mask contradicts are left out.
Must not know: hosts.
"""

from enforcer.explain.words import Expected, Explanation, Option

__all__ = ["Expected", "Explanation", "Option"]
