"""Masks over vocabularies whose tokens are pieces of whole turns, so that any border is crossed.

A token is legal if and only if its bytes are, one by one; a piece may hold a name and its
arguments, or two calls of one tool.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from bench.formats import writers
from bench.formats.catalogue import FORMATS
from bench.formats.writers import Call, Turn
from enforcer import Enforcer, Options
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary
from tests.support import cases
from tests.support.tools import tool
from tests.tokenizer_cases import BYTES
from tests.vocabularies import bits

_NAMES = ("a", "ab", "get", "get_x", "f", "find_it")
_LENGTHS = (2, 3, 4, 6, 9, 15, 25, 40, 120, 300)
_CHECKED = 60  # tokens before each token of a turn
_VALUES: list[tuple[dict[str, Any], list[Any]]] = cases.listed(
    "properties/cases/pieces_of_turns.toml", "values"
)


def _tools(random: Random) -> tuple[list[dict[str, Any]], list[Call]]:
    """Draw one to four tools, and calls to them."""
    tools: list[dict[str, Any]] = []
    calls: list[Call] = []
    for name in random.sample(_NAMES, random.randint(1, 4)):
        drawn = {key: random.choice(_VALUES) for key in random.sample("abxy", random.randint(0, 3))}
        schema: dict[str, Any] = {"type": "object"}
        schema["properties"] = {key: value for key, (value, _) in drawn.items()}
        schema["additionalProperties"] = random.random() < 0.5
        tools.append(tool(name, schema))
        for _ in range(3):
            chosen = {key: random.choice(some) for key, (_, some) in drawn.items()}
            calls.append(Call(name, chosen))
    return tools, calls


def _vocabulary(texts: list[str], name: str, random: Random) -> Vocabulary:
    """Return all bytes, pieces of texts, and the special tokens of a format."""
    dialect = dialects.load(name)
    pieces = set[bytes]()
    for data in (text.encode() for text in texts):
        for _ in range(40):
            first = random.randrange(len(data))
            pieces.add(data[first : first + random.choice(_LENGTHS)])
    tokens = [*BYTES, *sorted(each for each in pieces if len(each) > 1)]
    is_spelled = random.random() < 0.5
    names = [x for x in dialect.controls if not (is_spelled and x in dialect.tokens.spelled)]
    controls = {each: len(tokens) + at for at, each in enumerate(names)}
    return Vocabulary([*tokens, *(each.encode() for each in names)], controls)


def _cut(vocabulary: Vocabulary, text: str, random: Random) -> Iterator[int]:
    """Yield token ids of a text, cut at random."""
    found = vocabulary.encode(text, markers=True)
    data = b""
    for token_id in [*found, -1]:
        if token_id in vocabulary.control_ids or token_id < 0:
            while data:
                fits = [i for i in range(vocabulary.size) if _begins(vocabulary, i, data)]
                yield (chosen := random.choice(fits))
                data = data[len(vocabulary.token_bytes(chosen)) :]
            if token_id >= 0:
                yield token_id
        else:
            data += vocabulary.token_bytes(token_id)


def _begins(vocabulary: Vocabulary, token_id: int, data: bytes) -> bool:
    piece = vocabulary.token_bytes(token_id)
    return token_id not in vocabulary.control_ids and bool(piece) and data.startswith(piece)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_token_is_legal_if_its_bytes_are(name: str, seed: int) -> None:
    random = Random(f"{name} {seed}")
    tools, calls = _tools(random)
    drawn = [tuple(random.choices(calls, k=random.randint(1, 3))) for _ in range(12)]
    texts = [writers.write(name, Turn(calls=each)) for each in drawn]
    vocabulary = _vocabulary(texts, name, random)
    most = random.choice([1, 2, 50])
    made = Enforcer(vocabulary, name, options=Options(max_calls=most, preamble_ids=100_000))
    spec = made.read_request(tools)
    matcher, by_bytes = made.start(spec, None), made.start(spec, None)
    pieces = range(len(BYTES), vocabulary.size - len(vocabulary.control_ids))
    for token_id in _cut(vocabulary, random.choice(texts), random):
        legal = bits(matcher.mask())
        assert matcher.failure is None, repr(matcher.failure)
        for each in {*random.sample(pieces, min(_CHECKED, len(pieces))), token_id}:
            if each in vocabulary.control_ids:
                continue
            data = vocabulary.token_bytes(each)
            assert (each in legal) == (by_bytes.validate([*data]) == len(data)), data
        if token_id not in legal:
            break
        assert matcher.accept(token_id)
        is_special = token_id in vocabulary.control_ids
        read = [token_id] if is_special else [*vocabulary.token_bytes(token_id)]
        assert all(map(by_bytes.accept, read))
        assert (matcher.state, matcher.tool) == (by_bytes.state, by_bytes.tool)
    assert np.any(matcher.mask())
