"""LiteLLM's proxy between the clients and a server.

Owns: how it is configured and started. Must not know: what goes through it.

It wants packages of other versions than vLLM's, hence an environment of its own:
`python -m venv .litellm && .litellm/bin/pip install 'litellm[proxy]'`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.demo.servers import MODEL_NAME, HttpServer

if TYPE_CHECKING:
    from pathlib import Path

PROVIDERS = ("openai", "hosted_vllm")


def proxy(program: Path, url: str, folder: Path, provider: str) -> HttpServer:
    """Describe a proxy.

    Args:
        program: the executable `litellm`.
        url: the server's, without `/v1`.
        folder: where its configuration and its log go.
        provider: what LiteLLM takes the server for, one of `PROVIDERS`.

    """
    # `drop_params` is off: what it cannot pass on is an error, and not lost.
    served = {"model": f"{provider}/{MODEL_NAME}", "api_base": f"{url}/v1", "api_key": "-"}
    configuration = {
        "model_list": [{"model_name": MODEL_NAME, "litellm_params": served}],
        # Only this machine reaches it.
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
    }
    path = folder / "proxy.yaml"
    path.write_text(json.dumps(configuration))  # JSON is YAML
    return HttpServer(
        [str(program), "--config", str(path), "--telemetry", "False"],
        folder / "proxy.log",
        {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},  # else it asks the network what models cost
        "/health/liveliness",
    )
