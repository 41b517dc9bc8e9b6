"""What is kept of JSON is kept of pairs of a key and a raw value, at whatever ids cross borders."""

from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laid_out import KEPT, compiled, read, spelled, taken, vocabulary, walk
from tests.schema_judge import agree_along_a_walk
from tests.walks import examples

V = vocabulary()
PAIRS = ("kimi_k3", "qwen3_coder", "minimax_m2", "glm45")
SEEDS = st.integers(0, 2**32)
_ENDS = (b"<", b'"', b"}", b"]", b">", b"\n", b"/")


@pytest.mark.slow
@pytest.mark.parametrize("schema", KEPT, ids=range(len(KEPT)))
@pytest.mark.parametrize("name", PAIRS)
@examples(40)
@given(seed=SEEDS)
def test_whatever_is_sampled_is_valid(name: str, schema: dict[str, Any], seed: int) -> None:
    ids = walk(compiled(name, schema).matcher(), Random(seed))
    if ids is not None:
        jsonschema.Draft202012Validator(schema).validate(dict(read(name, spelled(ids), schema)))


@pytest.mark.slow
@pytest.mark.parametrize("schema", KEPT, ids=range(len(KEPT)))
@pytest.mark.parametrize("name", PAIRS)
@examples(8)
@given(seed=SEEDS)
def test_masks_match_acceptance_and_rollback(name: str, schema: dict[str, Any], seed: int) -> None:
    matcher = compiled(name, schema).matcher()
    agree_along_a_walk(matcher, V, Random(seed), lambda data: data[:1] in _ENDS)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["abcdefg", "a\nb\ncde", "日本日本日本é", "<</para", "ab</arg"])
@pytest.mark.parametrize("name", PAIRS)
@given(seed=SEEDS)
def test_the_last_character_that_fits_is_the_last(name: str, text: str, seed: int) -> None:
    assert taken(name, KEPT[0], {"a": text}, seed)
    assert not taken(name, KEPT[0], {"a": text + "x"}, seed)
    assert taken(name, KEPT[1], {"b": text + "xy"}, seed)
    assert not taken(name, KEPT[1], {"b": text + "xyz"}, seed)
    assert taken(name, KEPT[-1], {"b": text}, seed)
    assert not taken(name, KEPT[-1], {"b": text + "x"}, seed)


@pytest.mark.parametrize("around", [0, 1, 2])
def test_line_breaks_that_are_trimmed_are_not_counted(around: int) -> None:
    inside = "\n" * max(around - 1, 0) + "abcde"
    text = f"<parameter=a>{chr(10) * min(around, 1)}{inside}xx\n</parameter></function>"
    matcher = compiled("qwen3_coder", KEPT[0]).matcher()
    assert all(map(matcher.accept, text.encode())) == (len(inside) + 2 <= 7)


ESCAPED = {"a&b<": 6, "&quot;": 9, "&amp;": 11}


@pytest.mark.parametrize("key", [*ESCAPED, "other", "日" * 50, "&" * 99, ""])
@pytest.mark.parametrize("name", PAIRS)
def test_a_length_is_that_of_the_key_however_that_is_written(name: str, key: str) -> None:
    schema = {
        "properties": {each: {"type": "string", "maxLength": n} for each, n in ESCAPED.items()},
        "additionalProperties": {"type": "string", "maxLength": 12},
    }
    if not key and name != "kimi_k3":
        key = "o"  # the others strip keys, and have none that is empty
    most = ESCAPED.get(key, 12)
    assert taken(name, schema, {key: "x" * most}, 0)
    assert not taken(name, schema, {key: "x" * (most + 1)}, 0)
