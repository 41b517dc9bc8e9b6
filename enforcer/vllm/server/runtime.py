"""What a process of the server has once: vocabularies, tables, enforcers, checking workers.

Owns: building them from the operator's settings, each when it is first needed or at start, and
none of them twice. Must not know: requests, vLLM's classes.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from enforcer import engines
from enforcer.api import Enforcer
from enforcer.cache import Cache
from enforcer.checking.pool import Pool
from enforcer.checking.work import Check
from enforcer.errors import ConfigurationError
from enforcer.layouts import Layout
from enforcer.regex.charset import CharSet
from enforcer.request import spec_text
from enforcer.request.response_format import FormatKind
from enforcer.schema import Root
from enforcer.schema.bundling import Documents, read_documents
from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metrics
from enforcer.vllm.server import served_model
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.request.options import Options
    from enforcer.request.spec import Spec
    from enforcer.turn.dialect import Dialect


@dataclass(slots=True)
class _Known:
    """A tokenizer that this process has met; it is kept, since its id is the key."""

    tokenizer: Any
    vocabulary: Vocabulary
    tables: dict[str, Table] = field(default_factory=dict)
    enforcers: dict[tuple[str, str], Enforcer] = field(default_factory=dict)


_building = threading.Lock()
_known: dict[int, _Known] = {}
# Where embeddings stand in a prompt: with `--enable-prompt-embeds` vLLM adds it to its front end's
# tokenizer, which is the engine's too where they are one process. No model has an id for it.
_EMBEDS = "<prompt_embeds>"
_KEPT = 5_000_000  # characters of a spec that is kept once it is read: `Limits.request`, and names


def _know(tokenizer: Any) -> _Known:
    known = _known.get(id(tokenizer))
    if known is None:
        vocabulary = Vocabulary.from_transformers(tokenizer).without_last(_EMBEDS)
        # vLLM loads a tokenizer more than once in a process, with the same ids in it.
        same = next((k for k in _known.values() if k.vocabulary.is_same(vocabulary)), None)
        known = (
            _Known(tokenizer, vocabulary) if same is None else _Known(tokenizer, same.vocabulary)
        )
        if same is not None:
            known.tables, known.enforcers = same.tables, same.enforcers
        _known[id(tokenizer)] = known
    return known


def know(tokenizer: Any, vocabulary: Vocabulary) -> None:
    """Take a tokenizer for one of this vocabulary, without reading it."""
    with _building:
        _known[id(tokenizer)] = _Known(tokenizer, vocabulary)


def forget(tokenizer: Any) -> None:
    """Keep nothing of a tokenizer any more."""
    with _building:
        _known.pop(id(tokenizer), None)


def dialect_for(tokenizer: Any = None) -> Dialect:
    """Give the dialect that the served model speaks.

    Args:
        tokenizer: the model's, which tells formats of one parser apart; without it, the first
            that this process has met.

    Raises:
        InvalidVocabulary: it would have to tell, and cannot be read.

    """
    several = served_model.dialects()
    if len(several) == 1:
        return several[0]
    with _building:
        known = next(iter(_known.values()), None) if tokenizer is None else _know(tokenizer)
    return dialects.fitting(several, () if known is None else known.vocabulary.controls)


def vocabulary_of(tokenizer: Any) -> Vocabulary | None:
    """Return the vocabulary of a tokenizer that this process has read; the first one for None."""
    known = next(iter(_known.values()), None) if tokenizer is None else _known.get(id(tokenizer))
    return None if known is None else known.vocabulary


def table_for(tokenizer: Any, dialect: str | None = None) -> Table:
    """Give the table of a dialect, by default the server's, for a tokenizer of transformers.

    It is all that reading replies takes.
    """
    name = dialect or dialect_for(tokenizer).name
    with _building:
        known = _know(tokenizer)
        table = known.tables.get(name)
        if table is None:
            table = known.tables[name] = Table(dialects.load(name), known.vocabulary)
        return table


def enforcer_for(tokenizer: Any, spec: Spec | None = None) -> Enforcer:
    """Give the process's enforcer for a tokenizer, and what a spec was settled for."""
    chosen = settings.current()
    settled = None if spec is None else spec.settled
    if settled is None:
        key = (dialect_for(tokenizer).name, chosen.engine)
    else:
        key = (settled.dialect, settled.engine)
    with _building:
        known = _know(tokenizer)
        enforcer = known.enforcers.get(key)
        if enforcer is None:
            enforcer = known.enforcers[key] = Enforcer(
                known.vocabulary,
                *key,
                chosen.options,
                cache=kept(),
                on_compile=metrics.compiled,
                write=partial(write, dialect=key[0], vocabulary=known.vocabulary),
            )
        return enforcer


