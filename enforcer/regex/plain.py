"""Regular languages without intersections, complements and names, for notations without these.

Owns: the equivalent expression without those operators, by derivatives, within a budget.
Must not know: JSON, schemas, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, repeat
from enforcer.regex.derivative import RegexBudget, closure, successors
from enforcer.regex.elimination import TooLargeError, solve
from enforcer.regex.syntax import Concat, Repeat, Union

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


def plain(regex: Regex, budget: int) -> Regex:
    """Write a language without intersections, complements and names.

    Args:
        regex: any language.
        budget: greatest size of the result, and number of states of an automaton on the way.

    Raises:
        RegexBudget: over the budget.

    """
    if not regex.boolean:
        return regex
    if isinstance(regex, Concat):
        return concat(*(plain(part, budget) for part in regex.parts))
    if isinstance(regex, Union):
        return either(*(plain(part, budget) for part in regex.parts))
    if isinstance(regex, Repeat):
        return repeat(plain(regex.part, budget), regex.minimum, regex.maximum)

    def admit(_: Regex, before: int) -> None:
        if before >= budget:
            raise RegexBudget(budget)

    states, rows = closure(regex, successors, admit)
    equations: list[dict[int, Regex]] = []
    for row in rows:
        equations.append({})
        for members, to in row:
            equations[-1][to] = either(equations[-1].get(to, NOTHING), chars(members))
    ends: list[Regex] = [EPSILON if state.nullable else NOTHING for state in states]
    try:
        return solve(equations, ends, budget)
    except TooLargeError as error:
        raise RegexBudget(budget) from error
