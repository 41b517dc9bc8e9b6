"""Intersection and emptiness of string languages, and the step counter of a compilation.

All answers are found within a budget of work. Must not know: formulas, keywords, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import SchemaLimit
from enforcer.regex import ANY, RegexBudget, both, finite_members, is_surely_empty
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema.limits import Limits

_STEPS_OF_EMPTINESS = 4
_SIZE_PER_STEP = 6  # size of derivatives explored: some 7 microseconds


class Languages:
    """Set operations on string languages within limits.

    Args:
        limits: bounds; `SchemaLimit` is raised above them.

    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._empty_regexes: dict[Regex, bool] = {}
        self._steps = 0

    def meet_strings(self, a: Regex | None, b: Regex | None) -> Regex | None:
        """Return the intersection of string languages; None if it is empty."""
        if a is None or b is None:
            return None
        result = a if b in (a, ANY) else b if a == ANY else self._checked(both(a, b))
        return None if self.is_empty_regex(result) else result

    def is_empty_regex(self, regex: Regex) -> bool:
        """Return whether a string language is surely empty; False if that takes too much work."""
        known = self._empty_regexes.get(regex)
        if known is None:
            self.spend(_STEPS_OF_EMPTINESS if regex.boolean else 0)
            # Undecided is treated as inhabited: that keeps every string that fits.
            known = self._empty_regexes[regex] = is_surely_empty(
                regex, budget=self._limits.regex_states, pay=self._explored
            )
        return known

    def _explored(self, size: int) -> None:
        self.spend(size // _SIZE_PER_STEP)

    def _checked(self, regex: Regex) -> Regex:
        if regex.size > self._limits.regex_size:
            reason = f"string patterns combine to one that is too large {named('regex_size')}"
            raise SchemaLimit.of("$", "pattern", reason)
        return regex

    def members(self, regex: Regex, limit: int) -> tuple[str, ...] | None:
        """Return the members of a string language; None if it may have more than `limit`."""
        try:
            return finite_members(regex, limit)
        except RegexBudget:
            return None

    def spend(self, steps: int) -> None:
        """Count steps of work; raise `SchemaLimit` above the limit of the compilation."""
        self._steps += steps
        if self._steps > self._limits.steps:
            raise SchemaLimit.of(
                "$",
                "",
                f"the schema's alternatives multiply beyond {self._limits.steps} steps "
                f"{named('steps')}; use fewer overlapping branches",
            )
