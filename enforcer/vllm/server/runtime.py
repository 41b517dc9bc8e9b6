"""The process's own vocabularies, tables, enforcers, caches and checking workers.

Each is built once, from the operator's settings, at start or when it is first needed.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from enforcer import engines
from enforcer.api import Enforcer
from enforcer.cache import Cache
from enforcer.checking.pool import Pool
from enforcer.checking.work import SchemaCheck
from enforcer.errors import ConfigurationError, InvalidVocabulary, brief
from enforcer.layouts import Layout
from enforcer.schema.bundling import Documents, read_documents
from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metric_defs, metrics, recording
from enforcer.vllm.server import served_model
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.request.options import Options
    from enforcer.request.response_format import ResponseFormat
    from enforcer.request.spec import Spec
    from enforcer.turn.dialect import Dialect


@dataclass(slots=True)
class _Model:
    """What is built of a vocabulary; vLLM loads its tokenizer more than once in a process."""

    vocabulary: Vocabulary
    tables: dict[str, Table] = field(default_factory=dict)
    enforcers: dict[tuple[str, str], Enforcer] = field(default_factory=dict)


_building = threading.Lock()
_known: dict[int, tuple[Any, _Model]] = {}  # by a tokenizer's `id`; the tokenizer is held
# Where embeddings stand in a prompt: with `--enable-prompt-embeds` vLLM adds it to its front end's
# tokenizer, which is the engine's too where they are one process. No model has an id for it.
_EMBEDS = "<prompt_embeds>"


def _model(tokenizer: Any) -> _Model:
    if id(tokenizer) not in _known:
        vocabulary = Vocabulary.from_transformers(tokenizer).without_last(_EMBEDS)
        same = (model for _, model in _known.values() if model.vocabulary.is_same(vocabulary))
        _known[id(tokenizer)] = tokenizer, next(same, None) or _Model(vocabulary)
    return _known[id(tokenizer)][1]


def forget(tokenizer: Any) -> None:
    """Drop all objects built for a tokenizer."""
    with _building:
        _known.pop(id(tokenizer), None)


def dialect_for(tokenizer: Any = None) -> Dialect:
    """Return the dialect that the served model speaks.

    Args:
        tokenizer: the model's, which tells formats of one parser apart; without it, the first
            that this process has met.

    Raises:
        InvalidVocabulary: it would have to tell, and cannot be read.

    """
    several = served_model.dialects()
    if len(several) == 1:
        return several[0]
    if tokenizer is not None:
        with _building:
            _model(tokenizer)
    vocabulary = vocabulary_of(tokenizer)
    return dialects.fitting(several, () if vocabulary is None else vocabulary.controls)


def vocabulary_of(tokenizer: Any) -> Vocabulary | None:
    """Return the vocabulary of a tokenizer that this process has read; the first one for None."""
    found = next(iter(_known.values()), None) if tokenizer is None else _known.get(id(tokenizer))
    return None if found is None else found[1].vocabulary


def table_for(tokenizer: Any, dialect: str | None = None) -> Table:
    """Return the table of a dialect, by default the server's, for a tokenizer of transformers.

    It is all that reading replies takes.

    Raises:
        InvalidVocabulary: it is none of that format.

    """
    try:
        name = dialect or dialect_for(tokenizer).name
        with _building:
            model = _model(tokenizer)
            if name not in model.tables:
                model.tables[name] = Table(dialects.load(name), model.vocabulary)
            return model.tables[name]
    except InvalidVocabulary as error:
        raise served_model.blamed(error) from error


def enforcer_for(tokenizer: Any, spec: Spec | None = None) -> Enforcer:
    """Return the process's enforcer for a tokenizer and what a spec was settled for.

    Raises:
        ConfigurationError: it was settled for an engine that this release does not have.

    """
    chosen = settings.current()
    if spec is None or spec.settled is None:
        key = (dialect_for(tokenizer).name, chosen.engine)
    else:
        key = (spec.settled.dialect, spec.settled.engine)
        if key[1] not in engines.ENGINES:
            raise ConfigurationError(
                f"the API server enforces by the engine {brief(key[1])}, which this "
                "release does not have: give both the same version of kimi-enforcer"
            )
    with _building:
        model = _model(tokenizer)
        if key not in model.enforcers:
            model.enforcers[key] = Enforcer(
                model.vocabulary,
                *key,
                chosen.options,
                cache=kept(),
                on_compile=recording.recorder().observer(metric_defs.COMPILE),
                write=partial(write, dialect=key[0], vocabulary=model.vocabulary),
            )
        return model.enforcers[key]


def enforcer_of_model(tokenizer: Any, ids: int, spec: Spec | None = None) -> Enforcer:
    """Return `enforcer_for`, for a model with `ids` token ids.

    Raises:
        ConfigurationError: its tokenizer has more token ids.

    """
    enforcer = enforcer_for(tokenizer, spec)
    if ids < enforcer.vocabulary.size:
        raise ConfigurationError(
            f"the model has {ids} token ids and its tokenizer {enforcer.vocabulary.size}: "
            "serve it with its own tokenizer"
        )
    return enforcer


@cache
def kept() -> Cache:
    """Return the cache of what this process keeps between requests."""
    return Cache(settings.current().cache_mib << 20)


@cache
def documents() -> Documents:
    """Return the operator's documents, to which the schemas of requests may refer.

    Raises:
        ConfigurationError: a file is not there, or none of its kind.

    """
    try:
        return read_documents(settings.current().documents)
    except ConfigurationError as error:
        raise ConfigurationError(f"{settings.PREFIX}DOCUMENTS: {error}") from error


def bundle(schema: str) -> str:
    """Return a schema together with the operator's documents that it refers to; cached."""
    provided = documents()
    if not provided.may_concern(schema):
        return schema  # nothing is cached
    digest = sha256(schema.encode("utf-8", "surrogatepass")).digest()
    return kept().get(("bundle", digest), lambda: provided.bundle(schema), len)


