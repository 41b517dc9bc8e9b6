"""The command line `enforcer`: `check`, `explain`, `verify` and `doctor`.

Chooses the command, and turns errors into messages and exit statuses.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from enforcer.errors import EnforcerError
from enforcer.tools.cli import check, doctor, explain, output, verify
from enforcer.vllm.observe import metric_defs

USAGE = 2  # argparse's exit status for wrong usage
PIPE_CLOSED = 141  # as in shells: 128 and the signal's number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit status.

    0 is good, 1 is a finding (a rejected schema, a violation, something to mend), 2 means
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
    for command in (check, explain, verify, doctor):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        output.say()  # fails before any work if nothing can be written
        status: int = options.run(options)
    except EnforcerError as error:
        output.complain(error)
        if isinstance(error, output.Unwritable):
            output.discard()
        return USAGE
    except BrokenPipeError:
        output.discard()  # the reader of the output (`head`, say) has closed it
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return verify.INTERRUPTED
    return status
