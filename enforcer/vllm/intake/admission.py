"""What a request that carries a spec is let in with, and what it is refused for.

Owns: what the server settles for a spec, the sampling options that could leave no id legal, prompts
that have begun a turn, and how a check's error is answered. Must not know: by which door of vLLM's
a request comes in (that is `frontend`), parsers, the engine process, how schemas are checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec

from enforcer.cache import Cache
from enforcer.errors import RequestError, UnknownLength, brief
from enforcer.request import carrier, spec_text
from enforcer.request import spec as specs
from enforcer.turn.request_envelope import look_at_prompt, refuse_names
from enforcer.vllm.config import settings
from enforcer.vllm.config.names import reads_extra
from enforcer.vllm.intake import checks
from enforcer.vllm.intake.answers import answered, not_allowed, option_refusal, placed, refusal
from enforcer.vllm.native import native_tags
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.observe.metric_defs import Relaxed
from enforcer.vllm.server import engine_marks, reply_lengths, runtime, served_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from enforcer.request.carrier import Carried
    from enforcer.request.spec import Spec
    from enforcer.request.spec_text import Wire
    from enforcer.turn.dialect import Dialect
    from enforcer.vllm.config.settings import Settings
    from enforcer.vllm.intake.checks import Inexact
    from enforcer.vocabulary import Vocabulary

# Far from what is infinite in 32 bits, also once it is divided by a temperature. Most routes of
# vLLM's take 100 for whatever is more.
_MOST_BIAS = 1e30
# vLLM multiplies and divides what is masked, and what is not, by it: a logit with such a bias, so
# penalized and divided by the lowest temperature, is still far from what is infinite in 32 bits.
_MOST_PENALTY = 1e3
_LINES = 8  # of one request, on schemas that are not exact; the others are counted in one more
_READ_HERE = 200_000  # characters of a tag of vLLM's own; larger ones are read in the engine alone


class _Here(NamedTuple):
    """What this server settles a spec by.

    Attributes:
        settings: the operator's.
        dialect: of the model that the request is for.
        as_text: see `Settled`.

    """

    settings: Settings
    dialect: Dialect
    as_text: bool


def _here(tokenizer: Any) -> _Here:
    return _Here(settings.current(), runtime.dialect_for(tokenizer), served_model.reads_text())


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Intake:
    """A request's spec as this server has let it in; the same one for the same text, while kept.

    Attributes:
        spec: with the server's decisions, and with the operator's documents in its schemas.
        text: the same as it travels.
        digest: of the text.
        by: what it was settled by; None where it was not.

    """

    spec: Spec
    text: str
    digest: str
    by: _Here | None = None


_KEPT = 32_000_000  # bytes of texts, each some requests' alone
_WEIGHT = 2  # times the text; its tools are mostly those of others, too
_known = Cache(_KEPT)


def admit(
    carried: Carried,
    tokenizer: Any = None,
    model_config: Any = None,
    *,
    where: str = spec_text.HERE,
) -> Intake:
    """Read a spec that somebody has sent, and settle what the server decides for it.

    Args:
        carried: the spec, which this process may have settled before.
        tokenizer: the model's; None where it is not at hand, as `runtime.dialect_for` has it.
        model_config: vLLM's, where it is at hand.
        where: the path of the spec in the request.

    Raises:
        VLLMValidationError: it is malformed, or wishes what this server does not grant; or the
            server loads no tokenizer.
        GracefulHTTPError: an engine of this server has no plugin.

    """
    _refuse_without_tokenizer(model_config)
    found = read_before(carried)
    if found is not None and found.by == _here(tokenizer):
        return _met(found)
    try:
        return settle(spec_text.decode(carried.checked()), tokenizer)
    except RequestError as error:
        raise refusal(error.at(lambda path: path.replace(spec_text.HERE, where, 1))) from error


def _met(intake: Intake) -> Intake:
    """Have the request's log lines name its tools, where every engine has the plugin."""
    engine_marks.refuse_unmarked()
    request_context.change(tools=intake.spec.toolset.tools)
    return intake


