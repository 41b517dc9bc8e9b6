"""The memory of a server's processes, as Linux shows it.

Owns: reading `/proc`. Must not know: what the processes do.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

CHECKS = "checks"
_KIB = 1024


def family(pid: int) -> dict[int, str]:
    """Give a process and all that it started, by what they call themselves."""
    found: dict[int, str] = {}
    ahead = [pid]
    while ahead:
        one = ahead.pop()
        try:
            words = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
            children = _children(one)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        found[one] = _name(words, is_first=one == pid)
        ahead += children
    return found


def _children(pid: int) -> list[int]:
    """List what any thread of a process has started; one that has just ended has none."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (thread / "children").read_text().split())
    return found


def _name(words: list[bytes], *, is_first: bool) -> str:
    if b"enforcer.checking.worker" in words:
        return CHECKS
    title = words[0].decode(errors="replace").strip()
    if "::" in title:
        return title.rpartition("::")[2].split()[0]  # vLLM names those that it starts
    return "API server" if is_first else "helper"


def resident(pid: int) -> float:
    """Give a process's resident memory in MiB; 0 if it has ended."""
    return _size(pid, "VmRSS:")


def peak(pid: int) -> float:
    """Give the most resident memory that a process has had, in MiB; 0 if it has ended."""
    return _size(pid, "VmHWM:")


def processor(pid: int) -> float:
    """Give the seconds of processor time that a process has used; 0 if it has ended."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    user, system = line.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def share(pid: int) -> float:
    """Give a process's memory in MiB, what it shares with others counted in part; 0 if it ended."""
    return _size(pid, "Pss:", "smaps_rollup")


def _size(pid: int, line_of: str, file: str = "status") -> float:
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    sizes = [int(line.split()[1]) for line in lines if line.startswith(line_of)]
    return sizes[0] / _KIB if sizes else 0.0


def memory(pid: int) -> dict[str, float]:
    """Give the memory of each process below one, in MiB; small helpers together.

    So are those that check schemas (`CHECKS`), which are forks of one process: what they share
    counts once.
    """
    sizes: dict[str, float] = {}
    for one, name in family(pid).items():
        own = share(one) if name == CHECKS else resident(one)
        sizes[name] = sizes.get(name, 0.0) + own
    return sizes
