"""Reading and checking a turn with this library: the same questions as `stock` answers.

Owns: one enforcer a format. Must not know: vLLM.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import enforcer
from bench.formats.catalogue import ROWS
from enforcer.turn.matcher import Matcher
from enforcer.turn.parser import Parser
from tests.formats import vocabularies


@dataclass(frozen=True, slots=True)
class Read:
    """What a turn says; the fields are those of `stock.Reading`.

    Attributes:
        problem: where reading stopped, or that the turn did not end.

    """

    content: str
    calls: tuple[tuple[str, str], ...]
    reasoning: str
    problem: str


@cache
def served(name: str) -> enforcer.Enforcer:
    """Give the enforcer of a row."""
    return enforcer.Enforcer(
        vocabularies.vocabulary(name),
        ROWS[name].name,
        options=enforcer.Options(max_calls=3, preamble_ids=5),
    )


def prompt(name: str, *, thinks: bool = False) -> list[int]:
    """Give the ids of the end of a prompt."""
    row = ROWS[name]
    return vocabularies.ids(name, row.think if thinks else row.opening)


def matcher(name: str, tools: Sequence[Any], *, thinks: bool = False, **fields: Any) -> Matcher:
    """Start a turn."""
    return served(name).matcher(list(tools), prompt_ids=prompt(name, thinks=thinks), **fields)


def legal(name: str, ids: Sequence[int], tools: Sequence[Any], *, thinks: bool = False) -> int:
    """Count the leading ids of a turn that are legal."""
    turn = matcher(name, tools, thinks=thinks)
    return next((at for at, i in enumerate(ids) if not turn.accept(i)), len(ids))


def read(name: str, ids: Sequence[int], tools: Sequence[Any], *, thinks: bool = False) -> Read:
    """Read a whole turn."""
    schemas = {t["function"]["name"]: t["function"].get("parameters") for t in tools}
    parser = Parser(
        served(name).table, prompt(name, thinks=thinks), schemas.keys(), schemas.__getitem__
    )
    parser.feed(ids)
    parser.finish()
    turn = parser.turn()
    problem = "" if turn.ended and turn.stray is None else f"stray id at {turn.stray}"
    calls = tuple((call.name, call.arguments) for call in turn.calls)
    return Read(turn.content, calls, turn.reasoning, problem)
