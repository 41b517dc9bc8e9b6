"""Regular languages without intersections, complements and names, for notations without these.

Owns: the equivalent expression without those operators, by its automaton, within a budget.
Must not know: JSON, schemas, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import minimal
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, repeat
from enforcer.regex.derivative import RegexBudget
from enforcer.regex.elimination import solve
from enforcer.regex.syntax import Concat, Repeat, State, Union, moves

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
    try:
        found, _, _ = minimal(explore((regex,), budget))
        equations: list[dict[int, Regex]] = [
            {to.number: chars(members) for members, to in moves(State(found, at))}
            for at in range(len(found.accepts))
        ]
        ends: list[Regex] = [EPSILON if accepts else NOTHING for accepts in found.accepts]
        return solve(equations, ends, budget)
    except TooLargeError as error:
        raise RegexBudget(budget) from error
