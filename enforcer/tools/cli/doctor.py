"""The command `enforcer doctor`: checks of an installation, a model folder and a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError
from enforcer.tools.cli import flags
from enforcer.tools.cli.flags import path
from enforcer.tools.cli.output import number, say, say_json
from enforcer.tools.doctor import CheckResult, CheckStatus, installation
from enforcer.turn import dialects
from enforcer.vllm.config import names

if TYPE_CHECKING:
    import argparse

    from enforcer.tools.verify.client import Endpoint

_DESCRIPTION = """\
Checks this installation, with --model a model's folder too; with --url a running server
in its place. Each line says what was checked and what was found; the line below it, what
to do.

Exit status: 0 if nothing must be mended, 1 if something must, 2 on wrong usage."""
_SIGNS = {CheckStatus.OK: "ok  ", CheckStatus.NOTE: "note", CheckStatus.BAD: "BAD "}
_INDENT = " " * 6


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    told = "check an installation, a model, a running server"
    parser = flags.add_command(commands, run, "doctor", told, _DESCRIPTION)
    add = parser.add_argument
    flags.add_model(parser)
    add("--chat-template", type=path, metavar="FILE", help="template that the server is given")
    flags.add_dialect(parser, None, "by default the server's, else $ENFORCER_DIALECT")
    add("--url", help="a running server, checked in place of this installation: its base URL")
    add("--served-model", metavar="NAME", help="its model, if it serves several")
    flags.add_server(parser, timeout=60)
    add("--require-all", action="store_true", help="the server must enforce every request")
    flags.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        ConfigurationError: a dialect or URL that is none, a package that `--url` needs is
            missing, or `--require-all` has no server to ask.

    """
    if options.require_all and options.url is None:
        raise ConfigurationError("--require-all is asked of a server: name it with --url")
    if options.dialect is not None:
        dialects.named(names.stock(options.dialect))  # whatever else is checked
    checks: list[CheckResult] = []
    endpoint = None if options.url is None else flags.endpoint_of(options)
    for group, found in _groups(options, endpoint):
        if options.url and options.model and not options.json:
            say(f"{group}:")
        for check in found:
            checks.append(check)
            if not options.json:
                mend = [f"{_INDENT}{check.mend}"] if check.mend else []
                say(f"{_SIGNS[check.status]}  {check.name}: {check.found}", *mend)
    count = number(len(checks), "check")
    bad = sum(check.status is CheckStatus.BAD for check in checks)
    caveats = [check.caveat for check in checks if check.caveat]
    if options.json:
        values = [
            {"name": c.name, "status": c.status.value, "found": c.found, "mend": c.mend or None}
            for c in checks
        ]
        say_json({"checks": values, "bad": bad, "caveats": caveats})
    elif bad:
        say(f"{count}, {bad} to mend")
    elif caveats:
        say(f"{count}, none to mend, but {', and '.join(caveats)}")
    else:
        say(f"{count}, all well")
    return int(bad > 0)


def _groups(
    options: argparse.Namespace, endpoint: Endpoint | None
) -> Iterator[tuple[str, Iterable[CheckResult]]]:
    """Yield the checks that the options ask for, by what is checked.

    This environment says nothing of a server: its settings come from another shell, and its
    packages may be on another machine.
    """
    if endpoint is None:
        yield "this environment", installation.checks()
    dialect = options.dialect
    if options.model:
        from enforcer.tools.doctor import model

        template, trust = options.chat_template, options.trust_remote_code
        found = model.checks(
            options.model, dialect=dialect, template=template, trust_remote_code=trust
        )
        yield "the model's folder", found
    if endpoint is not None:
        from enforcer.tools.doctor import server

        name, require_all = options.served_model, options.require_all
        found = server.checks(endpoint, model=name, dialect=dialect, require_all=require_all)
        yield "the server", found
