"""Turns sampled from the masks of a format: whatever they leave open is tried.

Owns: requests with small schemas, and walking. Must not know: how turns are read.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np

from bench.formats.catalogue import ROWS
from enforcer.turn.dialect import Names
from enforcer.turn.matcher import Matcher
from enforcer.vocabulary import Vocabulary
from tests.formats import ours, vocabularies
from tests.support import cases
from tests.support.tools import tool

_MOST = 400
_LEAVES = cases.listed("formats/cases/sampled.toml", "leaves")
_KEYS = ("a", "city", "größe", "from_date", "x1")
_NAMES = ("get", "get_weather", "a", "ab", "find_hotels")
# What brings a value or a call to its end, where it is legal.
_CLOSERS = ('"', "]", "}", ")", "'", "\n", ",", ":", "}}", ">", "<", "/", "|", "`", "", ";")


def tools(name: str, rng: Random) -> list[dict[str, Any]]:
    """Draw one to three tools that a format can write."""
    plain = ours.served(name).dialect.names is Names.IDENTIFIER
    keys = [key for key in _KEYS if key.isascii() or not plain]
    return [tool(each, _object(rng, keys)) for each in rng.sample(_NAMES, rng.randint(1, 3))]


def _object(rng: Random, known: list[str]) -> dict[str, Any]:
    keys = rng.sample(known, rng.randint(0, 3))
    return {
        "type": "object",
        "properties": {key: rng.choice(_LEAVES) for key in keys},
        "required": [key for key in keys if rng.random() < 0.6],
        "additionalProperties": False,
    }


@cache
def _endings(vocabulary: Vocabulary) -> np.ndarray:
    """Mark the ids that are a control or a short piece of framing."""
    marked = np.zeros(vocabulary.words * 32, dtype=bool)
    marked[list(vocabulary.control_ids)] = True
    for token_id in range(vocabulary.size):
        if vocabulary.token_bytes(token_id).strip() in {each.encode() for each in _CLOSERS}:
            marked[token_id] = len(vocabulary.token_bytes(token_id)) > 0
    return marked


def turn(
    name: str,
    rng: Random,
    asked: list[dict[str, Any]],
    look: Callable[[Matcher, np.ndarray], object] = lambda _matcher, _legal: None,
) -> list[int] | None:
    """Sample a turn to its end; None if it does not come within a few hundred ids.

    Args:
        name: of a row.
        rng: chooses.
        asked: the request's tools.
        look: is shown the matcher and which ids are legal, before each id of calls.

    """
    vocabulary = vocabularies.vocabulary(name)
    row = ROWS[name]
    matcher = ours.matcher(name, asked)
    ids: list[int] = []

    def take(token_id: int) -> None:
        assert matcher.accept(token_id), (name, vocabulary.decode([*ids, token_id]), matcher)
        ids.append(token_id)

    bitmask = np.zeros((1, vocabulary.words), dtype=np.int32)

    def legal() -> np.ndarray:
        matcher.fill(bitmask)
        return np.unpackbits(bitmask.view(np.uint8), bitorder="little").view(bool)

    if row.speaks and rng.random() < 0.4:
        for token_id in vocabulary.encode(rng.choice(("Let me look.", "é\n\n", " "))):
            take(token_id)
    if rng.random() < 0.9:
        for token_id in vocabularies.ids(name, row.lead or row.call):
            take(token_id)
    endings = _endings(vocabulary)
    blank = np.zeros(len(endings), dtype=bool)
    blank[list(vocabulary.blank_ids)] = True
    while len(ids) < _MOST and matcher.state != "END":
        bits = legal()
        look(matcher, bits)
        if rng.random() < 0.8:  # white space is legal nearly everywhere
            some = bits & ~blank
            bits = some if some.any() else bits
        if rng.random() < 0.4 + len(ids) / _MOST:
            some = bits & endings
            bits = some if some.any() else bits
        take(int(rng.choice(np.flatnonzero(bits))))
    return ids if matcher.state == "END" else None
