"""The admission of one request: its spec and the checks that it has passed, carried to each patch.

It is made where a request with a spec first enters this process, and kept beside the request's
`StructuredOutputsParams`. vLLM hands that object on from the body to the sampling parameters; where
it copies the object, the admission is made anew, from the text alone. An admission holds only for
the text that a request still carries. Sampling options are read of both objects, by their types:
vLLM's defaults come in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from vllm.sampling_params import StructuredOutputsParams

from enforcer.request import carrier
from enforcer.turn.request_envelope import look_at_prompt, refuse_names
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import reads_extra
from enforcer.vllm.intake import checks, sampling_options, settling
from enforcer.vllm.intake.rejections import answered, option_rejection
from enforcer.vllm.native import native_tags
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.server import runtime, served_model
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from enforcer.request.carrier import Carried
    from enforcer.request.spec import Spec
    from enforcer.vllm.intake.checks import Steps
    from enforcer.vllm.intake.settling import AdmittedSpec

_READ_HERE = 200_000  # characters of a native tag; larger ones are read in the engine alone


@dataclass(slots=True, eq=False)
class Admission:
    """One request with a spec, on its way to the engine.

    Attributes:
        carried: the spec that the request carries.
        admitted: the same as this server admits it, after `check_schemas` as it is enforced.
        is_counted: whether its inexact schemas are counted: by the server that has rendered the
            prompt, or by `check_schemas`.
        is_checked: whether its schemas are checked.
        prompt: the prompt that was checked last, and its length then: a program without HTTP may
            append to the list.
        begun: how many of the prompt's token ids, the last ones, are of the assistant's turn.

    """

    carried: Carried
    admitted: AdmittedSpec
    is_counted: bool = False
    is_checked: bool = False
    prompt: tuple[Sequence[int], int] | None = None
    begun: int = 0

    @property
    def spec(self) -> Spec:
        """The admitted spec; only after `check_schemas` the spec as it is enforced."""
        return self.admitted.spec

    def check_schemas(self, params: Any) -> Steps[None]:
        """Check the schemas, once a request, and put the spec as it is enforced into it.

        Args:
            params: the request, or sampling parameters.

        Raises:
            SchemaError, Busy: as `checks.schemas` does.

        """
        if not self.is_checked:
            inexact = yield from checks.schemas(self.spec)
            self.admitted = settling.isolated(self.admitted, inexact)
            self.carried = self.admitted.carried
            for one in () if self.is_counted else inexact:
                metrics.relaxed(one.how, one.problem)
            self.is_checked = self.is_counted = True
        # Others may share the constraint beside which this stands.
        if carrier.find(params) != self.carried:
            carrier.put(params, self.admitted.text, self.admitted.digest)

    def has_checked(self, prompt_ids: Sequence[int]) -> bool:
        """Return whether this very prompt was checked last."""
        return self.prompt == (prompt_ids, len(prompt_ids))

    def check_prompt(
        self, tokenizer: Any, prompt_ids: Sequence[int], budget: int | None
    ) -> Steps[None]:
        """Check that the turn can start; its schemas have been checked.

        Args:
            tokenizer: the model's.
            prompt_ids: the rendered prompt, which is read once.
            budget: how many token ids the reply may have; None if the reply is not read.

        Raises:
            VLLMValidationError: the prompt has begun what the request does not allow.
            RequestError, Busy: as `checks.beginning` does.

        """
        is_known = self.has_checked(prompt_ids)
        begun = self.begun if is_known else reject_prefix(tokenizer, self.spec, prompt_ids)
        self.prompt, self.begun = (prompt_ids, len(prompt_ids)), begun
        if not self.spec.resolve(settings.current().options).finish_within_budget:
            budget = None
        # vLLM rejects a request without room for a single token id.
        if begun or (budget or 0) > 0:
            yield from checks.beginning(self.admitted.text, prompt_ids, begun, budget)


def enter(request: Any, admitted: AdmittedSpec) -> None:
    """Put a spec that was written here into its request, and begin the request's admission."""
    request.structured_outputs = StructuredOutputsParams(structural_tag=admitted.digest)
    carrier.put(request, admitted.text, admitted.digest)
    notes(request.structured_outputs).admission = Admission(admitted.carried, admitted)


