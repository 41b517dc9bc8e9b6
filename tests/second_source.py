"""Instances by `hypothesis-jsonschema`, as a source that shares nothing with ours.

Owns: making version 0.23 of that package, which steps through a collection with `more()`,
work with versions of Hypothesis that iterate instead. Must not know: the compiler.
"""

from typing import Any

from hypothesis.internal.conjecture.utils import many
from hypothesis_jsonschema import from_schema

_DONE = object()
_steps: dict[int, Any] = {}


def _more(self: Any) -> bool:
    """Go on to the next element; False if there is none."""
    if not self._iterated:
        self.__enter__()
        _steps[id(self)] = iter(self)
    if next(_steps[id(self)], _DONE) is not _DONE:
        return True
    del _steps[id(self)]
    return False


if not hasattr(many, "more"):
    setattr(many, "more", _more)  # noqa: B010 - a checker knows that it is not there

__all__ = ["from_schema"]
