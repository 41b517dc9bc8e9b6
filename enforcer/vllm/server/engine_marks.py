"""The plugin's mark in the message by which an engine core tells API servers that it is ready.

Engines on other nodes have an installation of their own. One without the plugin cannot compile the
tag that carries a spec, so it answers each enforced request with an error, while `/health` is good
and the balancing, which goes by requests in flight, sends it more than its share.

vLLM encodes the message by its fields, so that a dict does as well, and ignores others.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from vllm import envs
from vllm.exceptions import GracefulHTTPError

from enforcer.errors import ConfigurationError
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metric_defs
from enforcer.vllm.server import served_model

logger = logging.getLogger("vllm.enforcer")

_FIELD = "enforcer"
_VERSION = metric_defs.installed("kimi-enforcer")
# Engines of this API server that have no plugin, by their ranks.
_without: set[int] = set()


def make_ready_response(original: Any, self: Any) -> Any:
    """Wrap `EngineCoreProc._make_ready_response`, of which each engine sends the result once."""
    made = original(self)
    # The Rust front end has a reader of its own, and no plugin that would look for the mark.
    return made if envs.VLLM_USE_RUST_FRONTEND else vars(made) | {_FIELD: _VERSION}


def apply_ready_response(original: Any, self: Any, payload: bytes) -> None:
    """Wrap `MPClient._apply_ready_response`, which an API server calls once for each engine."""
    original(self, payload)
    if payload:
        look(msgspec.msgpack.decode(payload))


def look(message: dict[str, Any]) -> None:
    """Look for the mark in the message of one engine.

    Raises:
        ConfigurationError: the engine has no plugin, and every request is to be enforced.

    """
    rank, found = message["data_parallel_rank"], message.get(_FIELD)
    if found is None:
        _without.add(rank)
        if served_model.has_our_parser() or settings.current().require:
            raise ConfigurationError(_complaint())
        logger.warning("enforcer: requests that bring a spec are refused: %s", _complaint())
    elif found != _VERSION:
        logger.warning(
            "enforcer: engine %d has kimi-enforcer %s, and this API server %s: install one version "
            "on all nodes of a server",
            rank, found, _VERSION,
        )  # fmt: skip


def reject_unmarked() -> None:
    """Refuse a request with a spec that could reach an engine without the plugin.

    Raises:
        GracefulHTTPError: there is such an engine.

    """
    if _without:
        raise GracefulHTTPError(_complaint(), HTTPStatus.NOT_IMPLEMENTED)


def _complaint() -> str:
    engines = ", ".join(map(str, sorted(_without)))
    return (
        f"engine {engines} (by data-parallel rank) has not loaded the plugin, or one too old to "
        "say so, and would answer each enforced request with an error. On its node install "
        f"kimi-enforcer {_VERSION} beside vLLM, leave VLLM_PLUGINS unset or let it name "
        "`enforcer`, and start it again: `enforcer doctor` there says what is missing"
    )
