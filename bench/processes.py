"""The memory of a server's processes, as Linux shows it.

Owns: reading `/proc`. Must not know: what the processes do.
"""

from __future__ import annotations

import os
from pathlib import Path

_KIB = 1024


def family(pid: int) -> dict[int, str]:
    """Give a process and all that it started, by what they call themselves."""
    found: dict[int, str] = {}
    ahead = [pid]
    while ahead:
        one = ahead.pop()
        try:
            words = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
            children = Path(f"/proc/{one}/task/{one}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        found[one] = _name(words, is_first=one == pid)
        ahead += map(int, children.split())
    return found


def _name(words: list[bytes], *, is_first: bool) -> str:
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


def _size(pid: int, line_of: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    sizes = [int(line.split()[1]) for line in lines if line.startswith(line_of)]
    return sizes[0] / _KIB if sizes else 0.0


def memory(pid: int) -> dict[str, float]:
    """Give the memory of each process below one, in MiB; small helpers together."""
    sizes: dict[str, float] = {}
    for one, name in family(pid).items():
        sizes[name] = sizes.get(name, 0.0) + resident(one)
    return sizes