def settle(wire: Wire, tokenizer: Any) -> Intake:
    """Settle what the server decides for a spec, once for all requests that bring the same.

    Raises:
        InvalidTools: no chat request could have said it.
        VLLMValidationError: it wishes what this server does not grant.
        GracefulHTTPError: an engine of this server has no plugin.

    """
    engine_marks.refuse_unmarked()
    here, said = _here(tokenizer), wire.text()
    found: Intake | None = _known.peek(said)
    if found is None or found.by != here:
        found = _settle(wire, here, runtime.vocabulary_of(tokenizer))
        _kept(found, said)
    return _met(found)


def _settle(wire: Wire, here: _Here, vocabulary: Vocabulary | None) -> Intake:
    spec = wire.spec()
    request_context.change(tools=spec.toolset.tools)
    mine = _settled(spec, here)
    theirs = None if spec.settled is None else runtime.present(spec.settled)
    if theirs not in (None, mine):
        raise option_refusal(
            "settled",
            "the spec was settled by a server with other settings than this one "
            f"({_other(theirs, mine)}): clients leave `settled` out; a server "
            "that renders prompts for this one needs the same --tool-call-parser, "
            "--structured-outputs-config and ENFORCER_… variables",
        )
    admitted = replace(spec, settled=mine)
    if not checks.has_passed(admitted):
        limits = mine.options.limits
        with answered():
            refuse_names(here.dialect, spec.toolset, vocabulary)
            if spec.settled is None:
                specs.refuse_large(spec, limits)
                admitted = specs.bundled(admitted, runtime.bundle, limits.size)
            else:  # documents are in it by now; but a client can write what a server settles
                specs.refuse_large(spec, replace(limits, request=limits.request + limits.size))
    if admitted.toolset.tools is not spec.toolset.tools:
        wire = wire.put(admitted)
    text = wire.settle(mine).text()
    return _kept(Intake(admitted, text, carrier.digest_of(text), here))


def _kept(intake: Intake, key: str = "") -> Intake:
    return _known.get(key or intake.digest, lambda: intake, lambda one: _WEIGHT * len(one.text))


def read(carried: Carried) -> Intake:
    """Read the spec beside a tag; once for each text, which is compared with the one of then.

    Raises:
        InvalidTools: it cannot be read, or is not the one that the tag was made for.

    """
    return read_before(carried) or _kept(
        Intake(spec_text.read(carried.checked()), str(carried.text), carried.digest)
    )


def read_before(carried: Carried) -> Intake | None:
    """Return the spec beside a tag, if this process has read it before."""
    found: Intake | None = _known.peek(carried.digest)
    return found if found is not None and found.text == carried.text else None


def _other(theirs: specs.Settled, mine: specs.Settled) -> str:
    """Name the settings in which two differ, with both values."""
    one, other = (_flat(msgspec.to_builtins(each)) for each in (theirs, mine))
    return "; ".join(
        f"{name} {brief(one[name])}, and {brief(other[name])} here"
        for name in other
        if one[name] != other[name]
    )


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with those of nested objects in the place of these."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        found |= _flat(value) if isinstance(value, dict) else {name: value}
    return found


def _settled(spec: Spec, here: _Here) -> specs.Settled:
    own, closed = here.settings.options, spec.closed_objects
    unsupported = spec.on_unsupported and spec.on_unsupported.value
    for option, wish, mine, word in (
        ("on_unsupported", unsupported, own.on_unsupported.value, unsupported),
        ("finish_within_budget", spec.finish_within_budget, own.finish_within_budget, "finish"),
        ("closed_objects", closed, own.conventions.closed_objects, "closed" if closed else "open"),
    ):
        if wish not in (None, mine) and word not in {"refuse", *here.settings.allow_client}:
            raise not_allowed(option, f"`{option}` to {brief(wish)}")
    options = replace(spec, settled=None).resolve(own)
    name = here.dialect.name
    if options.finish_within_budget and not here.dialect.is_simple:
        with answered():
            raise UnknownLength("$.finish_within_budget", name)
    return specs.Settled(name, here.settings.engine, options, here.as_text)


def let_in(params: Any, intake: Intake, inexact: Iterable[Inexact], *, is_first: bool) -> Intake:
    """Have a request carry what it was let in with; vLLM copies that from place to place.

    Args:
        params: the request, or sampling parameters.
        intake: what it brings, its schemas checked.
        inexact: what is not enforced exactly, or not in time.
        is_first: whether the request has not been let in before; only then that is counted.

    Returns:
        What the request is let in with.

    """
    served = isolated(intake, inexact)
    if is_first or served is not intake:
        carrier.put(params, served.text, served.digest)
    for one in inexact if is_first else ():
        metrics.relaxed(one.how, one.problem)
    return served


