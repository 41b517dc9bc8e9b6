"""Pairs with raw values: keys, types, and what is trimmed."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts import Decoder, Trim
from enforcer.layouts.tagged_text import TaggedReader, trimmed
from enforcer.turn import dialects
from tests.laid_out import bound, symbols_of

PAIR = '<|open|>argument key="{}" type="{}"<|sep|>{}<|close|>argument<|sep|>'
CLOSE = "<|close|>call<|sep|>"


def decode(name: str, text: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    decoder = Decoder(bound(name), schema)
    found: dict[str, Any] = json.loads(decoder.feed(symbols_of(text, name)) + decoder.finish())
    return found


@pytest.mark.parametrize(
    ("written", "key"), [("a&amp;quot;", "a&quot;"), ("&quot;", '"'), ("", ""), ("é<", "é<")]
)
def test_keys_are_unescaped(written: str, key: str) -> None:
    assert decode("kimi_k3", PAIR.format(written, "null", "null") + CLOSE) == {key: None}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *(("string", "5", "5"), ("number", " 5 ", 5), ("boolean", "true", True)),
        *(("null", "null", None), ("array", "[1,\n2]", [1, 2])),
        ("object", '{"<|x": "</"}', {"<|x": "</"}),
    ],
)
def test_a_type_that_is_written_says_how_to_read(kind: str, text: str, value: Any) -> None:
    assert decode("kimi_k3", PAIR.format("a", kind, text) + CLOSE) == {"a": value}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("number", "true"), ("boolean", "1"), ("null", "0")),
        *(("array", "{}"), ("object", "x"), ("int", "5")),
    ],
)
def test_a_value_of_another_type_is_none(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode("kimi_k3", PAIR.format("a", kind, text) + CLOSE)


def test_no_pair_is_an_empty_object() -> None:
    assert decode("kimi_k3", CLOSE) == {}
    assert decode("glm45", "\n") == {}


@given(st.text("\nx ", max_size=5))
def test_one_line_break_is_trimmed_from_each_end(text: str) -> None:
    raw = f"<parameter=a>{text}</parameter></function>"
    assert decode("qwen3_coder", raw) == {"a": trimmed(text, Trim.NEWLINE)}
    assert decode("minimax_m2", f'<parameter name="a">{text}</parameter></invoke>') == {"a": text}
    assert trimmed(f"\n{text}\n", Trim.NEWLINE) == text


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["qwen3_coder", "glm45", "minimax_m2", "kimi_k3"])
@pytest.mark.parametrize("key", ["k" * 3_000, "a"])
def test_held_text_is_read_one_time(monkeypatch: pytest.MonkeyPatch, layout: str, key: str) -> None:
    """A model that loops in a key, or in a list, costs no more than its text."""
    looks = []
    find = TaggedReader._find

    def told(self: TaggedReader, text: str) -> int:
        looks.append(len(self._held) - self._from)
        return find(self, text)

    monkeypatch.setattr(TaggedReader, "_find", told)
    schema = {"properties": {"a": {"type": "array"}}}
    value = json.dumps([*range(800)])
    pieces = {"key": key, "type": "array", "value": value if key == "a" else "[]", "_": ""}
    d = dialects.load(layout)
    text = re.sub(r"\{(\w+)\}", lambda field: pieces[field[1]], d.arguments.pair)
    symbols = [*symbols_of(text + d.arguments.close.replace("{_}", ""), layout)]
    decoder = Decoder(bound(layout), schema)
    read = "".join(decoder.feed([each]) for each in symbols) + decoder.finish()
    assert json.loads(read).keys() == {key}
    assert sum(looks) < 40 * len(symbols)
