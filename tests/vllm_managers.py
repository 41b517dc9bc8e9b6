"""Requests for vLLM's `StructuredOutputManager`, which `enforcer.doctor.trial` builds bare."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from vllm import SamplingParams
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.request import Request

from enforcer.client.body import extra_body
from enforcer.doctor import trial

if TYPE_CHECKING:
    from collections.abc import Sequence


manager = trial.manager


def bare(
    name: str, prompt_ids: Sequence[int], wanted: StructuredOutputsParams | None, **more: Any
) -> Any:
    """Build a request as the engine has it."""
    return Request(
        request_id=name,
        prompt_token_ids=list(prompt_ids),
        sampling_params=SamplingParams(max_tokens=64, structured_outputs=wanted),
        pooling_params=None,
        **more,
    )


def structured(tools: Any, choice: Any = "auto") -> StructuredOutputsParams:
    """Build the parameters that carry a spec."""
    return StructuredOutputsParams(**extra_body(tools, choice)["structured_outputs"])


def request(name: str, prompt_ids: Sequence[int], constraint: dict[str, Any], **more: Any) -> Any:
    """Build a request of another backend's; the constraint names it as `_backend`."""
    backend = constraint.pop("_backend")
    wanted = StructuredOutputsParams(**constraint)
    wanted._backend = backend
    return bare(name, prompt_ids, wanted, **more)


def enforced(
    name: str,
    prompt_ids: Sequence[int],
    tools: list[dict[str, Any]],
    choice: str = "auto",
    **more: Any,
) -> Any:
    """Build a request that carries a spec."""
    return bare(name, prompt_ids, structured(tools, choice), **more)


def ready(one: Any) -> Any:
    """Return a request's grammar, once it is made."""
    made = one.structured_output_request._grammar
    return made.result(60) if isinstance(made, Future) else made
