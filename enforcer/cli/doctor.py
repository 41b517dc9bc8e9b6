"""`enforcer doctor`: checks an installation, a model folder and a running server.

Owns: the command's options, what it prints and its exit status. Must not know: what is
checked (that is `enforcer.doctor`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from enforcer.cli.options import add_command, add_model, missing, path, positive
from enforcer.cli.output import say, say_json
from enforcer.diagnosis import Check, Status
from enforcer.doctor import installation
from enforcer.errors import ConfigurationError
from enforcer.turn import dialects
from enforcer.verify import KEY_VARIABLE
from enforcer.vllm.config import names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from enforcer.verify.client import Endpoint

_DESCRIPTION = """\
Checks this installation, with --model a model's folder too; with --url a running server
in its place. Each line says what was checked and what was found; the line below it, what
to do.

An operator may want a server that enforces only requests that ask for it, or that serves
schemas which cannot be enforced exactly: both are notes, and the last line says so. With
--require-all the former is a fault.

Exit status: 0 if nothing must be mended, 1 if something must, 2 on wrong usage."""
_SIGNS = {Status.OK: "ok  ", Status.NOTE: "note", Status.BAD: "BAD "}
_INDENT = " " * 6


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = add_command(
        commands, run, "doctor", "check an installation, a model, a running server", _DESCRIPTION
    )
    add_model(parser)
    parser.add_argument(
        "--chat-template", type=path, metavar="FILE", help="template that the server is given"
    )
    parser.add_argument(
        "--dialect", metavar="NAME",
        help="the model's format: a dialect, or the name of vLLM's parser for it "
        "(default: the one that the server at --url names, else $ENFORCER_DIALECT)",
    )  # fmt: skip
    parser.add_argument(
        "--url", help="base URL of a running server, checked in place of this installation"
    )
    parser.add_argument("--served-model", metavar="NAME", help="its model, if it serves several")
    parser.add_argument("--key", help="API key ($OPENAI_API_KEY by default)")
    parser.add_argument(
        "--timeout", type=positive(float), default=60, metavar="S",
        help="seconds that the server may stay silent (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--require-all", action="store_true",
        help="the server must enforce every request, not only those that ask for it",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


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
    if options.url is not None:
        _endpoint(options)  # before other checks
    checks: list[Check] = []
    before = ""
    for of, check in _checks(options):
        checks.append(check)
        if options.json:
            continue
        if options.url and options.model and of != before:
            say(f"{of}:")
        before = of
        _print(check)
    number = "1 check" if len(checks) == 1 else f"{len(checks)} checks"
    bad = sum(check.status is Status.BAD for check in checks)
    caveats = [check.caveat for check in checks if check.caveat]
    if options.json:
        values = [
            {"name": c.name, "status": c.status.value, "found": c.found, "mend": c.mend or None}
            for c in checks
        ]
        told = {"checks": values, "bad": bad, "caveats": caveats}
        say_json(told)
    elif bad:
        say(f"{number}, {bad} to mend")
    elif caveats:
        say(f"{number}, none to mend, but {', and '.join(caveats)}")
    else:
        say(f"{number}, all well")
    return int(bad > 0)


def _checks(options: argparse.Namespace) -> Iterator[tuple[str, Check]]:
    """Run the checks that the options ask for, each with the name of its group.

    This environment says nothing of a server: its settings are those of another shell, and its
    packages may be on another machine.
    """
    if options.url is None:
        yield from (("this environment", check) for check in installation.checks())
    if options.model:
        from enforcer.doctor.model import checks as model_checks

        of_model = model_checks(
            options.model,
            dialect=options.dialect,
            template=options.chat_template,
            trust_remote_code=options.trust_remote_code,
        )
        yield from (("the model's folder", check) for check in of_model)
    if options.url is not None:
        from enforcer.doctor import server

        of_server = server.checks(
            options.url,
            key=_endpoint(options).key,
            model=options.served_model,
            dialect=options.dialect,
            timeout=options.timeout,
            require_all=options.require_all,
        )
        yield from (("the server", check) for check in of_server)


def _endpoint(options: argparse.Namespace) -> Endpoint:
    """Read where the server is, and import what asks it."""
    try:
        from enforcer.doctor import server
        from enforcer.verify import client
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"`enforcer doctor --url` needs the package {error.name!r}: {missing(error)}"
        ) from error
    key = options.key or os.environ.get(KEY_VARIABLE)
    return client.Endpoint.at(options.url, key=key, timeout=min(server.SOON, options.timeout))


def _print(check: Check) -> None:
    say(f"{_SIGNS[check.status]}  {check.name}: {check.found}")
    if check.mend:
        say(f"{_INDENT}{check.mend}")
