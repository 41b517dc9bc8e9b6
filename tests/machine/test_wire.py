from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer.errors import ConfigurationError, EngineFailure
from enforcer.machine import wire
from enforcer.machine.nodes import empty_record
from enforcer.machine.tables import tables_of
from enforcer.machine.wire import RECORDS, verify
from enforcer.schema import Root, compile_schema
from tests.machine.hostile_tables import KINDS, mutated, tables, walk

# Fields of records that are compared with what a text has, and are no indices.
NUMBERS = {
    *(("nodes", "shapes"), ("arrays", "minimum"), ("arrays", "maximum")),
    *(("nodes", "least"), ("nodes", "room"), ("limits", "minimum"), ("limits", "maximum")),
    *(("arrays", "farthest"), ("counts", "is_bounded"), ("needs", "least"), ("needs", "most")),
    *(("automata", "minimum"), ("automata", "least"), ("automata", "steady")),
    *(("bounds", "minimum"), ("bounds", "maximum"), ("bounds", "steady")),
    *(("automata", "whole"), ("names", "place")),
}
INDICES = [
    (record, field)
    for record, fields in RECORDS.items()
    for field in fields.names or ()
    if (record, field) not in NUMBERS
]


@pytest.mark.parametrize("number", range(KINDS))
def test_tables_come_back_as_they_were(number: int) -> None:
    made = tables(number)
    found = wire.read(wire.write(made))
    assert (found.wide_rows, found.white_space) == (made.wide_rows, 2)
    assert found.arrays.keys() == made.arrays.keys()
    for name, array in made.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)
    assert wire.read(wire.write(replace(made, white_space=1))).white_space == 1


def test_equal_tables_have_equal_digests() -> None:
    one, same, other = (wire.write(tables(number)) for number in (0, 0, 1))
    assert wire.digest_of(one) == wire.digest_of(same) != wire.digest_of(other)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = wire.write(tables(0))
    monkeypatch.setattr(wire, "VERSION", wire.VERSION + 1)
    with pytest.raises(ConfigurationError, match="same version of kimi-enforcer"):
        wire.read(data)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_bytes_are_refused(data: st.DataObject) -> None:
    written = bytearray(wire.write(tables(0)))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(written) - 1))
        written[at] ^= data.draw(st.integers(1, 255))
    else:
        del written[data.draw(st.integers(0, len(written) - 1)) :]
    stated = wire._BEGINNING.size + wire._LENGTHS.size + wire._DIGEST
    try:
        found = wire.read(bytes(written))
    except (ConfigurationError, EngineFailure):
        return
    assert stated <= at < wire._HEAD  # what fills up the header means nothing
    assert found.wide_rows == tables(0).wide_rows


@pytest.mark.slow
@given(st.integers(0, KINDS - 1), st.randoms(use_true_random=False))
@settings(max_examples=500, deadline=None)
def test_tables_with_wrong_numbers_are_refused_or_do_no_harm(number: int, random: Random) -> None:
    try:
        walk(wire.read(wire.write(mutated(random, tables(number)))), random)
    except EngineFailure:
        return  # and nothing else: no index is out of bounds where tables are taken


def test_white_space_that_is_none_of_the_four_is_refused() -> None:
    with pytest.raises(EngineFailure, match="white space"):
        wire.read(wire.write(replace(tables(0), white_space=4)))


def test_more_wide_rows_than_states_are_refused() -> None:
    with pytest.raises(EngineFailure, match="size"):
        wire.read(wire.write(replace(tables(0), wide_rows=1 << 31)))


def test_a_node_without_values_has_no_more_words_of_shapes_than_there_are() -> None:
    """A frame of its objects took eight bytes for each word."""
    found = tables(1)
    record = [*({**empty_record(0), "shapes": 1, "shape_words": 1 << 30}).values()]
    array: Any = found.arrays["nodes"].copy()
    array[: len(record)] = record
    with pytest.raises(EngineFailure, match="damaged: the table of nodes"):
        verify(replace(found, arrays={**found.arrays, "nodes": array}))


def test_arrays_share_no_counts() -> None:
    """Many arrays over one long span of counts would take time without a bound."""
    either = [{"type": "array", "contains": {"const": n}, "maxContains": 3} for n in (1, 2)]
    found = tables_of(compile_schema({"anyOf": either}, root=Root.ANY), None)
    verify(found)
    fields = RECORDS["arrays"].names or ()
    array: Any = found.arrays["arrays"].copy().reshape(-1, len(fields))
    counts: Any = found.arrays["counts"].copy().reshape(-1, 3)
    counted = array[:, fields.index("counts")] > 0
    assert sum(counted) == len(counts) == 2
    counts[:] = 1, 0, 0  # of which an array may have any number, with one state
    for each, states in ((1, 1), (2, 1)):
        for field, value in (("counts", each), ("count0", 0), ("sums", states), ("need0", 0)):
            array[counted, fields.index(field)] = value
        hostile = {"arrays": array.copy().reshape(-1), "counts": counts.reshape(-1)}
        if each == 1:
            verify(replace(found, arrays={**found.arrays, **hostile}))
    with pytest.raises(EngineFailure, match="damaged"):
        verify(replace(found, arrays={**found.arrays, **hostile}))


@pytest.mark.parametrize("value", [-2, 1 << 30])
@pytest.mark.parametrize(("record", "field"), INDICES)
def test_a_record_with_a_wrong_index_is_refused(record: str, field: str, value: int) -> None:
    # The first node is an object with undeclared names, and one behind it an array.
    found = tables(0)
    fields = RECORDS[record].names or ()
    array: Any = found.arrays[record].copy().reshape(-1, len(fields))
    used = array[:, fields.index("arrays")] > 0 if field == "arrays_of" else slice(0, 1)
    array[used, fields.index(field)] = value
    with pytest.raises(EngineFailure, match="damaged"):
        verify(replace(found, arrays={**found.arrays, record: array.reshape(-1)}))
