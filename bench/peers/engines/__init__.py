"""The engines behind one small protocol, and the choice of one by name.

Owns: the protocol, what a refusal is, the rows of the table. Must not know: any engine's package
(each is imported in the process that measures it alone), cases, what is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from enforcer import Vocabulary


class RefusedError(Exception):
    """An engine says that it does not take a schema."""


class Matcher(Protocol):
    """The state of one text."""

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; `row` has the shape `(words,)`."""

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal."""

    def is_accepting(self) -> bool:
        """Tell whether the text may end here."""


class Grammar(Protocol):
    """A compiled schema."""

    def matcher(self) -> Matcher:
        """Start a text."""


class Engine(Protocol):
    """A compiler of schemas for one vocabulary."""

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema; raises `RefusedError` where the engine says that it does not take it.

        Any other exception counts as a crash.
        """


@dataclass(frozen=True, slots=True)
class Row:
    """An engine and its settings.

    Attributes:
        label: what the table calls it.
        module: of this package; its `build(vocabulary, **options)` is called.
        package: the distribution whose version is told.
        options: further arguments of `build`.

    """

    label: str
    module: str
    package: str
    options: tuple[tuple[str, bool], ...] = ()


# All settings are the engines' own, as vLLM calls them. Open, xgrammar takes undeclared properties
# as the standard has them; its `any_order=True` would give up `required` and unique names.
ROWS: dict[str, Row] = {
    "enforcer": Row("the Enforcer", "ours", "kimi-enforcer"),
    "llguidance": Row("llguidance", "llguidance", "llguidance"),
    "xgrammar": Row("xgrammar", "xgrammar", "xgrammar"),
    "xgrammar-open": Row("xgrammar, open", "xgrammar", "xgrammar", (("is_open", True),)),
    "outlines-core": Row("outlines-core", "outlines", "outlines-core"),
}


def load(name: str, vocabulary: Vocabulary) -> Engine:
    """Import an engine and build it for a vocabulary.

    Raises:
        ImportError: a package of it is not installed.

    """
    row = ROWS[name]
    adapter = import_module(f"{__name__}.{row.module}")
    build: Callable[..., Engine] = adapter.build
    return build(vocabulary, **dict(row.options))


def end_of(vocabulary: Vocabulary) -> int:
    """Give the id that is named the end of a text where an engine needs one."""
    end = vocabulary.controls.get("<|im_end|>")
    return min(vocabulary.control_ids) if end is None else end