def admit(params: Any, carried: Carried, tokenizer: Any, model_config: Any) -> Admission:
    """Return the admission of a request, which begins at the first call.

    Args:
        params: the request, or sampling parameters.
        carried: the spec that it carries.
        tokenizer: the model's; None where it is not at hand.
        model_config: vLLM's; None where it is not at hand.

    Raises:
        VLLMValidationError: the spec is malformed, or asks for what this server does not grant; or
            the server loads no tokenizer.
        GracefulHTTPError: an engine of this server has no plugin.

    """
    if getattr(model_config, "skip_tokenizer_init", False):
        raise option_rejection(
            "structured_outputs",
            "this server loads no tokenizer (--tokens-only or --skip-tokenizer-init), without "
            "which no tool call can be enforced: send the request to one that does, such as one "
            "with --enable-scale-out for token ids",
        )
    known = _known(params, carried)
    if known is not None and settling.is_current(known.admitted, tokenizer):
        settling.announced(known.admitted)
        return known
    made = Admission(carried, settling.admit(carried, tokenizer), bool(carried.digest))
    notes(params.structured_outputs).admission = made
    return made


def has_checked(params: Any, carried: Carried, prompt_ids: Sequence[int] | None) -> bool:
    """Return whether a request was admitted with this very prompt."""
    known = _known(params, carried)
    return known is not None and prompt_ids is not None and known.has_checked(prompt_ids)


def _known(params: Any, carried: Carried) -> Admission | None:
    """Return the admission of a request that still carries its spec."""
    found: Admission | None = notes(params.structured_outputs).admission
    return found if found is not None and found.carried == carried else None


def reject_native_tag(params: Any, tokenizer: Any) -> None:
    """Reject native structural tags that would fail in the engine, which would be a 500.

    Args:
        params: sampling parameters as they came, without the model's own stop ids.
        tokenizer: the model's.

    Raises:
        VLLMValidationError: the tag's tools are none, or an option does not go with it.

    """
    own = carrier.declared(params, "structured_outputs")
    tag = own.structural_tag if own else None
    if not isinstance(tag, str) or len(tag) > _READ_HERE or carrier.from_structural_tag(tag):
        return
    for dialect in served_model.dialects():
        if native_tags.concerns(tag, dialect):
            with answered():
                found = native_tags.turn_of(tag, dialect)
                if found is None:
                    continue
                request_context.change(tools=found.spec.toolset.tools)
                refuse_names(dialect, found.spec.toolset)
            sampling_options.reject(params, found.spec, tokenizer)
            return


def reject_prefix(tokenizer: Any, spec: Spec, prompt_ids: Sequence[int] | None) -> int:
    """Reject a prompt that has begun a turn which the request's tools do not allow.

    Returns:
        As `look_at_prompt` does; 0 for embeddings, which have no token ids.

    Raises:
        VLLMValidationError: it has, or the request's choices cannot be told apart.

    """
    if prompt_ids is None:
        return 0
    table = runtime.table_for(tokenizer, spec.settled.dialect if spec.settled else None)
    with answered():
        return look_at_prompt(table, spec, settings.current().options, prompt_ids)


def reject_unread(params: Any, model_config: Any) -> None:
    """Reject a spec that this server would ignore.

    Args:
        params: a request, or sampling parameters.
        model_config: vLLM's.

    Raises:
        VLLMValidationError: it is for the logits processor, and there is none; or it is a spec's
            text without its structural tag.

    """
    extra, loaded = carrier.extra_of(params), getattr(model_config, "logits_processors", None)
    if carrier.from_extra(extra) is not None and not reads_extra(loaded):
        raise option_rejection(
            "vllm_xargs",
            f"a spec in `vllm_xargs.{carrier.KEY}` is for servers with the logits processor, and "
            "would be ignored here: leave out `via` where the client builds it with "
            "`enforcer.extra_body`",
        )
    if carrier.BESIDE in extra and carrier.find(params) is None:
        raise option_rejection(
            "vllm_xargs",
            f"`vllm_xargs.{carrier.BESIDE}` came without its structural tag in "
            "`structured_outputs`, and would be ignored: hand on both as they are",
        )


def reject_replaced_spec(request: Any, carried: Carried) -> None:
    """Reject a `response_format` with a structural tag, by which vLLM replaces a spec.

    Raises:
        VLLMValidationError: it has one, or another constraint beside the spec.

    """
    if not hasattr(type(request), "extract_structured_outputs"):
        return  # sampling parameters
    tag = request.extract_structured_outputs().structural_tag
    if carrier.from_structural_tag(tag) != (carried.digest or carried.text):
        reject_constraint("response_format")


def reject_constraint(option: str) -> NoReturn:
    """Reject a constraint of vLLM's own beside a spec.

    Args:
        option: the field that has it.

    Raises:
        VLLMValidationError: always.

    """
    raise option_rejection(
        option,
        f"`{option}` cannot be combined with a spec of `enforcer.extra_body`: leave it out, and "
        "give `enforcer.extra_body` the format of the text",
    )
