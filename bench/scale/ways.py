"""The ways in which vLLM spreads one model over processes and nodes, as command lines.

Every node of a way runs on this machine and talks over `lo` alone; see `bench.scale.__main__`,
which makes the network namespace in which fixed ports are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.demo.servers import ENFORCED, FREE, Setting

if TYPE_CHECKING:
    from pathlib import Path

_ADDRESS = "127.0.0.1"
_TWO_RANKS = ("--tensor-parallel-size", "2", "--distributed-executor-backend", "mp")
_TWO_NODES = (*_TWO_RANKS, "--nnodes", "2", "--master-addr", _ADDRESS, "--master-port", "29501")
_TWO_ENGINES = (
    *("--data-parallel-size", "2", "--data-parallel-size-local", "1"),
    *("--data-parallel-address", _ADDRESS, "--data-parallel-rpc-port", "29502"),
)
_RAY = ("--distributed-executor-backend", "ray", "--tensor-parallel-size", "2")
_RAY_ENGINES = (
    *("--data-parallel-backend", "ray", "--data-parallel-size", "2"),
    *("--data-parallel-size-local", "2", "--data-parallel-address", _ADDRESS),
)
ENVIRONMENT = (
    ("VLLM_HOST_IP", _ADDRESS),
    ("GLOO_SOCKET_IFNAME", "lo"),
    # One core for each rank. Without: "Not enough allowed NUMA nodes".
    ("VLLM_CPU_OMP_THREADS_BIND", "0|1"),
)
PORT = 9100  # where a node without an API server shows its numbers
STORAGE = "STORAGE"  # in a flag: a folder that the nodes of a way share


@dataclass(frozen=True, slots=True)
class Way:
    """One way to spread a model.

    Attributes:
        name: the word for the command line.
        nodes: the flags of each node; the last node that is not headless replies.
        is_split: whether a request's prompt goes to the first node before the last one replies.
        needs_ray: whether a Ray head has to run.

    """

    name: str
    nodes: tuple[tuple[str, ...], ...]
    is_split: bool = False
    needs_ray: bool = False

    def settings(self, storage: Path, stock: int | None = None) -> list[Setting]:
        """Return how each node is served, in the order of `nodes`.

        Args:
            storage: replaces `STORAGE`.
            stock: index of the node without the plugin, if any.

        """
        made = []
        for at, flags in enumerate(self.nodes):
            # A headless node has no parser, and so names ours whether it has the plugin or not.
            known = FREE if at == stock and not is_headless(flags) else ENFORCED
            own = tuple(flag.replace(STORAGE, str(storage)) for flag in flags)
            plugins = "" if at == stock else ENFORCED.plugins
            shows = (("ENFORCER_METRICS_PORT", str(PORT)),) if is_headless(flags) else ()
            environment = (*ENVIRONMENT, *shows)
            made.append(Setting(f"{self.name} {at}", (*known.flags, *own), plugins, environment))
        return made


def is_headless(flags: tuple[str, ...]) -> bool:
    """Return whether a node has no API server."""
    return "--headless" in flags


def _connector(role: str) -> tuple[str, str]:
    extra = f'"kv_connector_extra_config": {{"shared_storage_path": "{STORAGE}"}}'
    config = f'{{"kv_connector": "ExampleConnector", "kv_role": "{role}", {extra}}}'
    return "--kv-transfer-config", config


WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("tensor-parallel", (_TWO_RANKS,)),
        Way("data-parallel", (("--data-parallel-size", "2", "--api-server-count", "2"),)),
        Way(
            "nodes",
            (
                (*_TWO_NODES, "--node-rank", "0"),
                (*_TWO_NODES, "--node-rank", "1", "--headless"),
            ),
        ),
        Way(
            "data-parallel-nodes",
            (_TWO_ENGINES, (*_TWO_ENGINES, "--headless", "--data-parallel-start-rank", "1")),
        ),
        Way(
            "prompts-apart",
            (_connector("kv_producer"), _connector("kv_consumer")),
            is_split=True,
        ),
        Way("ray", (_RAY,), needs_ray=True),
        Way("ray-data-parallel", (_RAY_ENGINES,), needs_ray=True),
        Way(
            "pipeline-parallel",
            (("--pipeline-parallel-size", "2", "--distributed-executor-backend", "mp"),),
        ),
    )
}