def isolated(intake: Intake, inexact: Iterable[Inexact]) -> Intake:
    """Return a spec whose tools that cannot be enforced exactly take any object."""
    log_inexact(inexact)
    names = [one.tool for one in inexact if one.how is Relaxed.ISOLATED and one.tool is not None]
    if not names:
        return intake
    spec = specs.with_schemas(intake.spec, dict.fromkeys(names, "{}"))
    text = spec_text.decode(intake.text).put(spec).text()
    return _kept(replace(intake, spec=spec, text=text, digest=carrier.digest_of(text)))


def log_inexact(inexact: Iterable[Inexact]) -> None:
    """Log what is not exact, or not in time, once for each schema that is new to this process.

    One that no time was left for is new each time, so that of many most are counted only.
    """
    new = [one for one in inexact if one.is_new]
    for one in new[:_LINES]:
        of = request_context.told(one.problem.path)
        metrics.log_relaxed(one.how, placed(one.problem), error=one.error, **of)
    if len(new) > _LINES:
        more, request = str(len(new) - _LINES), request_context.told()["request"]
        metrics.log("more schemas not exact", count=more, request=request)


def refuse_stock(params: Any) -> Spec | None:
    """Refuse what the engine could not begin of a tag of vLLM's own, as far as it shows here.

    There it would be a 500, and a turn that failed.

    Returns:
        What the tag asks for; None where the engine alone can tell, or there is no such tag.

    Raises:
        VLLMValidationError: the tag's tools are none, or an option does not go with it.

    """
    own = carrier.declared(params, "structured_outputs")
    tag = own.structural_tag if own else None
    if not isinstance(tag, str) or len(tag) > _READ_HERE or carrier.from_structural_tag(tag):
        return None
    for dialect in served_model.dialects():
        if native_tags.concerns(tag, dialect):
            with answered():
                found = native_tags.turn_of(tag, dialect)
                if found is None:
                    continue
                spec = found.spec
                request_context.change(tools=spec.toolset.tools)
                refuse_names(dialect, spec.toolset)
            refuse_sampling(params, spec)
            return spec
    return None


def refuse_prefix(tokenizer: Any, spec: Spec, prompt_ids: Sequence[int] | None) -> int:
    """Refuse a prompt that has begun a turn which the request's tools do not allow.

    Returns:
        As `look_at_prompt` does.

    Raises:
        VLLMValidationError: it has, or what the request asks for cannot be told apart.

    """
    if prompt_ids is None:
        return 0
    table = runtime.table_for(tokenizer, spec.settled.dialect if spec.settled else None)
    with answered():
        return look_at_prompt(table, spec, settings.current().options, prompt_ids)


def refuse_unread(params: Any, model_config: Any) -> None:
    """Refuse a spec that nothing here would read: it would be ignored.

    Args:
        params: a request, or sampling parameters.
        model_config: vLLM's.

    Raises:
        VLLMValidationError: it is for the logits processor, and there is none; or it is a spec's
            text whose structural tag was lost on its way.

    """
    extra, loaded = carrier.extra_of(params), getattr(model_config, "logits_processors", None)
    if carrier.from_extra(extra) is not None and not reads_extra(loaded):
        raise option_refusal(
            "vllm_xargs",
            f"a spec in `vllm_xargs.{carrier.KEY}` is for servers with the logits processor, and "
            "would be ignored here: leave out `via` where the client builds it with "
            "`enforcer.extra_body`",
        )
    if carrier.BESIDE in extra and carrier.find(params) is None:
        raise option_refusal(
            "vllm_xargs",
            f"`vllm_xargs.{carrier.BESIDE}` came without its structural tag in "
            "`structured_outputs`, and would be ignored: hand on both as they are",
        )


def refuse_replaced_spec(request: Any, carried: Carried) -> None:
    """Refuse a `response_format` with a structural tag, which vLLM puts in the place of a spec.

    Raises:
        VLLMValidationError: it has one, or another constraint beside the spec.

    """
    if not hasattr(type(request), "extract_structured_outputs"):
        return  # sampling parameters
    tag = request.extract_structured_outputs().structural_tag
    if carrier.from_structural_tag(tag) != (carried.digest or carried.text):
        refuse_constraint("response_format")


