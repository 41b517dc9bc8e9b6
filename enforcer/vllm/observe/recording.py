"""The recorder of this process, and the registries that show the numbers of all.

vLLM's engine core is another process, of which `/metrics` shows nothing by itself. So every process
writes into a file of its own (`stats`), and whichever API server is asked sums them all.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from enforcer.errors import ConfigurationError
from enforcer.vllm.config.names import PARSER_VARIABLE
from enforcer.vllm.observe import metric_defs, stats

logger = logging.getLogger("vllm.enforcer")

# Not a setting: it tells the processes that the first one spawns where the files are.
FOLDER_VARIABLE = "ENFORCER_METRICS_FOLDER"
# vLLM's list of further variables that Ray actors are given.
_RAY_VARIABLE = "VLLM_RAY_EXTRA_ENV_VARS_TO_COPY"
_SHOWN = "_shows_enforcer"  # set on a registry


@cache
def recorder() -> stats.Recorder:
    """Return the recorder of this process; where it can have no file, its numbers stay unseen.

    `install` makes it while the process has one thread. A forked child makes its own.
    """
    try:
        made = stats.Recorder(metric_defs.LAYOUT, folder())
    except OSError as error:
        logger.warning("enforcer: no metrics from process %d: %s", os.getpid(), error)
        made = stats.Recorder(metric_defs.LAYOUT, None)
    made.set(metric_defs.PROCESSES, 1, (_part(),))
    return made


os.register_at_fork(after_in_child=recorder.cache_clear)  # the file is the parent's


def _part() -> str:
    """Return the part of this process, by the name under which vLLM starts it.

    Ray's actors have no such name. They are workers until one makes an engine (`runs_engine`).
    """
    name = multiprocessing.current_process().name
    if "EngineCore" in name:
        return metric_defs.ENGINE
    return metric_defs.WORKER if "Worker" in name or _is_ray_actor() else metric_defs.FRONT


def _is_ray_actor() -> bool:
    ray: Any = sys.modules.get("ray")  # Ray imports itself before it runs an actor
    # A folder `ray` in the working directory is a module of that name, too.
    runs = hasattr(ray, "is_initialized") and ray.is_initialized()
    return runs and ray.get_runtime_context().get_actor_id() is not None


def runs_engine() -> None:
    """Count this process as an engine if it is a Ray actor."""
    if _is_ray_actor():
        recorder().set(metric_defs.PROCESSES, 0, (metric_defs.WORKER,))
        recorder().set(metric_defs.PROCESSES, 1, (metric_defs.ENGINE,))


def folder() -> Path | None:
    """Return the folder of this server's files; None where the plugin made none."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def install() -> None:
    """Make the folder, unless a parent process has, and show the numbers; idempotent.

    A process counts itself at once. One that is forked off later, and so never gets here,
    does when it has the first number.
    """
    from prometheus_client import REGISTRY

    if not ((present := folder()) and present.is_dir()):
        os.environ.pop(FOLDER_VARIABLE, None)
        if not _is_ray_actor():  # on another host its folder would be neither read nor removed
            _make_folder()
    told = os.environ.get(_RAY_VARIABLE, "").split(",")
    wanted = dict.fromkeys([*filter(None, told), FOLDER_VARIABLE, PARSER_VARIABLE])
    os.environ[_RAY_VARIABLE] = ",".join(wanted)
    recorder()
    show_in(REGISTRY)


def _make_folder() -> None:
    try:
        made = tempfile.mkdtemp(prefix="enforcer-metrics-")
    except OSError as error:  # nothing there can be written: no reason to serve nothing
        logger.warning("enforcer: no metrics, since no folder can be made for them: %s", error)
    else:
        os.environ[FOLDER_VARIABLE] = made
        atexit.register(_remove, made, os.getpid())


@cache
def serve(port: int, host: str | None) -> None:
    """Answer `/metrics` on a port, in the launcher of a node without an API server; idempotent.

    Args:
        port: of the setting.
        host: `--host`; None for all interfaces, as for vLLM's API server.

    Raises:
        ConfigurationError: nothing can listen there.

    """
    from prometheus_client import start_http_server

    try:
        start_http_server(port, addr=host or "0.0.0.0")  # noqa: S104 - see above
    except OSError as error:
        raise ConfigurationError(f"ENFORCER_METRICS_PORT={port}: {error}") from error


def _remove(made: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child runs its parent's exit handlers
        shutil.rmtree(made, ignore_errors=True)


def show_in(registry: Any) -> None:
    """Register the collector with a Prometheus registry, once."""
    if not getattr(registry, _SHOWN, False):
        registry.register(stats.Collector(metric_defs.LAYOUT, folder))
        setattr(registry, _SHOWN, True)


def collecting(original: Any, self: Any, registry: Any, path: str | None = None) -> None:
    """Wrap the constructor of Prometheus' collector over several processes.

    Several API servers have no lasting registry: vLLM makes one for each look at `/metrics`.
    """
    original(self, registry, path)
    if registry:
        show_in(registry)
