"""The bitmask rows that grammars hold: how many, which are shared, and that they are counted."""

import gc
import json
import tracemalloc

import numpy as np
import pytest

from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from tests.support import machine
from tests.vocabularies import small

V = small()
# Each comma leads to a state of its own, which takes most tokens.
COMMAS = {"type": "object", "properties": {"a": {"pattern": "^([a-z ]*,){4900}$"}}}
OPENED = V.encode('{"a": "')
COMMA = V.encode(",")[0]
MOST = 6 << 20  # bytes of one grammar's rows
FEW = 1 << 20  # where the process is over its bound


def follow(grammar: MachineGrammar, ids: list[int]) -> list[bytes]:
    """Return the masks before some tokens, and the last one."""
    text, rows = grammar.matcher(), []
    for token_id in (*ids, None):
        row = np.zeros(V.words, np.int32)
        text.fill(row)
        rows.append(row.tobytes())
        assert token_id is None or text.accept(token_id)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 0], ids=["within", "over"])
def test_rows_of_a_long_text_are_bounded_and_the_same_again(most: int | None) -> None:
    tree = bound_vocabulary(V)
    grammar = machine.held(COMMAS, tree)
    memory = tree.memory
    if most is not None:
        memory.most = most
    before = memory.bytes
    ids = [*OPENED, *[COMMA] * 4_800]
    first = follow(grammar, ids)
    assert 0 < memory.bytes - before < (MOST if most is None else FEW)
    assert follow(grammar, ids) == first
    assert memory.bytes - before < (MOST if most is None else FEW)
    del grammar
    assert memory.bytes == before


def test_kept_rows_are_bounded() -> None:
    tree = bound_vocabulary(V)
    names = [f"name {number}" for number in range(1_000)]
    grammar = machine.held({"properties": {name: {"enum": [1, "a b"]} for name in names}}, tree)
    tree.memory.most = 0
    before = tree.memory.bytes
    ids = V.encode(json.dumps(dict.fromkeys(names[:400], "a b")))
    first = follow(grammar, ids)
    assert 0 < tree.memory.bytes - before < FEW
    assert follow(grammar, ids) == first


def test_rows_that_grammars_share_count_once_and_live_as_long_as_one_of_them() -> None:
    tree = bound_vocabulary(V)

    def held() -> MachineGrammar:
        grammar = machine.held({"properties": {"a": {"pattern": "^[a-z ]*,[a-z ]*$"}}}, tree)
        follow(grammar, [*OPENED, COMMA])
        return grammar

    held()  # makes tries of the vocabulary's
    before = tree.memory.bytes
    grammars = [held()]
    of_one = tree.memory.bytes - before
    grammars += [held() for _ in range(3)]
    rows = [{id(row) for row in each.tables.rows[2:] if row is not None} for each in grammars]
    assert rows[0]
    assert rows == rows[:1] * 4
    assert tree.memory.bytes - before < 4 * of_one - 3 * len(rows[0]) * 4 * V.words
    del grammars[:3]
    assert len(rows[0]) * 4 * V.words < tree.memory.bytes - before <= of_one
    grammars.clear()
    assert tree.memory.bytes == before


@pytest.mark.slow
def test_a_grammar_weighs_what_it_holds() -> None:
    tree = bound_vocabulary(V)
    text = V.encode('{"kind": "b", "tags": ["x", "y"], "extra": {"a": 1.5}, "size": 12, "at": "2')

    def held(number: int) -> MachineGrammar:
        properties = {
            "kind": {"enum": ["a", "b", f"c {number}"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "size": {"type": "integer", "minimum": 1, "maximum": 500},
            "at": {"type": "string", "format": "date-time"},
        }
        grammar = machine.held({"properties": properties, "required": ["kind"]}, tree)
        follow(grammar, text)
        return grammar

    warm = [held(number) for number in range(3)]
    gc.collect()
    before = tree.memory.bytes
    tracemalloc.start()
    try:
        grammars = [held(number) for number in range(40)]
        gc.collect()
        found = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    counted = sum(each.weight for each in grammars) + tree.memory.bytes - before
    assert 0.8 * found < counted < 1.25 * found
    assert warm
