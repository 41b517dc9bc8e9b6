"""Stock vLLM takes the liberties of `tolerances` for right, streamed too where it says so."""

import pytest

from tests.formats.tolerances import Text

pytest.importorskip("vllm")

from bench.formats.catalogue import FORMATS
from tests.formats import stock, vocabularies
from tests.formats.said import TOOLS, plain, values
from tests.formats.tolerances import TEXTS

pytestmark = pytest.mark.slow

CASES = [(name, text) for name, texts in TEXTS.items() for text in texts]


def test_every_format_has_some() -> None:
    assert TEXTS.keys() == FORMATS.keys()


@pytest.mark.parametrize(("name", "text"), CASES, ids=[f"{n}-{t.what}" for n, t in CASES])
def test_stock_reads_it(name: str, text: Text) -> None:
    ids = vocabularies.ids(name, text.text)
    meant = (values(text.meant), text.content, "", "")
    assert plain(stock.whole(name, ids, TOOLS)) == meant
    assert (plain(stock.streamed(name, ids, TOOLS)) == meant) == text.streams
