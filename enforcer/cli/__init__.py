"""The command line `enforcer`: `check`, `explain`, `verify` and `doctor`.

Owns: choosing the command, and what every one of them does with errors. Must not know:
what a command does.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from enforcer.cli import output
from enforcer.cli.check import add_parser as add_check
from enforcer.cli.doctor import add_parser as add_doctor
from enforcer.cli.explain import add_parser as add_explain
from enforcer.cli.verify import INTERRUPTED
from enforcer.cli.verify import add_parser as add_verify
from enforcer.errors import EnforcerError
from enforcer.vllm.observe import metric_defs

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 2  # as argparse exits on wrong usage
PIPE_CLOSED = 141  # as shells have it, 128 and the signal's number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.

    0 is good, 1 is a finding (a refused schema, a violation, something to mend), 2 means
    that the command could not do its work.
    """
    output.prepare()
    parser = argparse.ArgumentParser(
        prog="enforcer",
        description="Constrains the tool calls of served models: nothing undeclared, "
        "nothing off schema.",
    )
    version = f"%(prog)s {metric_defs.installed('kimi-enforcer')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (add_check, add_explain, add_verify, add_doctor):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        output.say()  # before any work
        status: int = options.run(options)
    except EnforcerError as error:
        output.complain(error)
        if isinstance(error, output.Unwritable):
            output.discard()
        return USAGE
    except BrokenPipeError:
        output.discard()  # whoever read the output (`head`, say) has had enough
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status
