"""Two ways to change a program that Cosmic Ray lacks: a statement less, and `any` for `all`.

Owns: those operators, in the form that Cosmic Ray's own have. Must not know: what is mutated.
"""

from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Keyword, Name

_OPPOSITES = {"any": "all", "all": "any", "min": "max", "max": "min"}


class RemoveStatement(Operator):
    """Leave out what works by its effect: a call, a change of something, a `raise`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Find simple statements; removing an assignment to a name would but crash."""
        if node.type == "simple_stmt" and self._has_effect(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    @staticmethod
    def _has_effect(statement: Any) -> bool:
        if statement.type == "expr_stmt":
            target, sign = statement.children[0], statement.children[1]
            return bool(
                target.type == "atom_expr"
                or getattr(sign, "value", sign.type).endswith("=")
                * (getattr(sign, "value", "") != "=")
            )
        return statement.type in ("raise_stmt", "del_stmt") or (
            statement.type in ("atom_expr", "power") and statement.children[-1].type == "trailer"
        )

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002 - one way for each node
        """Put `pass` in its place."""
        first = node.get_first_leaf()
        node.children[0] = Keyword("pass", first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Show what it does, as Cosmic Ray asks for."""
        return (
            Example("f(x)\n", "pass\n"),
            Example("x += 1\n", "pass\n"),
            Example("self.x = 1\n", "pass\n"),
        )


class SwapBuiltin(Operator):
    """Call `any` instead of `all`, `min` instead of `max`, and the other way round."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Find names that are called or handed on."""
        if node.type == "name" and node.value in _OPPOSITES:
            before = node.get_previous_leaf()
            if before is None or before.value not in (".", "def", "import"):
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002 - one way for each node
        """Put the opposite in its place."""
        return Name(_OPPOSITES[node.value], node.start_pos, node.prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Show what it does, as Cosmic Ray asks for."""
        return (Example("all(x)", "any(x)"), Example("max(1, 2)", "min(1, 2)"))