@cache
def kept() -> Cache:
    """Give what this process keeps between requests."""
    return Cache(settings.current().cache_mib << 20)


@cache
def documents() -> Documents:
    """Give the schemas that those of requests may refer to, as the operator provides them.

    Raises:
        ConfigurationError: a file is not there, or none of its kind.

    """
    try:
        return read_documents(settings.current().documents)
    except ConfigurationError as error:
        raise ConfigurationError(f"{settings.PREFIX}DOCUMENTS: {error}") from error


def bundle(schema: str) -> str:
    """Put what a schema refers to of the operator's documents into it, and remember that."""
    provided = documents()
    if not provided.may_concern(schema):
        return schema  # and nothing is kept of it
    digest = sha256(schema.encode("utf-8", "surrogatepass")).digest()
    return kept().get(("bundle", digest), lambda: provided.bundle(schema), len)


@cache
def pool() -> Pool:
    """Give the processes that check schemas; there is none before the first check.

    They check for the vocabulary that this process has met first, and for single bytes where
    it has met none.
    """
    dialect = dialect_for().name
    with _building:
        met = next((known.vocabulary for known in _known.values()), None)
    chosen = settings.current()
    return Pool(
        chosen.engine,
        met or _bytes(),
        dialect,
        in_time=chosen.may_finish,
        replaced=metrics.log_replaced,
    )


def _bytes() -> Vocabulary:
    return Vocabulary.of_bytes(["<|end|>"])


def laid_out(name: str) -> str:
    """Give a dialect's name where schemas have to be checked for its layout; else nothing."""
    return "" if dialects.load(name).arguments == Layout() else name


def write(schema: str, options: Options, root: Root, dialect: str, vocabulary: Vocabulary) -> str:
    """Write a schema for the engine, in a process that is apart from this one.

    Args:
        schema: what fits it is to be written.
        options: what holds for the request.
        root: what a value must be, besides fitting the schema.
        dialect: whose layout arguments have.
        vocabulary: the model's, which another one that this process has met may not be.

    Raises:
        SchemaError: it cannot be enforced, or takes too long.
        Busy: there was no process for it.

    """
    layout = laid_out(dialect) if root is Root.OBJECT else ""
    names = dialects.load(layout).tokens.names if layout else ()
    controls = vocabulary.controls
    asked = Check(
        FormatKind.JSON_SCHEMA,
        schema,
        root,
        options,
        writes=True,
        dialect=layout,
        controls=tuple((name, controls[name]) for name in names if name in controls),
        writable=CharSet.of(vocabulary.writable).ranges if layout else None,
    )
    verdict = pool().check(asked)
    if verdict.error is not None:
        raise verdict.error
    return verdict.written


@cache
def trusts_plain() -> bool:
    """Tell whether the server's engine compiles whatever is plain, within the default limits."""
    return engines.load(settings.current().engine, _bytes()).capacity.holds_plain


def warm(tokenizer: Any) -> None:
    """Build what an API server needs for its requests and their replies, before the first."""
    dialect = table_for(tokenizer).dialect
    if settings.current().options.finish_within_budget and not dialect.is_simple:
        raise ConfigurationError(
            "ENFORCER_FINISH_WITHIN_BUDGET=on is not supported for the format "
            f"{dialect.name}, in which the shortest end of a turn is not known: switch "
            "it off"
        )
    ready()


def ready() -> None:
    """Build what checking a spec takes, whatever the format.

    Raises:
        ConfigurationError: a document is none, or no checking process can be started.

    """
    documents()
    pool().warm()
    trusts_plain()


def _forget() -> None:
    """Begin anew in a forked child, where other threads' locks and workers are not."""
    global _building  # noqa: PLW0603 - the process's own
    _building = threading.Lock()
    kept.cache_clear()
    pool.cache_clear()
    for known in _known.values():
        known.enforcers.clear()  # they hold the cache


os.register_at_fork(after_in_child=_forget)


def read(text: str) -> Spec:
    """Read a spec's text, its schemas unchecked; raises as `spec_text.read` does."""
    # What is no text, in a forged spec, has no length to be kept by: it is refused in there.
    return _read(text) if isinstance(text, str) and len(text) <= _KEPT else spec_text.read(text)


@lru_cache(maxsize=4)
def _read(text: str) -> Spec:
    # vLLM hands a request from check to check, and each has but the text.
    return spec_text.read(text)
