"""Texts of which few lengths are left behind a token: rows are what is accepted, at little cost."""

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.errors import UnsatisfiableSchema
from enforcer.layouts import JSON
from enforcer.schema import Root
from enforcer.vocabulary import Vocabulary
from tests import vocabularies
from tests.support import machine

_STRING: dict[str, Any] = {"type": "string"}
_PIECES = (*"axyb. é一丁😀", "\\", "\\u", "\\n", "\\u0061", "\\u00e9", "\\u4e", '"')
# Behind an `x`, an `é` or a point few lengths are left.
_PATTERNS = (
    *("^[^x]*x?$", "^[^x]*x[^y]{0,3}$", "^[^x]*x[^y]{0,30}$", "^[^.]*(\\.[a-z]{0,3})?$"),
    *("^[^é一]*[é一]?$", "^([^x]|xy)*$", "^[^x]*(x[^y]*)?$", "^[^xé]*(é[ab]{0,3}|x)?$"),
    *("^a[^x]{0,30}$", "^[^a]*(a.?)?$", "^.*[é]$", "^[^丁]*(丁一?)?$"),
)


@cache
def _vocabulary() -> Vocabulary:
    """Ids 0 to 255 are bytes; other tokens are of some pieces, whole or without a byte."""
    random = Random(5)
    whole = [
        "".join(random.choices(_PIECES, k=count)).encode()
        for count in (2, 3, 4, 6, 9)
        for _ in range(60)
    ]
    cut = [part for each in whole if len(each) > 3 for part in (each[:-1], each[1:])]
    return machine.of_bytes(sorted({*whole, *cut}))


def _over_kimi(schema: dict[str, Any]) -> kernel.TextMatcher:
    return machine.held(schema, machine.tree(vocabularies.kimi()), root=Root.ANY).matcher()


def _drawn(random: Random) -> dict[str, Any]:
    """Draw one string with lengths, or one of several: of one pattern, or of several."""

    def lengths() -> dict[str, int]:
        least = random.choice([0, 3, 7, 14, 21, 22, 25, 30, 50, 80])
        found = {"minLength": least, "maxLength": least + random.choice([0, 1, 2, 6, 20, 70])}
        found.pop(random.choice(["minLength", "maxLength", "neither"]), None)
        return found

    def string(pattern: str) -> dict[str, Any]:
        return {**_STRING, "pattern": pattern, **lengths()}

    count = random.choice([1, 1, 2, 3, 6, 8])
    pattern = random.choice(_PATTERNS)
    is_same = random.random() < 0.5
    patterns = [pattern if is_same else random.choice(_PATTERNS) for _ in range(count)]
    return {"anyOf": [string(each) for each in patterns]}


@given(st.integers(0, 2**32 - 1))
def test_a_row_is_what_is_accepted(seed: int) -> None:
    random = Random(seed)
    schema, layout = _drawn(random), random.choice([None, JSON])
    try:
        text = machine.held(schema, machine.tree(_vocabulary()), layout, root=Root.ANY).matcher()
    except UnsatisfiableSchema:  # `^a[^x]{0,30}$` has no text of 50 characters
        reject()
    assert text.accept(ord('"'))
    for _ in range(20):
        inside = [
            number for number in sorted(machine.agreed(text, _vocabulary())) if number != ord('"')
        ]
        if not inside:
            return
        longer = [number for number in inside if number > 255]
        assert text.accept(random.choice(longer if longer and random.random() < 0.7 else inside))


def _ranges(pattern: str, step: int, width: int, count: int) -> dict[str, Any]:
    lengths = [(step * at, step * at + width) for at in range(count)]
    return {
        "anyOf": [
            {**_STRING, "pattern": pattern, "minLength": least, "maxLength": most}
            for least, most in lengths
        ]
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("string", "first", "most"),
    [
        ({**_STRING, "pattern": "^[^x]*x?$", "minLength": 50, "maxLength": 200}, 50_000, 2_000),
        ({**_STRING, "pattern": "^[^x]*x?$", "maxLength": 20}, 50_000, 100_000),
        (_ranges("^[^x]*x?$", 50, 20, 40), 50_000, 140_000),
        (_ranges("^[^x]*x[^y]{0,40}$", 7, 2, 20), 50_000, 190_000),
        ({**_STRING, "pattern": "^[^x]*x[^y]{0,20000}$"}, 30_000, 50_000),
    ],
    ids=["between", "short", "ranges", "ranges and a tail", "a long tail"],
)
def test_masks_look_at_few_tokens(string: dict[str, Any], first: int, most: int) -> None:
    """Each place of such strings took 130,000 to 390,000 units."""
    vocabulary = vocabularies.kimi()
    text = _over_kimi({"type": "object", "properties": {"a": string}, "required": ["a"]})
    assert all(map(text.accept, vocabulary.encode('{"a": "')))
    machine.mask(text, vocabulary)
    assert text.work < first
    for token_id in vocabulary.encode("a cat sat on x"):
        machine.mask(text, vocabulary)
        assert text.work < most
        if not text.accept(token_id):
            break


def test_a_class_apart_from_one_letter_leaves_out_few_tokens() -> None:
    """Kimi's vocabulary has 380,000 nodes, most of them of small letters or Chinese."""
    vocabulary = vocabularies.kimi()
    for letter in ("g", "x", "z", "é", "ぁ", "가"):
        text = _over_kimi({**_STRING, "pattern": f"^[^{letter}]*$"})
        assert text.accept(*vocabulary.encode('"'))
        machine.mask(text, vocabulary)
        assert text.work < 60_000
