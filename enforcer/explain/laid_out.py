"""What may come next in arguments that are laid out otherwise than as JSON, in words.

Owns: putting together what is said of them as JSON, for which there are words (see `arguments`),
and of the layout itself. Must not know: turns, ids, how values are spelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.explain.arguments import options
from enforcer.explain.cursor import written
from enforcer.explain.pairs import Pairs
from enforcer.explain.python_arguments import PythonArguments
from enforcer.layouts import LayoutKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.budget.reading import Reading
    from enforcer.explain.outline import Outline
    from enforcer.explain.views import LaidOut
    from enforcer.explain.words import Option


def laid_out_options(
    given: LaidOut,
    outline: Outline,
    symbols: Sequence[int],
    read: Callable[[bytes], Reading],
    can: Callable[[Sequence[int]], bool],
) -> tuple[str, str, tuple[Option, ...]]:
    """Say what may come next.

    Args:
        given: the layout.
        outline: of the schema.
        symbols: the text so far.
        read: reads a JSON text.
        can: tells whether the engine lets these symbols follow.

    Returns:
        Where in the arguments that is, what has been begun there, and what may come.

    """
    is_python = given.layout.layout.kind is LayoutKind.PYTHON
    view: PythonArguments | Pairs = (
        PythonArguments(given, symbols, can) if is_python else Pairs(given, symbols, can)
    )
    found: dict[str, Option] = {}
    for text in view.as_json():
        reading = read(text)
        if reading.threads:
            for option in options(outline, reading, text, view.can, view.signs):
                found.setdefault(option.what, option)
    for option in view.own():
        found.setdefault(option.what, option)
    if not found:
        found.update((option.what, option) for option in view.unknown())
    now = view.spot
    path = (view.key,) if now.key else ()
    begun = view.untrimmed(now.value)
    return written(path), begun.decode("utf-8", "replace"), tuple(found.values())
