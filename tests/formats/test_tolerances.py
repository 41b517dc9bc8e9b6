"""Stock vLLM takes the liberties of `tolerances` for right, streamed too where it says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm")

from bench.formats.catalogue import FORMATS
from tests.formats import stock, vocabularies
from tests.formats.tolerances import TEXTS

if TYPE_CHECKING:
    from tests.formats.stock import Reading
    from tests.formats.tolerances import Text


pytestmark = pytest.mark.slow

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "w",
            "parameters": {
                "type": "object",
                "properties": {"a": {}, "n": {"type": "integer"}, "y": {"type": "boolean"}},
            },
        },
    },
    {"type": "function", "function": {"name": "t"}},
]
CASES = [(name, text) for name, texts in TEXTS.items() for text in texts]


def plain(reading: Reading) -> tuple[Any, ...]:
    try:
        calls = [(name, json.loads(arguments)) for name, arguments in reading.calls]
    except json.JSONDecodeError:
        calls = None
    return calls, reading.content.strip(), reading.problem


def test_every_format_has_some() -> None:
    assert TEXTS.keys() == FORMATS.keys()


@pytest.mark.parametrize(("name", "text"), CASES, ids=[f"{n}-{t.what}" for n, t in CASES])
def test_stock_reads_it(name: str, text: Text) -> None:
    ids = vocabularies.ids(name, text.text)
    meant = ([(call.name, dict(call.arguments)) for call in text.calls], text.content, "")
    assert plain(stock.whole(name, ids, TOOLS)) == meant
    assert (plain(stock.streamed(name, ids, TOOLS)) == meant) == text.streams
