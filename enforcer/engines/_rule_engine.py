"""Base of the engines that compile rules.

Owns: what such an engine is given. Must not know: notations, matchers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines import ArgumentEngine
from enforcer.engines._rules import RuleWriter
from enforcer.errors import ConfigurationError

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar


class RuleEngine(ArgumentEngine):
    """Compiles rules.

    Attributes:
        properties: greatest number of declared properties of one object.
        is_inline: whether there are no rules, so that no value may hold itself.

    """

    properties: int
    is_inline: bool

    def write(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
        """Write a grammar as rules.

        Raises:
            UnsupportedSchema: rules cannot say it, or this engine cannot hold them.
            ConfigurationError: a layout other than JSON with the usual white space.

        """
        if layout is not None and not layout.plain:
            raise ConfigurationError(
                f"engine {self.name!r} masks arguments in JSON only; choose 'machine' for this "
                "dialect"
            )
        writer = RuleWriter(self.properties, is_inline=self.is_inline)
        return self.checked(writer.grammar(grammar))

    def checked(self, written: str) -> str:
        """Return written rules if the engine holds them.

        Raises:
            UnsupportedSchema: it does not.

        """
        return written

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse what `compile_text` refuses."""
        self.compile_text(wanted)

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a regular expression or a choice.

        Raises:
            UnsupportedSchema: a grammar, an expression that is not regular, or too many states.

        """
        writer = RuleWriter(self.properties, is_inline=self.is_inline)
        return self.read(self.checked(writer.text_format(wanted)))
