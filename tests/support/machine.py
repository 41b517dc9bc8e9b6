"""Compiled grammars of the machine, and masks compared with the token ids that are accepted."""

from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from enforcer import kernel
from enforcer.engines import ArgumentMatcher, CompiledGrammar
from enforcer.layouts import BoundLayout
from enforcer.machine import grammar as binding
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import CompiledTables, tables_of
from enforcer.schema import Conventions, compile_schema
from enforcer.turn.matcher import Matcher
from enforcer.vocabulary import Vocabulary
from tests.machine.interpreted import interpreted
from tests.vocabularies import bits

OPEN = Conventions(closed_objects=False)
_PLAIN = frozenset(b'abcd",:1[]{')


def of_bytes(pieces: Iterable[str | bytes]) -> Vocabulary:
    """Return a vocabulary of the 256 bytes, whose ids they are, and of longer pieces."""
    tokens = [each.encode() if isinstance(each, str) else each for each in pieces]
    every = [bytes([byte]) for byte in range(256)]
    return Vocabulary([*every, *(each for each in tokens if len(each) > 1)], {})


@cache
def tree(vocabulary: Vocabulary, *, is_raw: bool = False, is_python: bool = False) -> kernel.Tree:
    """Return the tree of a vocabulary, built once."""
    return bound_vocabulary(vocabulary, is_raw=is_raw, is_python=is_python)


def held(
    schema: Any, found: kernel.Tree, layout: BoundLayout | None = None, **options: Any
) -> MachineGrammar:
    """Compile a schema with the options of `compile_schema` for a tree."""
    return MachineGrammar(tables_of(compile_schema(schema, **options), layout), found)


def begun(found: CompiledGrammar, text: str | bytes) -> Any:
    """Start a text by single bytes."""
    matcher = found.matcher()
    write(matcher, text)
    return matcher


def write(matcher: ArgumentMatcher, text: str | bytes) -> None:
    """Continue a text by single bytes; fail with what is refused."""
    data = text.encode() if isinstance(text, str) else text
    for at, byte in enumerate(data, 1):
        assert matcher.accept(byte), data[:at]


def mask(matcher: ArgumentMatcher | Matcher, vocabulary: Vocabulary) -> set[int]:
    """Return the token ids of a mask, which is all ones before; a turn's is the first of rows."""
    row = np.full((1, vocabulary.words), -1, np.int32)
    matcher.fill(row if isinstance(matcher, Matcher) else row[0])
    return bits(row[0])


def legal(matcher: ArgumentMatcher | Matcher, vocabulary: Vocabulary) -> set[bytes]:
    """Return the tokens of a mask."""
    return set(map(vocabulary.token_bytes, mask(matcher, vocabulary)))


def assert_follows(
    matcher: ArgumentMatcher | Matcher, vocabulary: Vocabulary, ids: Iterable[int]
) -> None:
    """Assert of token ids one after another that the mask has each and that it is accepted."""
    for token_id in ids:
        assert token_id in mask(matcher, vocabulary), (token_id, matcher)
        assert matcher.accept(token_id), (token_id, matcher)


def agreed(
    matcher: ArgumentMatcher | Matcher, vocabulary: Vocabulary, some: Iterable[int] | None = None
) -> set[int]:
    """Assert of all or some token ids that a mask has those that are accepted; return the mask."""
    allowed = mask(matcher, vocabulary)
    for token_id in range(vocabulary.size) if some is None else some:
        is_taken = matcher.accept(token_id)
        if is_taken:
            matcher.rollback(1)
        assert is_taken == (token_id in allowed), (token_id, matcher)
    return allowed


def assert_known_after_going_back(
    found: MachineGrammar, vocabulary: Vocabulary, random: Random, preferred: Iterable[int] = _PLAIN
) -> None:
    """Assert that a text that goes back and lets go is as one that is written anew."""
    some = frozenset(preferred)
    kept, most = found.matcher(), 0
    ids: list[int] = []
    for _ in range(400):
        count = random.randint(0, most)
        kept.rollback(count)
        most = min(most - count + 1, 3)
        ids = ids[: len(ids) - count]
        allowed = sorted(mask(kept, vocabulary))
        if not allowed:
            break
        ids.append(random.choice([i for i in allowed if i in some] or allowed))
        assert kept.accept(ids[-1])
        kept.keep(3)
        fresh = found.matcher()
        assert all(map(fresh.accept, ids))
        assert mask(fresh, vocabulary) == mask(kept, vocabulary)


def assert_same_interpreted(
    monkeypatch: pytest.MonkeyPatch,
    tables: CompiledTables,
    vocabulary: Vocabulary,
    ids: Iterable[int],
    **kind: Any,
) -> list[bool]:
    """Assert that the kernel's sources do as the compiled one; return which ids are accepted.

    Args:
        monkeypatch: replaces the kernel.
        tables: of the text.
        vocabulary: of the text.
        ids: of the text.
        **kind: of the tree of the vocabulary, `is_raw` or `is_python`.

    """
    found = []
    for module in (kernel, interpreted()):
        monkeypatch.setattr(binding, "kernel", module)
        text = MachineGrammar(tables, bound_vocabulary(vocabulary, **kind)).matcher()
        steps = []
        for token_id in ids:
            allowed, work = mask(text, vocabulary), text.work
            steps.append((text.accept(token_id), allowed, work, text.is_accepting()))
        found.append(steps)
    monkeypatch.undo()
    assert found[0] == found[1]
    return [step[0] for step in found[0]]
