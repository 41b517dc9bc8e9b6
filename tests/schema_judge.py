"""A validator to compare the compiler with, and compiled schemas to ask and to sample.

Owns: `jsonschema` with exact arithmetic, and reading and walking a compiled grammar over
the small vocabulary. Must not know: where schemas and instances come from.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import jsonschema
from hypothesis import assume
from jsonschema import validators

from enforcer import engines
from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar
from enforcer.errors import SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.support.machine import agreed, mask
from tests.vocabularies import small, split

V = small()
# What ends a string, an array or an object, and digits, which end nothing but never loop.
_CLOSERS = frozenset(b'"]}')
# Checked by Python's standard library, and as the RFCs say on the strings of our pools.
FORMATS = jsonschema.FormatChecker(["date", "ipv4", "uuid"])


@cache
def engine() -> ArgumentEngine:
    """Return the engine over the small vocabulary: `ENFORCER_ENGINE`, as `compared` is."""
    return engines.load(os.environ.get("ENFORCER_ENGINE", "machine"), V)


def compiled(schema: Any, **options: Any) -> CompiledGrammar:
    """Compile a schema; raises what the compiler or the engine does."""
    return engine().compile(compile_schema(schema, **options))


def _multiple(_: Any, divisor: float, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    # `jsonschema` divides doubles, for which 0.3 is no multiple of 0.1.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    if (_exact(value) / _exact(divisor)).denominator != 1:
        yield jsonschema.ValidationError(f"{value!r} is not a multiple of {divisor}")


def _exact(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


@cache
def _exactly(base: Any, *, digits: bool) -> Any:
    types = validators.Draft4Validator.TYPE_CHECKER if digits else base.TYPE_CHECKER
    return validators.extend(base, {"multipleOf": _multiple}, type_checker=types)


def is_valid(schema: Any, value: Any, *, formats: bool = True, digits: bool = False) -> bool:
    """Ask `jsonschema`, by the dialect that the schema names or draft 2020-12.

    With `digits`, no float is an integer, whatever the dialect.
    """
    named = schema if isinstance(schema, dict) and "$schema" in schema else True
    base = validators.validator_for(named, jsonschema.Draft202012Validator)
    checker = FORMATS if formats else None
    return bool(_exactly(base, digits=digits)(schema, format_checker=checker).is_valid(value))


def accepts(grammar: CompiledGrammar, text: str | bytes, random: Random | None = None) -> bool:
    """Tell whether a whole text is accepted, split into tokens at random if asked to."""
    data = text.encode() if isinstance(text, str) else text
    ids = list(data) if random is None else split(random.choice, V, data)
    matcher = grammar.matcher()
    return all(map(matcher.accept, ids)) and matcher.is_accepting()


def agrees(schema: Any, instances: Iterable[Any]) -> None:
    """Assert that what a compiled schema accepts is what is valid.

    Inside a property an example whose schema is refused is no example; outside of one, being
    refused fails.
    """
    try:
        grammar = compiled(schema)
    except UnsatisfiableSchema:
        assert not any(is_valid(schema, value) for value in instances)
        return
    except (UnsupportedSchema, SchemaLimit):
        assume(False)
    for value in instances:
        assert accepts(grammar, json.dumps(value)) == is_valid(schema, value), value


def walk(grammar: CompiledGrammar, random: Random, most: int = 120) -> bytes | None:
    """Sample a whole text from the masks; None if it would not come to an end.

    Fails where a mask is empty though the text is not complete, and where a token of the
    mask is refused.
    """
    matcher = grammar.matcher()
    ids: list[int] = []
    while len(ids) < 4 * most:
        if matcher.is_accepting() and random.random() < 0.2 + len(ids) / most:
            return V.decode(ids)
        legal = sorted(mask(matcher, V))
        if not legal and matcher.is_accepting():
            return V.decode(ids)
        assert legal, f"a dead end after {V.decode(ids)!r}"
        ends = [i for i in legal if i in _CLOSERS]
        hurried = bool(ends) and random.random() < 0.3 + len(ids) / most
        ids.append(random.choice(ends if hurried else legal))
        assert matcher.accept(ids[-1]), f"the mask has {ids[-1]}, but it is refused"
    return None


def agree_along_a_walk(
    matcher: ArgumentMatcher,
    vocabulary: Vocabulary,
    random: Random,
    wanted: Callable[[bytes], object],
) -> None:
    """Assert at each place of a text that the mask is what is accepted, and comes back.

    Where nothing is legal, the text has to be whole.

    Args:
        matcher: at its beginning.
        vocabulary: its ids.
        random: decides which way to go, and how far.
        wanted: tells of the bytes of an id whether it is one to be preferred.

    """
    for _ in range(random.randint(1, 30)):
        legal = agreed(matcher, vocabulary)
        assert mask(matcher, vocabulary) == legal
        assert legal or matcher.is_accepting(), "a dead end"
        if not legal:
            break
        some = [i for i in legal if wanted(vocabulary.token_bytes(i))]
        pool = some if some and random.random() < 0.6 else sorted(legal)
        assert matcher.accept(random.choice(pool))
