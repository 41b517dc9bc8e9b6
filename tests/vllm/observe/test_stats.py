import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.vllm.observe import stats
from enforcer.vllm.observe.stats import Count, Gauge, Histogram, Named

COUNTER = Count("calls", "Calls.", (("a", ("x", "y")), ("b", ("1", "2", "3"))))
PLAIN = Count("plain", "Without labels.")
GAUGE = Gauge("size", "Size.")
HISTOGRAM = Histogram("time", "Time.", bounds=(10, 100, 1000))
LAYOUT = stats.ValuesLayout((COUNTER, PLAIN, GAUGE, HISTOGRAM))


def values(family: Count | Gauge | Histogram, numbers: list[int]) -> list[int]:
    return [numbers[LAYOUT.of(family, key)] for key in family.keys()]  # noqa: SIM118


def summed(folder: Path) -> list[int]:
    return stats.total(LAYOUT, folder)


@given(
    durations=st.lists(st.integers(0, 3000)),
    keys=st.lists(st.sampled_from(COUNTER.keys())),
    size=st.integers(0, 10**9),
)
def test_what_was_recorded_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    durations: list[int],
    keys: list[tuple[str, ...]],
    size: int,
) -> None:
    folder = tmp_path_factory.mktemp("counts")
    recorder = stats.Recorder(LAYOUT, folder)
    observe = recorder.observer(HISTOGRAM)
    for duration in durations:
        observe(duration)
    for key in keys:
        recorder.add(COUNTER, key)
    recorder.set(GAUGE, size)
    numbers = summed(folder)
    assert values(GAUGE, numbers) == [size]
    assert values(PLAIN, numbers) == [0]
    assert values(COUNTER, numbers) == [keys.count(key) for key in COUNTER.keys()]  # noqa: SIM118
    assert values(HISTOGRAM, numbers) == [
        sum(d <= 10 for d in durations),
        sum(10 < d <= 100 for d in durations),
        sum(100 < d <= 1000 for d in durations),
        sum(d > 1000 for d in durations),
        sum(durations),
    ]


def test_undeclared_label_values_are_refused(tmp_path: Path) -> None:
    recorder = stats.Recorder(LAYOUT, tmp_path)
    with pytest.raises(KeyError):
        recorder.add(COUNTER, ("x", "4"))


def test_threads_lose_no_count(tmp_path: Path) -> None:
    recorder = stats.Recorder(LAYOUT, tmp_path)
    observe = recorder.observer(HISTOGRAM)

    def many() -> None:
        for _ in range(5000):
            observe(1)
            recorder.add(PLAIN)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    numbers = summed(tmp_path)
    assert values(PLAIN, numbers) == [20000]
    assert values(HISTOGRAM, numbers) == [20000, 0, 0, 0, 20000]


# Another process, which ends without a word, as an engine process does that is killed.
OTHER = """
import os, sys
from pathlib import Path
from enforcer.vllm.observe import stats
counter = stats.Count("plain", "Without labels.")
gauge = stats.Gauge("size", "Size.")
layout = stats.ValuesLayout((
    stats.Count("calls", "Calls.", (("a", ("x", "y")), ("b", ("1", "2", "3")))),
    counter, gauge, stats.Histogram("time", "Time.", bounds=(10, 100, 1000)),
))
recorder = stats.Recorder(layout, Path(sys.argv[1]))
recorder.add(counter, count=5)
recorder.set(gauge, 7)
os._exit(9)
"""


def test_a_dead_process_counts_but_has_no_state(tmp_path: Path) -> None:
    recorder = stats.Recorder(LAYOUT, tmp_path)
    recorder.add(PLAIN, count=2)
    recorder.set(GAUGE, 3)
    done = subprocess.run([sys.executable, "-c", OTHER, str(tmp_path)], check=False)
    assert done.returncode == 9
    numbers = summed(tmp_path)
    assert values(PLAIN, numbers) == [7]
    assert values(GAUGE, numbers) == [3]


def test_files_of_another_layout_are_left_out(tmp_path: Path) -> None:
    stats.Recorder(LAYOUT, tmp_path).add(PLAIN)
    (mine,) = tmp_path.iterdir()
    renamed = Count("other", "Renamed.")
    other = stats.ValuesLayout((COUNTER, renamed, GAUGE, HISTOGRAM))
    assert other.size == LAYOUT.size
    mine.rename(tmp_path / f"{LAYOUT.fingerprint}-1.counts")
    stats.Recorder(other, tmp_path).add(renamed, count=100)
    assert values(PLAIN, summed(tmp_path)) == [1]


@pytest.mark.parametrize("room", [0, 100])
def test_a_file_without_room_is_an_error_when_it_is_made(tmp_path: Path, room: int) -> None:
    """As on a full disk: later, the kernel would end the process that stores a number there."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OSError, match=r"too large|No space left"):
            stats.Recorder(LAYOUT, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    stats.Recorder(LAYOUT, tmp_path).add(PLAIN)
    assert values(PLAIN, summed(tmp_path)) == [1]


def test_every_page_of_a_file_has_its_place_on_the_disk(tmp_path: Path) -> None:
    stats.Recorder(LAYOUT, tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_blocks * 512 >= file.stat().st_size


def test_an_empty_folder_sums_to_nothing(tmp_path: Path) -> None:
    assert set(summed(tmp_path)) == {0}


NAMED = Named("tools", "By name.", (("tool", (stats.OTHER,)), ("kind", ("x", "y"))))
WITH_NAMES = stats.ValuesLayout((PLAIN, NAMED))


def test_names_have_a_bound_and_a_form(tmp_path: Path) -> None:
    recorder = stats.Recorder(WITH_NAMES, tmp_path)
    for kind in ("x", "y"):
        recorder.add_named(NAMED, 'a"b{}', (kind,))
        recorder.add_named(NAMED, "n" * 65, (kind,))
        for number in range(stats.MOST_NAMES + 10):
            recorder.add_named(NAMED, f"tool-{number}", (kind,))
    found = stats.total_named(WITH_NAMES, tmp_path)["tools"]
    wanted = {(f"tool-{n}", kind): 1 for n in range(stats.MOST_NAMES) for kind in ("x", "y")}
    assert found == wanted | {(stats.OTHER, kind): 12 for kind in ("x", "y")}
    assert stats.total(WITH_NAMES, tmp_path) == [0]  # their file has no slots
    stats.Recorder(WITH_NAMES, None).add_named(NAMED, "a", ("x",))
    for file in tmp_path.iterdir():
        file.unlink()
    tmp_path.rmdir()
    recorder.add_named(NAMED, "a", ("x",))


def test_names_of_all_processes_are_summed_and_shown(tmp_path: Path, monkeypatch: Any) -> None:
    for pid in (1, 2):
        monkeypatch.setattr("os.getpid", lambda: pid)  # noqa: B023 - called at once
        recorder = stats.Recorder(WITH_NAMES, tmp_path)
        recorder.add_named(NAMED, "a", ("x",))
        recorder.add_named(NAMED, "a", ("x",))
    shown = {one.name: one for one in stats.Collector(WITH_NAMES, lambda: tmp_path).collect()}
    (sample,) = shown["tools"].samples
    assert (sample.labels, sample.value) == ({"tool": "a", "kind": "x"}, 4)
