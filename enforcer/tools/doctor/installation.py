"""Checks of the packages in this environment: versions, settings, the plugin's entry point.

Only the last checks import vLLM.
"""

from __future__ import annotations

import logging
import os
import platform
import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec

from enforcer import engines
from enforcer.errors import ConfigurationError, EnforcerError, UnknownDialect
from enforcer.schema import compile_schema
from enforcer.schema.bundling import read_documents
from enforcer.tools.doctor import CheckResult, bad, note, ok
from enforcer.turn import dialects
from enforcer.vllm.config import settings as server_settings
from enforcer.vllm.config.names import TESTED_VERSIONS
from enforcer.vllm.observe import metric_defs
from enforcer.vocabulary import Vocabulary

_DISTRIBUTION = "kimi-enforcer"
_GROUP = "vllm.general_plugins"
_PLUGIN = "enforcer"
_ENTRY = "enforcer.vllm:register"
# Packages of the other engines than the machine: the oldest version that works, and the first that
# is untested.
TESTED_ENGINES: Mapping[str, tuple[str, str]] = {
    "xgrammar": ("0.2.8", "0.3"),
    "outlines-core": ("0.2.14", "0.3"),
}


def checks() -> Iterator[CheckResult]:
    """Check the installation, the cheap things first."""
    yield ok("Python", platform.python_version())
    yield distribution()
    yield compiled_modules()
    yield from settings(os.environ)
    if find_spec("vllm") is None:
        mend = "to serve, run in a checkout: pip install '.[vllm]' 'vllm==0.32.*'"
        yield note("vLLM", "it is not installed here", mend, "vLLM is not installed here")
        return
    yield entry_point()
    yield plugin_filter(os.environ)
    yield vllm_version()
    yield vllm_signatures()


def distribution() -> CheckResult:
    """Check that this package is installed, and not just on the path."""
    version = metric_defs.installed(_DISTRIBUTION)
    if version == "unknown":
        found = "imported from a folder, not installed: vLLM does not find the plugin"
        return bad(_DISTRIBUTION, found, "pip install . in the checkout")
    return ok(_DISTRIBUTION, version)


def engine(name: str) -> CheckResult:
    """Check the version of an engine's package, and that the engine compiles a schema."""
    title = f"engine {name}"
    oldest, untested = TESTED_ENGINES[name]
    mend = f"pip install '{name}>={oldest},<{untested}'"
    try:
        engines.load(name, Vocabulary.of_bytes(["<|im_end|>"])).compile(
            compile_schema({"type": "boolean"})
        )
    except EnforcerError as error:
        return bad(title, f"it does not work: {error}", mend)
    version = metadata.version(name)
    if not _parts(oldest) <= _parts(version) < _parts(untested):
        return bad(title, f"{version} is untested", mend)
    return ok(title, version)


def compiled_modules() -> CheckResult:
    """Check that the kernel was compiled from the sources that are there."""
    title = "compiled modules"
    try:
        from enforcer.machine.compiled import NAME, require_compiled

        require_compiled()
    except EnforcerError as error:
        found, _, mend = str(error).partition(": ")
        return bad(title, found, mend)
    return ok(title, NAME)


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without a pre-release or local suffix."""
    release = re.match(r"\d+(\.\d+)*", version)
    return () if release is None else tuple(map(int, release[0].split(".")))


def settings(environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check the operator's settings in the environment, and the engine that they choose."""
    try:
        found = server_settings.read(environment)
        dialects.load(found.dialect)
        provided = read_documents(found.documents)
    except UnknownDialect as error:
        mend = "set it to one of these, or unset it"
        yield bad("settings", f"ENFORCER_DIALECT: {error}", mend)
        return
    except EnforcerError as error:
        mend = "mend that variable, or a file of ENFORCER_DOCUMENTS: docs/vllm/settings.md"
        yield bad("settings", str(error), mend)
        return
    ends = found.options.finish_within_budget
    ends_how = "ends before `max_tokens` does" if ends else "may be cut off by `max_tokens`"
    said = f"a server started from this shell has dialect {found.dialect} and engine {found.engine}"
    more = f"; documents: {len(provided)}" if provided else ""
    yield ok("settings", f"{said}; a call {ends_how}{more}")
    if found.engine in TESTED_ENGINES:
        yield engine(found.engine)


def entry_point() -> CheckResult:
    """Check that vLLM finds the plugin."""
    title = "plugin entry point"
    found = [e.value for e in metadata.entry_points(group=_GROUP) if e.name == _PLUGIN]
    if found == [_ENTRY]:
        return ok(title, f"vLLM finds {_PLUGIN} = {_ENTRY} in {_GROUP}")
    if found:
        mend = f"uninstall the package that has the name {_PLUGIN!r} besides {_DISTRIBUTION}"
        return bad(title, f"vLLM would load {', '.join(found)}", mend)
    mend = f"install {_DISTRIBUTION} into the environment that vLLM runs in"
    return bad(title, f"vLLM finds no plugin {_PLUGIN!r} in {_GROUP}", mend)


def plugin_filter(environment: Mapping[str, str]) -> CheckResult:
    """Check that VLLM_PLUGINS lets the plugin load."""
    wanted = environment.get("VLLM_PLUGINS")
    if wanted is None:
        return ok("VLLM_PLUGINS", "not set: vLLM loads every plugin")
    if _PLUGIN in wanted.split(","):
        return ok("VLLM_PLUGINS", f"{wanted!r} has the plugin")
    mend = f"unset it, or add {_PLUGIN!r}: without it only the logits processor enforces"
    return bad("VLLM_PLUGINS", f"{wanted!r} leaves the plugin out", mend)


def vllm_version() -> CheckResult:
    """Check that vLLM can be imported, and was tested."""
    logging.disable(logging.WARNING)  # as it is imported, vLLM logs to the standard output
    try:
        import vllm
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
        return bad("vLLM", f"it cannot be imported: {error!r}", "reinstall vLLM and torch")
    finally:
        logging.disable(logging.NOTSET)
    from enforcer.vllm.fit import check_version

    mend = f"install vLLM {' or '.join(TESTED_VERSIONS)}, or a newer {_DISTRIBUTION}"
    try:
        exactly = check_version(vllm.__version__)
    except EnforcerError:
        return bad("vLLM", f"{vllm.__version__} is untested: no server starts with it", mend)
    if not exactly:
        mend = f"start a server, and try it with `enforcer doctor --url`; or {mend}"
        return note("vLLM", f"{vllm.__version__} was not tested", mend)
    return ok("vLLM", vllm.__version__)


def vllm_signatures() -> CheckResult:
    """Check the signatures of vLLM's functions that the plugin calls, overrides or replaces."""
    from enforcer.vllm import fit, patches

    title = "functions that the plugin replaces"
    try:
        wanted = patches.wanted()
    except ConfigurationError:  # `settings` has told of it
        wanted = patches.PATCHES
    expected = fit.USED | patches.signatures(wanted)
    try:
        fit.check_signatures(expected)
    except EnforcerError as error:
        return bad(title, str(error), f"install vLLM {' or '.join(TESTED_VERSIONS)}, unmodified")
    except ImportError as error:
        return bad(title, f"vLLM cannot be imported: {error!r}", "reinstall vLLM and torch")
    return ok(title, f"all {len(expected)} have the tested signatures")
