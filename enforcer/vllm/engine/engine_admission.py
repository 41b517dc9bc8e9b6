"""Admission in the engine process: of specs that the API server has admitted, and of all others.

A spec that the API server has admitted carries what it has settled. vLLM's Rust front end hands on
whatever a client writes, so that behind it nothing counts as settled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm import envs
from vllm.exceptions import VLLMValidationError

from enforcer.errors import RequestError
from enforcer.request import carrier
from enforcer.request import spec as specs
from enforcer.vllm.intake import sampling_options, settling
from enforcer.vllm.native import native_tags
from enforcer.vllm.observe import metric_defs, metrics, request_context
from enforcer.vllm.observe.metric_defs import Failure
from enforcer.vllm.server import runtime, served_model

if TYPE_CHECKING:
    from enforcer.api import Enforcer
    from enforcer.request.carrier import Carried
    from enforcer.request.spec import Spec
    from enforcer.vllm.intake.settling import AdmittedSpec
    from enforcer.vllm.native.misreadings import VllmReader


class Source(NamedTuple):
    """What a turn is made of.

    Attributes:
        tag: the structural tag.
        carried: the spec that it carries; None for a tag of vLLM's own.

    """

    tag: str
    carried: Carried | None


def source_of(request: Any) -> Source | None:
    """Find what enforces a request; None for one that is vLLM's own affair."""
    tag = request.structured_output_request.params.structural_tag
    carried = carrier.find(request.sampling_params)
    concerned = carried or any(native_tags.concerns(tag, one) for one in served_model.dialects())
    return Source(tag, carried) if concerned else None


def admitted(source: Source, *, is_read: bool = False) -> AdmittedSpec | None:
    """Read the spec that the API server has admitted; None where it may not have.

    Ours leaves a digest in the tag, and behind vLLM's Rust front end a client may write it.

    Args:
        source: what a turn is made of.
        is_read: whether only a spec that this process has read before is wanted.

    Raises:
        InvalidTools: it cannot be read, or is not the one that was admitted.

    """
    carried = source.carried
    if carried is None or not carried.digest or envs.VLLM_USE_RUST_FRONTEND:
        return None
    known = (settling.read_before if is_read else settling.read)(carried)
    return None if known is None or known.spec.settled is None else known


def admit(
    source: Source,
    known: AdmittedSpec | None,
    request: Any,
    tokenizer: Any,
    enforcer_of: Callable[[Spec | None], Enforcer],
) -> tuple[Spec, VllmReader | None]:
    """Admit a spec that no API server has admitted, or reject it as one does.

    Args:
        source: what a turn is made of.
        known: the spec that the API server has admitted; None where it has not.
        request: vLLM's.
        tokenizer: the model's.
        enforcer_of: returns the enforcer for a spec.

    Returns:
        The spec to enforce, and what keeps the turn readable for vLLM's parser, where it reads.

    Raises:
        RequestError: the spec cannot be enforced.
        VLLMValidationError: the spec, or an option beside it, cannot be enforced.

    """
    params = request.sampling_params
    if source.carried is not None:
        spec = (known or settling.admit(source.carried, tokenizer)).spec
        # A reader keeps the turn readable for vLLM's parser; our own parser reads any turn.
        as_text = spec.settled is not None and spec.settled.as_text
        reader = native_tags.reader(enforcer_of(spec).table) if as_text else None
        if known is not None:
            return spec, reader
    else:
        enforcer = enforcer_of(None)
        found = native_tags.recognise(source.tag, enforcer.table, request.prompt_token_ids)
        spec, reader = found.spec, native_tags.reader(enforcer.table, think_apart=found.think_apart)
        request_context.change(tools=spec.toolset.tools)
        specs.refuse_large(spec, enforcer.options.limits)
        spec = specs.bundled(spec, runtime.bundle, enforcer.options.limits.size)
        for _ in found.left_free:
            metrics.relaxed(metric_defs.Relaxed.FREE)
    sampling_options.reject(params, spec, tokenizer)
    return spec, reader


def tell_of_failure(
    error: BaseException, spec: Spec | None, request: Any, *, is_admitted: bool
) -> None:
    """Count and log a turn that could not start.

    A spec that the API server has admitted does not fail for what its client wrote.
    """
    if spec is not None:
        request_context.change(tools=spec.toolset.tools)
    is_theirs = isinstance(error, RequestError | VLLMValidationError) and not is_admitted
    is_answer = isinstance(error, VLLMValidationError)  # vLLM's answer, made of its cause
    blamed = (is_answer and error.__cause__) or error
    path = getattr(blamed, "path", "")
    metrics.failed(
        Failure.REFUSED if is_theirs else Failure.START,
        request.request_id,
        error=type(blamed).__name__,
        path=path,
        tool=request_context.told(path)["tool"],
    )
