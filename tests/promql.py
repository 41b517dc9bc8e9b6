"""What a PromQL expression reads: metrics, the labels it matches them by, and those it groups by.

Owns: just enough of the language for the expressions in `deploy/`. Must not know: which metrics
there are. `promtool` judges the syntax, where it is installed.
"""

import re
from dataclasses import dataclass

_WORDS = {
    *("by", "without", "on", "ignoring", "group_left", "group_right", "offset", "bool"),
    *("and", "or", "unless"),
}
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"(?<![\w.$\[])([a-zA-Z_:][\w:]*+)\s*+(\{[^}]*\})?(?!\()")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Selector:
    """One metric of an expression; `matchers` are label, operator, value."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]


def selectors(expression: str) -> list[Selector]:
    """Give every metric that an expression reads."""
    return [
        Selector(name, tuple(_MATCHER.findall(braces)))
        for name, braces in _SELECTOR.findall(_GROUPING.sub(" ", expression))
        if name not in _WORDS
    ]


def grouped_by(expression: str) -> set[str]:
    """Give every label that an expression groups or joins by."""
    found = _GROUPING.findall(expression)
    return {label.strip() for labels in found for label in labels.split(",")}
