"""Processes: run to their end, and as Linux shows them.

Owns: reading `/proc`. Must not know: what the processes are.
"""

import subprocess
from pathlib import Path
from typing import Any


def run(*command: str, check: bool = False, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and read its outputs; with `check` it has to succeed."""
    return subprocess.run(command, check=check, capture_output=True, text=True, **more)


def descendants(pid: int) -> list[int]:
    """Return the ids of a process's children, and of theirs; none if it has gone."""
    found = []
    try:
        threads = [*Path("/proc").glob(f"{pid}/task/*/children")]  # each has its own
    except (FileNotFoundError, ProcessLookupError):
        return []  # it has gone while they were listed
    for listed in threads:
        try:
            found += [int(child) for child in listed.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended
    return found + [below for child in found for below in descendants(child)]


def is_running(pid: int) -> bool:
    """Tell whether a process exists and has not ended; a zombie has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
