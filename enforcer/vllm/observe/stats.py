"""Counters, gauges and histograms of all processes of a server, shown by any process.

Each process stores its numbers in a memory-mapped file of its own, with a slot for every declared
combination of label values, so that they outlive it. `Collector` sums all files of a folder in
Prometheus' form. `prometheus_client`'s multiprocess mode would change vLLM's own metrics, as it is
on for a whole process, and takes twice as long to store a duration (2 µs, of a mask of some 1.2).
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import re
import threading
import zlib
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from pathlib import Path
from typing import Any

_WORD = 8
_TABLE = 2  # labels, from which on a counter shows no zeros
MOST_NAMES = 64  # names of a `Named` family in a process
OTHER = "other"  # the label of further names, and of malformed ones
_NAMES = "names-"  # begins the name of a file
_NAME = re.compile(r"[\w./-]{1,64}", re.ASCII)

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers under one name; `labels` lists every value that each label can have."""

    name: str
    what: str
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """Return every combination of label values, in the order of the slots."""
        return tuple(product(*(values for _, values in self.labels)))


class Count(Family):
    """Counts, also of processes that have ended."""


class Named(Count):
    """Counts by a name that clients and models write, and by declared labels behind it.

    The names have no slots: a file of their own has the first `MOST_NAMES`.
    """

    def keys(self) -> tuple[Key, ...]:
        """Return nothing: no combination is declared."""
        return ()


class Gauge(Family):
    """The present state of a process; a process that has ended has none."""


