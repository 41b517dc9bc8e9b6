"""How far a measurement is, on standard error.

Owns: the bar where there is a terminal and `rich`, the lines where there is not. Must not know:
what is measured.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.cli.output import remark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Show how far it is; what is given is called for each of the total."""
    if quiet:
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
    except ModuleNotFoundError:
        yield _Lines(total).advance
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total).advance
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


@dataclass(slots=True)
class _Lines:
    """Progress as a line every tenth of the way, for logs and where `rich` is missing."""

    total: int
    done: int = 0

    def advance(self) -> None:
        before, self.done = self.done, self.done + 1
        if self.done * 10 // self.total > before * 10 // self.total:
            remark(f"{self.done} of {self.total} answered")