def refuse_constraint(option: str) -> NoReturn:
    """Refuse a constraint of vLLM's own beside a spec.

    Args:
        option: the field that has it.

    Raises:
        VLLMValidationError: always.

    """
    raise option_refusal(
        option,
        f"`{option}` cannot be combined with a spec of `enforcer.extra_body`: leave it out, and "
        "give `enforcer.extra_body` the format of the text",
    )


def _refuse_without_tokenizer(model_config: Any) -> None:
    """Refuse a spec on a server that loads no tokenizer: nobody knows there what an id stands for.

    Raises:
        VLLMValidationError: it loads none.

    """
    if getattr(model_config, "skip_tokenizer_init", False):
        raise option_refusal(
            "structured_outputs",
            "this server loads no tokenizer (--tokens-only or --skip-tokenizer-init), without "
            "which no tool call can be enforced: send the request to one that does, such as one "
            "with --enable-scale-out for token ids",
        )


def refuse_beam_search() -> NoReturn:
    """Refuse a request for beam search, in which vLLM drops what masks it.

    Raises:
        VLLMValidationError: always.

    """
    raise option_refusal(
        "use_beam_search", "beam search cannot be enforced: leave out `use_beam_search`"
    )


# Options whatever whose value, and why: what they do comes after the mask.
_FORCING = {
    "thinking_token_budget": "`thinking_token_budget` makes vLLM force the end of the reasoning "
    "after the mask is applied, even inside a call that began in the reasoning: leave it out",
    "trace_decode_token_ids": "`trace_decode_token_ids` dictates the reply's token ids, whatever "
    "the mask forbids: leave it out",
}
# By the fields of sampling parameters; vLLM's Rust front end sends the ids of words alone.
_FORBIDDING = {
    "allowed_token_ids": "allowed_token_ids",
    "bad_words": "bad_words",
    "bad_words_token_ids": "bad_words",
}


def refuse_sampling(params: Any, spec: Spec, request: Any = None) -> None:
    """Refuse options that take ids away after our mask: none might be left.

    Args:
        params: what has the options.
        spec: what the request allows.
        request: as its route takes it, where that says more of it.

    Raises:
        VLLMValidationError: the request has such an option.

    """
    if carrier.declared(request, "use_beam_search"):
        refuse_beam_search()
    for option, reason in _sampling_refusals(params, spec, request):
        raise option_refusal(option, reason)


def _sampling_refusals(params: Any, spec: Spec, request: Any) -> Iterator[tuple[str, str]]:
    calls_nothing = not spec.toolset.allowed and spec.response_format is None
    for option, reason in _FORCING.items():
        if carrier.declared(params, option) is not None:
            yield option, reason
    for sent, option in _FORBIDDING.items():
        if carrier.declared(params, sent) and not (option == "bad_words" and calls_nothing):
            yield (
                option,
                f"`{option}` could forbid tokens that an enforced reply needs: leave it out",
            )
    biases = (carrier.declared(params, "logit_bias") or {}).values()
    if any(not abs(bias) <= _MOST_BIAS for bias in biases):  # nor is what is no number
        reason = (
            "a `logit_bias` that is infinite, or becomes so in 32 bits, could forbid tokens that "
            f"an enforced reply needs: use one from -{_MOST_BIAS:g} to {_MOST_BIAS:g}"
        )
        yield "logit_bias", reason
    penalty = carrier.declared(params, "repetition_penalty")
    if penalty is not None and not 1 / _MOST_PENALTY <= penalty <= _MOST_PENALTY:
        reason = (
            "a `repetition_penalty` close to zero or very large turns logits into infinity or NaN "
            f"after the mask is applied: use one from {1 / _MOST_PENALTY:g} to {_MOST_PENALTY:g}"
        )
        yield "repetition_penalty", reason
    least = carrier.declared(params, "min_tokens")
    if least and not calls_nothing and not reply_lengths.is_prefill(params, request):
        reason = (
            "`min_tokens` forbids the end of the turn, which is all that may follow calls or a "
            "complete formatted text: leave it out, or send no tools"
        )
        yield "min_tokens", reason