@dataclass(frozen=True, slots=True)
class Histogram(Family):
    """Durations by upper bound in nanoseconds; the last slot is their sum."""

    bounds: tuple[int, ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """Return the bounds in seconds, as Prometheus writes them, and the sum's name."""
        return (*((repr(bound / 1e9),) for bound in self.bounds), ("+Inf",), ("sum",))


class ValuesLayout:
    """Where each family's slots are; the same in every process of one version."""

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = tuple(families)
        slots = [(family, key) for family in families for key in family.keys()]  # noqa: SIM118
        self._at = {(family.name, key): at for at, (family, key) in enumerate(slots)}
        self.size = len(slots)
        self.gauges = [at for at, (family, _) in enumerate(slots) if isinstance(family, Gauge)]
        self.named = tuple(each for each in self.families if isinstance(each, Named))
        # Begins a file's name: another version's beside ours is not to be read with this layout.
        self.fingerprint = f"{zlib.crc32(repr(self.families).encode()):08x}"

    def of(self, family: Family, key: Key = ()) -> int:
        """Return the slot of label values; KeyError if they are not declared."""
        return self._at[family.name, key]


class Recorder:
    """The numbers of this process.

    Args:
        layout: where they are.
        folder: where the file is made; None keeps the numbers to this process.

    Raises:
        OSError: the file cannot be made, or there is no room for it.

    """

    def __init__(self, layout: ValuesLayout, folder: Path | None) -> None:
        self._layout = layout
        size = layout.size * _WORD
        memory: bytearray | mmap.mmap = bytearray(size)
        if folder is not None:
            with (folder / f"{layout.fingerprint}-{os.getpid()}.counts").open(
                "w+b", buffering=0
            ) as file:
                # Written at once: if the disk is full when a page is first stored to, the kernel
                # ends the process (SIGBUS).
                if file.write(bytes(size)) < size:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                memory = mmap.mmap(file.fileno(), size)
        self._slots = memoryview(memory).cast("q")
        self._folder = folder
        self._named: dict[str, Tally[Key]] = {each.name: Tally() for each in layout.named}
        # A function that records a duration in nanoseconds; for the path of every token.
        self.observer = cache(self._observer)
        # vLLM fills masks on several threads; `+=` on a slot is not one step.
        self._lock = threading.Lock()

    def add(self, counter: Family, key: Key = (), count: int = 1) -> None:
        """Count; KeyError if the label values are not declared."""
        slot = self._layout.of(counter, key)
        with self._lock:
            self._slots[slot] += count

    def add_named(self, family: Named, name: str, key: Key = ()) -> None:
        """Count by a name, of which a process has `MOST_NAMES`; one more is `OTHER`.

        Where the file of the names cannot be written, the counts stay unseen.

        """
        with self._lock:
            counts = self._named[family.name]
            known = {each[0] for each in counts} - {OTHER}
            is_new = name not in known and len(known) < MOST_NAMES and _NAME.fullmatch(name)
            counts[(name if name in known or is_new else OTHER, *key)] += 1
            if self._folder is None:
                return
            shown = {each: [*counts.items()] for each, counts in self._named.items()}
            file = self._folder / f"{_NAMES}{self._layout.fingerprint}-{os.getpid()}.json"
            # A reader sees the whole old file or the whole new one.
            written = file.with_suffix(".new")
            with suppress(OSError):
                written.write_text(json.dumps(shown), encoding="utf-8")
                written.replace(file)

    def set(self, family: Family, value: int, key: Key = ()) -> None:
        """Set a gauge, or a counter that something else counts."""
        self._slots[self._layout.of(family, key)] = value

    def _observer(self, histogram: Histogram) -> Callable[[int], None]:
        first, *_, spent = (self._layout.of(histogram, key) for key in histogram.keys())  # noqa: SIM118
        bounds, slots, lock = histogram.bounds, self._slots, self._lock

        def observe(nanoseconds: int) -> None:
            slot = first + bisect_left(bounds, nanoseconds)
            with lock:
                slots[slot] += 1
                slots[spent] += nanoseconds

        return observe


def total(layout: ValuesLayout, folder: Path | None) -> list[int]:
    """Sum the numbers of all processes that have recorded into a folder.

    A process that has ended has no gauges.
    """
    import psutil  # vLLM has it

    result = [0] * layout.size
    for file in folder.glob(f"{layout.fingerprint}-*") if folder else ():
        with suppress(FileNotFoundError):  # removed since it was listed
            data = file.read_bytes().ljust(layout.size * _WORD, b"\0")  # one without room is short
            numbers = memoryview(data).cast("q").tolist()
            if not psutil.pid_exists(int(file.stem.partition("-")[2])):
                for slot in layout.gauges:
                    numbers[slot] = 0
            result = [a + b for a, b in zip(result, numbers, strict=True)]
    return result


def total_named(layout: ValuesLayout, folder: Path | None) -> dict[str, Tally[Key]]:
    """Sum the counts by names of all processes that have recorded into a folder, by family."""
    result: dict[str, Tally[Key]] = {each.name: Tally() for each in layout.named}
    for file in folder.glob(f"{_NAMES}{layout.fingerprint}-*.json") if folder else ():
        with suppress(FileNotFoundError):  # removed since it was listed
            for family, counts in json.loads(file.read_text("utf-8")).items():
                for key, count in counts:
                    result[family][tuple(key)] += count
    return result


class Collector:
    """Sums the numbers of all processes whenever Prometheus asks.

    Args:
        layout: which numbers there are.
        folder: returns the folder of the processes' files; None while there is none.

    """

    def __init__(self, layout: ValuesLayout, folder: Callable[[], Path | None]) -> None:
        self._layout = layout
        self._folder = folder

    def collect(self) -> Iterator[Any]:
        """Return the families in Prometheus' form."""
        from prometheus_client import core

        numbers = total(self._layout, self._folder())
        named = total_named(self._layout, self._folder())
        for family in self._layout.families:
            values = {key: numbers[self._layout.of(family, key)] for key in family.keys()}  # noqa: SIM118
            values |= named.get(family.name, {})
            if isinstance(family, Histogram):
                *counts, spent = values.values()
                reached = accumulate(counts)  # each bucket includes all lower ones
                buckets = [(le, float(n)) for (le,), n in zip(values, reached, strict=False)]
                shown: Any = core.HistogramMetricFamily(family.name, family.what)
                shown.add_metric([], buckets, spent / 1e9)
            else:
                is_gauge = isinstance(family, Gauge)
                form = core.GaugeMetricFamily if is_gauge else core.CounterMetricFamily
                shown = form(family.name, family.what, labels=[label for label, _ in family.labels])
                for key, value in values.items():
                    if value or len(key) < _TABLE:
                        shown.add_metric(key, value)
            yield shown
