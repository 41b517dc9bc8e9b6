"""Requests for vLLM's `StructuredOutputManager`, which `enforcer.vllm.tryout` builds bare."""

from __future__ import annotations

from vllm.sampling_params import StructuredOutputsParams

from enforcer.vllm import tryout

manager = tryout.manager


def request(name, prompt_ids, structured, **more):
    """Build a request of another backend's; `structured` are its `structured_outputs`."""
    backend = structured.pop("_backend")
    wanted = StructuredOutputsParams(**structured)
    wanted._backend = backend
    return tryout.request(name, prompt_ids, wanted, **more)


def enforced(name, prompt_ids, tools, choice="auto", **more):
    """Build a request that carries a spec."""
    return tryout.request(name, prompt_ids, tryout.structured(tools, choice), **more)
