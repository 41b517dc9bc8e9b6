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

    @property
    def unenforced(self) -> tuple[str, ...]:
        """Names of what the schema says and the engine admits not to hold to."""

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
    """An engine with its settings.

    Attributes:
        label: how the table calls it.
        module: the adapter, below this package; its `build(vocabulary, **options)` is called.
        packages: distributions whose versions are told.
        settings: how it is called, in words.
        options: further arguments of `build`.

    """

    label: str
    module: str
    packages: tuple[str, ...]
    settings: str
    options: tuple[tuple[str, bool], ...] = ()


ROWS: dict[str, Row] = {
    "enforcer": Row(
        "the Enforcer",
        "ours",
        ("kimi-enforcer",),
        "all settings as they come",
    ),
    "llguidance": Row(
        "llguidance",
        "llguidance",
        ("llguidance",),
        "its own compiler of JSON Schema, all settings as they come, which is how vLLM calls it",
    ),
    "xgrammar": Row(
        "xgrammar",
        "xgrammar",
        ("xgrammar",),
        "as vLLM calls it (what an object does not declare is forbidden; properties in the order "
        "of their declaration), with one thread and a cache of 512 MiB",
    ),
    "xgrammar-open": Row(
        "xgrammar, open",
        "xgrammar",
        ("xgrammar",),
        "the same with `strict_mode=False`, by which undeclared properties are as the standard has "
        "them; not with `any_order=True`, which gives up `required` and unique names",
        options=(("is_open", True),),
    ),
    "outlines-core": Row(
        "outlines-core",
        "outlines",
        ("outlines-core",),
        "`build_regex_from_schema`, `Index`, `Guide`, which is how vLLM calls it",
    ),
    "grid": Row(
        "GRID",
        "grid",
        ("grid-guardrail", "grid-core"),
        "default mode with its Rust kernel, the session of its vLLM backend, and the second try "
        "after an LALR conflict that its documentation describes; without the thread that "
        "computes masks while a model runs, for here none does",
    ),
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