@cache
def pool() -> Pool:
    """Return the processes that check schemas; none runs before the first check.

    They check for the vocabulary that this process has met first, and for single bytes where
    it has met none.
    """
    chosen = settings.current()
    return Pool(
        chosen.engine,
        vocabulary_of(None) or Vocabulary.of_bytes(["<|end|>"]),
        dialect_for().name,
        modules=("enforcer.judging.shadowed",) if chosen.shadow else (),
        # By its exit status; less than zero, minus the signal's number.
        replaced=lambda status: metrics.log("checking process replaced", status=str(status)),
    )


def laid_out(name: str) -> str:
    """Return a dialect's name where schemas have to be checked for its layout; else nothing."""
    return "" if dialects.load(name).arguments == Layout() else name


def write(wanted: ResponseFormat, options: Options, dialect: str, vocabulary: Vocabulary) -> bytes:
    """Write a schema for the engine, in a process that is apart from this one.

    Args:
        wanted: what fits the schema is to be written; or another format of text.
        options: what holds for the request.
        dialect: whose layout arguments have.
        vocabulary: the model's, which another one that this process has met may not be.

    Raises:
        SchemaError: it cannot be enforced, or takes too long.
        Busy: there was no process for it.

    """
    known, names = vocabulary.controls, dialects.load(dialect).tokens.names
    controls = tuple((name, known[name]) for name in names if name in known)
    asked = SchemaCheck(wanted, options, writes=True, dialect=dialect)
    asked = replace(asked, controls=controls, writable=vocabulary.writable)
    verdict = pool().check(asked)
    if verdict.error is not None:
        raise verdict.error
    return verdict.written


def warm(tokenizer: Any) -> None:
    """Build what an API server needs for enforced requests and their replies, before the first.

    Raises:
        InvalidVocabulary: it is none of the server's format.
        ConfigurationError: the engine cannot follow the format; a document is none, or no checking
            process can be started.

    """
    table, chosen = table_for(tokenizer), settings.current()
    if served_model.has_our_parser():
        table.refuse_engine(chosen.engine)
    documents()
    pool().warm()


def _forget() -> None:
    """Begin anew in a forked child, where other threads' locks and workers are not."""
    global _building  # noqa: PLW0603 - the process's own
    _building = threading.Lock()
    kept.cache_clear()
    pool.cache_clear()
    for _, model in _known.values():
        model.enforcers.clear()  # they hold the cache


os.register_at_fork(after_in_child=_forget)
