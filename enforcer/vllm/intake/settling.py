"""Specs with this server's decisions (`Settled`), read once for each text and cached.

An admitted spec is the same object for the same text while it is cached. Nothing in a text is
trusted: the decisions that it claims must be the ones that this server would make.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from enforcer.cache import Cache
from enforcer.errors import RequestError, brief
from enforcer.request import carrier, spec_text
from enforcer.request import spec as specs
from enforcer.request.carrier import Carried
from enforcer.turn.request_envelope import refuse_names
from enforcer.vllm.config import settings
from enforcer.vllm.intake import checks
from enforcer.vllm.intake.rejections import (
    answered,
    not_allowed,
    option_rejection,
    placed,
    rejection,
)
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.observe.metric_defs import Relaxed
from enforcer.vllm.server import engine_marks, runtime, served_model

if TYPE_CHECKING:
    from enforcer.request.spec import Spec
    from enforcer.request.spec_text import Wire
    from enforcer.turn.dialect import Dialect
    from enforcer.vllm.config.settings import Settings
    from enforcer.vllm.intake.checks import Inexact
    from enforcer.vocabulary import Vocabulary

_LINES = 8  # log lines of a request on inexact schemas; one more counts the rest
_KEPT = 32_000_000  # bytes of texts, each some requests' alone
_WEIGHT = 2  # times the text; other requests mostly share its tools


class _Basis(NamedTuple):
    """The state of the server by which it settles a spec.

    Attributes:
        settings: the operator's.
        dialect: of the model that the request is for.
        as_text: see `Settled`.

    """

    settings: Settings
    dialect: Dialect
    as_text: bool


def _basis(tokenizer: Any) -> _Basis:
    return _Basis(settings.current(), runtime.dialect_for(tokenizer), served_model.reads_text())


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class AdmittedSpec:
    """A spec as this server admits it.

    Attributes:
        spec: with the server's decisions, and with the operator's documents in its schemas.
        text: the same as text.
        digest: of the text.
        basis: the state of the server by which it was settled; None if it was not.

    """

    spec: Spec
    text: str
    digest: str
    basis: _Basis | None = None

    @property
    def carried(self) -> Carried:
        """The spec as a request carries it."""
        return Carried(self.text, self.digest)


_known = Cache(_KEPT)


def admit(carried: Carried, tokenizer: Any = None, *, where: str = spec_text.HERE) -> AdmittedSpec:
    """Read a spec that a request carries, and settle it.

    Args:
        carried: the spec, which this process may have settled before.
        tokenizer: the model's; None where it is not at hand, as `runtime.dialect_for` has it.
        where: the path of the spec in the request.

    Raises:
        VLLMValidationError: it is malformed, or asks for what this server does not grant.
        GracefulHTTPError: an engine of this server has no plugin.

    """
    found = read_before(carried)
    if found is not None and is_current(found, tokenizer):
        return announced(found)
    try:
        return settle(spec_text.decode(carried.checked()), tokenizer)
    except RequestError as error:
        raise rejection(error.at(lambda path: path.replace(spec_text.HERE, where, 1))) from error


def is_current(admitted: AdmittedSpec, tokenizer: Any) -> bool:
    """Return whether the server would settle a spec as it did before."""
    return admitted.basis == _basis(tokenizer)


def announced(admitted: AdmittedSpec) -> AdmittedSpec:
    """Have the log lines of the current task's request name the tools of a spec.

    Raises:
        GracefulHTTPError: an engine of this server has no plugin.

    """
    engine_marks.reject_unmarked()
    request_context.change(tools=admitted.spec.toolset.tools)
    return admitted


def settle(wire: Wire, tokenizer: Any) -> AdmittedSpec:
    """Settle a spec, once for all requests with the same text.

    Raises:
        InvalidTools: no chat request could have said it.
        VLLMValidationError: it asks for what this server does not grant.
        GracefulHTTPError: an engine of this server has no plugin.

    """
    engine_marks.reject_unmarked()
    basis, said = _basis(tokenizer), wire.text()
    found: AdmittedSpec | None = _known.peek(said)
    if found is None or found.basis != basis:
        found = _settle(wire, basis, runtime.vocabulary_of(tokenizer))
        _cached(found, said)
    return announced(found)


def _settle(wire: Wire, basis: _Basis, vocabulary: Vocabulary | None) -> AdmittedSpec:
    spec = wire.spec()
    request_context.change(tools=spec.toolset.tools)
    mine = _settled(spec, basis)
    theirs = spec.settled
    if theirs not in (None, mine):
        raise option_rejection(
            "settled",
            "the spec was settled by a server with other settings than this one "
            f"({_differences(theirs, mine)}): clients leave `settled` out; a server "
            "that renders prompts for this one needs the same --tool-call-parser, "
            "--structured-outputs-config and ENFORCER_… variables",
        )
    admitted = replace(spec, settled=mine)
    if not checks.has_passed(admitted):
        limits = mine.options.limits
        with answered():
            refuse_names(basis.dialect, spec.toolset, vocabulary)
            if spec.settled is None:
                specs.refuse_large(spec, limits)
                admitted = specs.bundled(admitted, runtime.bundle, limits.size)
            else:  # documents are in it by now; but a client can write what a server settles
                specs.refuse_large(spec, replace(limits, request=limits.request + limits.size))
    if admitted.toolset.tools is not spec.toolset.tools:
        wire = wire.put(admitted)
    text = wire.settle(mine).text()
    return _cached(AdmittedSpec(admitted, text, carrier.digest_of(text), basis))


def _cached(admitted: AdmittedSpec, key: str = "") -> AdmittedSpec:
    return _known.get(key or admitted.digest, lambda: admitted, lambda one: _WEIGHT * len(one.text))


def read(carried: Carried) -> AdmittedSpec:
    """Read the spec beside a tag; once for each text, which is compared with the cached one.

    Raises:
        InvalidTools: it cannot be read, or is not the one that the tag was made for.

    """
    return read_before(carried) or _cached(
        AdmittedSpec(spec_text.read(carried.checked()), str(carried.text), carried.digest)
    )


def read_before(carried: Carried) -> AdmittedSpec | None:
    """Return the spec beside a tag, if this process has read it before."""
    found: AdmittedSpec | None = _known.peek(carried.digest)
    return found if found is not None and found.text == carried.text else None


def _differences(theirs: specs.Settled, mine: specs.Settled) -> str:
    """Name the settings in which two differ, with both values."""
    one, other = (_flat(msgspec.to_builtins(each)) for each in (theirs, mine))
    return "; ".join(
        f"{name} {brief(one[name])}, and {brief(other[name])} here"
        for name in other
        if one[name] != other[name]
    )


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields, with nested objects replaced by their own fields."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        found |= _flat(value) if isinstance(value, dict) else {name: value}
    return found


def _settled(spec: Spec, basis: _Basis) -> specs.Settled:
    own, closed = basis.settings.options, spec.closed_objects
    unsupported = spec.on_unsupported and spec.on_unsupported.value
    for option, wish, mine, word in (
        ("on_unsupported", unsupported, own.on_unsupported.value, unsupported),
        ("finish_within_budget", spec.finish_within_budget, own.finish_within_budget, "finish"),
        ("closed_objects", closed, own.conventions.closed_objects, "closed" if closed else "open"),
    ):
        if wish not in (None, mine) and word not in {"refuse", *basis.settings.allow_client}:
            raise not_allowed(option, f"`{option}` to {brief(wish)}")
    options = replace(spec, settled=None).resolve(own)
    name = basis.dialect.name
    return specs.Settled(name, basis.settings.engine, options, basis.as_text)


def isolated(admitted: AdmittedSpec, inexact: Iterable[Inexact]) -> AdmittedSpec:
    """Return the spec with any object for the arguments of tools that cannot be enforced exactly.

    Args:
        admitted: a spec, its schemas checked.
        inexact: the schemas that are not enforced exactly, or not in time; they are logged.

    """
    log_inexact(inexact)
    names = [one.tool for one in inexact if one.how is Relaxed.ISOLATED and one.tool is not None]
    if not names:
        return admitted
    spec = specs.with_schemas(admitted.spec, dict.fromkeys(names, "{}"))
    text = spec_text.decode(admitted.text).put(spec).text()
    return _cached(replace(admitted, spec=spec, text=text, digest=carrier.digest_of(text)))


def log_inexact(inexact: Iterable[Inexact]) -> None:
    """Log the schemas whose `is_new` is set, at most `_LINES`, and the number of others.

    `checks.schemas` sets it for a schema that is in no cache: in every request for one that was not
    checked for want of time.
    """
    new = [one for one in inexact if one.is_new]
    for one in new[:_LINES]:
        of = request_context.told(one.problem.path)
        metrics.log_relaxed(one.how, placed(one.problem), error=one.error, **of)
    if len(new) > _LINES:
        more, request = str(len(new) - _LINES), request_context.told()["request"]
        metrics.log("more schemas not exact", count=more, request=request)
