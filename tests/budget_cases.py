"""Schemas whose shortest instances differ in kind, and turns that have to end in time.

Owns: those schemas, an enforcer that finishes within a budget, and drawing a turn from its masks.
Must not know: how the shortest end is found.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest

import enforcer
from enforcer import kernel
from enforcer.api import Enforcer
from enforcer.errors import BudgetTooSmall
from enforcer.layouts import JSON, BoundLayout
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import ArgumentGrammar, Root, compile_schema
from enforcer.turn.matcher import Matcher
from tests import vocabularies
from tests.support import cases
from tests.vocabularies import row_of, small, write

V = small()
HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


SCHEMAS = cases.schemas("cases/budget.toml")

# No end of such arguments is found in time.
ENDLESS = of(x={"type": "string", "minLength": 10**9})


@cache
def _tree() -> kernel.Tree:
    return bound_vocabulary(V)


def machine(grammar: ArgumentGrammar, layout: BoundLayout = JSON) -> MachineGrammar:
    """Compile a grammar for the machine."""
    return MachineGrammar(tables_of(grammar, layout), _tree())


def shortest(schema: dict[str, Any], root: Root = Root.OBJECT) -> int:
    """Count the ids of the shortest text."""
    return machine(compile_schema(schema, root=root)).matcher().end_cost()


def tool(schema: dict[str, Any], name: str = "get") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@cache
def served() -> Enforcer:
    options = enforcer.Options(max_calls=3, preamble_ids=5, finish_within_budget=True)
    return enforcer.Enforcer(V, options=options)


def start(
    budget: int | None, schema: str = "plain", choice: str = "required", tail: str = "", **more: Any
) -> Matcher:
    prompt = write(V, HEADER + tail)
    tools = [tool(SCHEMAS[schema])]
    return served().matcher(tools, choice, prompt_ids=prompt, budget=budget, **more)


def leave(matcher: Matcher, total: int) -> None:
    """Change the budget of a turn, in the middle of it."""
    deadline: Any = matcher._deadline
    deadline.total = total
    deadline.go_back()


def least_budget(**how: Any) -> int:
    return needed(lambda budget: start(budget, **how))


def needed(begun: Callable[[int], object]) -> int:
    """Return the least budget by what the refusal of none says."""
    with pytest.raises(BudgetTooSmall) as caught:
        begun(0)
    return int(caught.value.reason.split(" takes ")[1].split()[0])


def drawn(matcher: Matcher, random: Random, budget: int) -> list[int]:
    """Draw a turn; masks and `accept` have to agree, and so do masks after going back."""
    ids: list[int] = []
    rows: list[Any] = []
    while len(ids) < budget and matcher.state != "END":
        rows[len(ids) :] = [row_of(matcher)]
        assert matcher.failure is None, repr(matcher.failure)
        allowed = sorted(vocabularies.bits(rows[-1]))
        other = random.randrange(V.size)
        if other not in allowed:
            assert not matcher.accept(other)
        ids.append(random.choice(allowed))
        assert matcher.accept(ids[-1])
        if random.random() < 0.1:
            count = random.randint(0, len(ids))
            matcher.rollback(count)
            del ids[len(ids) - count :]
            assert count == 0 or (row_of(matcher) == rows[len(ids)]).all()
    return ids
