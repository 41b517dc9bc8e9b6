"""Numbers that several processes count and one of them reads.

Owns: families of counters, gauges and histograms with a fixed layout, the file that a
process keeps its numbers in, and their sum over all processes. A recorded number is a
store into mapped memory, and so survives the process that made it. Must not know: which
numbers there are, vLLM, Prometheus.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
import zlib
from bisect import bisect_left
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_WORD = 8
_FORMAT, _PROCESS, _HEAD = 0, 1, 2  # the first slots: fingerprint of the layout, process id
_SUFFIX = ".counts"


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts; `labels` lists every value that each label can have."""

    name: str
    what: str
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Give every combination of label values, in the order of the slots."""
        return tuple(product(*(values for _, values in self.labels)))

    def slots(self) -> int:
        """Say how many slots it has."""
        return len(self.keys())


@dataclass(frozen=True, slots=True)
class Gauge(Counter):
    """The present state of a process; a process that has ended has none."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations by upper bound in nanoseconds; the last slot is their sum."""

    name: str
    what: str
    bounds: tuple[int, ...]

    def slots(self) -> int:
        """Say how many slots it has."""
        return len(self.bounds) + 2  # one for what is above the last bound


Family = Counter | Histogram


class Layout:
    """Where each family's slots are; the same in every process of one version."""

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = tuple(families)
        self._at: dict[str, int] = {}
        self._keys: dict[tuple[str, tuple[str, ...]], int] = {}
        end = _HEAD
        for family in self.families:
            self._at[family.name] = end
            if isinstance(family, Counter):
                for offset, key in enumerate(family.keys()):
                    self._keys[family.name, key] = end + offset
            end += family.slots()
        self.size = end
        # Another version's file beside ours is not to be read with this layout.
        self.fingerprint = zlib.crc32(repr(self.families).encode())

    def at(self, family: Family) -> int:
        """Give a family's first slot."""
        return self._at[family.name]

    def of(self, counter: Counter, key: tuple[str, ...]) -> int:
        """Give the slot of a counter's label values; KeyError if they are not declared."""
        return self._keys[counter.name, key]


class Recorder:
    """The numbers of this process.

    Args:
        layout: where they are.
        folder: where the file is made; None keeps the numbers to this process.

    Raises:
        OSError: the file cannot be made, or there is no room for it.

    """

    def __init__(self, layout: Layout, folder: Path | None) -> None:
        self._layout = layout
        size = layout.size * _WORD
        if folder is None:
            memory = mmap.mmap(-1, size)
        else:
            with (folder / f"{os.getpid()}{_SUFFIX}").open("w+b", buffering=0) as file:
                # All of it now: where the disk is full when a page is first stored to, the kernel
                # ends the process (SIGBUS).
                if file.write(bytes(size)) < size:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                memory = mmap.mmap(file.fileno(), size)
        self._slots = memoryview(memory).cast("q")
        self._slots[_PROCESS] = os.getpid()
        self._slots[_FORMAT] = layout.fingerprint
        # vLLM fills masks on several threads; `+=` on a slot is not one step.
        self._lock = threading.Lock()

    def add(self, counter: Counter, key: tuple[str, ...] = (), count: int = 1) -> None:
        """Count; KeyError if the label values are not declared."""
        slot = self._layout.of(counter, key)
        with self._lock:
            self._slots[slot] += count

    def set(self, family: Counter, value: int, key: tuple[str, ...] = ()) -> None:
        """Set a gauge, or a counter that something else counts."""
        self._slots[self._layout.of(family, key)] = value

    def observer(self, histogram: Histogram) -> Callable[[int], None]:
        """Give what records a duration in nanoseconds; for the path of every token."""
        first, bounds = self._layout.at(histogram), histogram.bounds
        spent = first + len(bounds) + 1
        slots, lock = self._slots, self._lock

        def observe(nanoseconds: int) -> None:
            slot = first + bisect_left(bounds, nanoseconds)
            with lock:
                slots[slot] += 1
                slots[spent] += nanoseconds

        return observe


def total(layout: Layout, snapshots: Iterator[list[int]]) -> list[int]:
    """Sum processes' numbers, gauges over the processes that still run only."""
    gauges = {
        slot
        for family in layout.families
        if isinstance(family, Gauge)
        for slot in range(layout.at(family), layout.at(family) + family.slots())
    }
    result = [0] * layout.size
    for numbers in snapshots:
        runs = _runs(numbers[_PROCESS])
        for slot in range(_HEAD, layout.size):
            if runs or slot not in gauges:
                result[slot] += numbers[slot]
    return result


def read(layout: Layout, folder: Path) -> Iterator[list[int]]:
    """Read the numbers of all processes that have recorded into a folder."""
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            continue  # removed between the listing and the reading
        if len(data) == layout.size * _WORD:
            numbers = memoryview(data).cast("q").tolist()
            if numbers[_FORMAT] == layout.fingerprint:
                yield numbers


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
