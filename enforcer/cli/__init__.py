"""The command line `enforcer`: `check`, `verify` and `doctor`.

Owns: choosing the command, and what every one of them does with errors. Must not know:
what a command does.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from enforcer.cli.check import add_parser as add_check
from enforcer.cli.doctor import add_parser as add_doctor
from enforcer.cli.verify import add_parser as add_verify
from enforcer.errors import EnforcerError

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 2  # as argparse exits on wrong usage
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.

    0 is good, 1 is a finding (a refused schema, a violation, something to mend), 2 means
    that the command could not do its work.
    """
    parser = argparse.ArgumentParser(
        prog="enforcer",
        description="Constrains the tool calls of Kimi models: nothing undeclared, "
        "nothing off schema.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (add_check, add_verify, add_doctor):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except EnforcerError as error:
        print(f"enforcer: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    return status
