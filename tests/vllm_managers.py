"""Requests for vLLM's `StructuredOutputManager`, which `enforcer.vllm.tryout` builds bare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.sampling_params import StructuredOutputsParams

from enforcer.vllm import tryout

if TYPE_CHECKING:
    from vllm.v1.request import Request


manager = tryout.manager


def request(name: str, prompt_ids: list[int], structured: dict[str, Any], **more: Any) -> Request:
    """Build a request of another backend's; `structured` are its `structured_outputs`."""
    backend = structured.pop("_backend")
    wanted = StructuredOutputsParams(**structured)
    wanted._backend = backend
    return tryout.request(name, prompt_ids, wanted, **more)


def enforced(
    name: str, prompt_ids: list[int], tools: list[dict[str, Any]], choice: str = "auto", **more: Any
) -> Request:
    """Build a request that carries a spec."""
    return tryout.request(name, prompt_ids, tryout.structured(tools, choice), **more)
