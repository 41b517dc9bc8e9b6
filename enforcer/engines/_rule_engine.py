"""What engines have in common that take rules without parameters, in a notation of their own.

Owns: which rules they are given, and what no rules can say. Must not know: any notation, matchers.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from enforcer.engines import ArgumentEngine
from enforcer.engines._rule_writer import rules_of, rules_of_text
from enforcer.errors import ConfigurationError

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.engines._rules import Rules
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar


class RuleEngine(ArgumentEngine):
    """Compiles rules; each engine says how they are written, and reads that.

    Attributes:
        orders: sets of properties told apart in one object, each by a rule of its own: 2 to the
            power of n for n declared ones.
        rules: rules in all.
        nests: whether a value may hold itself.

    """

    orders: int
    rules: int
    nests: bool

    @abstractmethod
    def notate(self, rules: Rules) -> str:
        """Write rules as `read` takes them.

        Raises:
            UnsupportedSchema: this engine cannot express them.

        """

    def write(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
        """Write a grammar as rules.

        Raises:
            UnsupportedSchema: what rules, or this engine, cannot say.
            ConfigurationError: a layout other than JSON with the usual white space.

        """
        if layout is not None and not layout.plain:
            raise ConfigurationError(
                f"engine {self.name!r} masks arguments in JSON only; choose 'machine' for this "
                "dialect"
            )
        return self.notate(
            rules_of(grammar, orders=self.orders, rules=self.rules, nests=self.nests)
        )

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse what `compile_text` refuses: a regular language leads nowhere else."""
        self.compile_text(wanted)

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a regular expression or a choice.

        Raises:
            UnsupportedSchema: a grammar, an expression that is not regular, or too many states.

        """
        return self.read(self.notate(rules_of_text(wanted)))
