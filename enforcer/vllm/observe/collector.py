"""The numbers of all of a server's processes, in Prometheus' form.

Owns: their sum, and its form. Must not know: which numbers there are, when they change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.vllm.observe import stats
from enforcer.vllm.observe.stats import Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_TABLE = 2  # of a counter with so many labels, only what is not zero is shown


class Collector:
    """Sums the numbers of all processes whenever Prometheus asks.

    Args:
        layout: which numbers there are.
        folder: gives the folder of the processes' files; None while there is none.

    """

    def __init__(self, layout: stats.Layout, folder: Callable[[], Path | None]) -> None:
        self._layout = layout
        self._folder = folder

    def describe(self) -> list[Any]:
        """Keep the registry from collecting in order to learn the names."""
        return []

    def collect(self) -> Iterator[Any]:
        """Give the families in Prometheus' form."""
        named = self._folder()
        snapshots = iter(()) if named is None else stats.read(self._layout, named)
        total = stats.total(self._layout, snapshots)
        for family in self._layout.families:
            first = self._layout.at(family)
            yield _shown(family, total[first : first + family.slots()])


def _shown(family: stats.Family, values: list[int]) -> Any:
    """Give a family in Prometheus' form."""
    from prometheus_client import core

    if isinstance(family, Histogram):
        histogram = core.HistogramMetricFamily(family.name, family.what)
        histogram.add_metric([], _buckets(family, values), values[-1] / 1e9)
        return histogram
    form = core.GaugeMetricFamily if isinstance(family, Gauge) else core.CounterMetricFamily
    counter = form(family.name, family.what, labels=[label for label, _ in family.labels])
    for key, value in zip(family.keys(), values, strict=True):
        if value or len(key) < _TABLE:
            counter.add_metric(key, value)
    return counter


def _buckets(family: Histogram, values: list[int]) -> list[tuple[str, float]]:
    """Give Prometheus' buckets, each of which counts those below it as well."""
    names = [repr(bound / 1e9) for bound in family.bounds] + ["+Inf"]
    reached = 0
    buckets = []
    for name, count in zip(names, values, strict=False):
        reached += count
        buckets.append((name, float(reached)))
    return buckets
