"""The adapters: each takes a plain schema, and says no to one that means nothing."""

from typing import Any

import pytest

from bench.peers import engines
from bench.peers.cases import Case
from bench.peers.engines import ROWS, RefusedError
from bench.peers.judge import Verdict, judge
from tests.engine_cases import closed
from tests.vocabularies import small

PLAIN = Case(
    "plain",
    closed({"city": {"type": "string"}, "days": {"type": "integer"}}, "city"),
    ('{"city": "Paris"}', '{"city": "日本 ß", "days": 12}'),
    ('{"days": 1}', '{"city": 1}', '{"city": "a", "days": "b"}', '{"city": "a"', '{"city": "a"}]'),
    (),
)


@pytest.fixture(scope="module", params=ROWS)
def engine(request: pytest.FixtureRequest) -> Any:
    try:
        return engines.load(request.param, small())
    except ImportError as error:
        pytest.skip(f"{request.param} is not installed: {error}")


def test_all_are_right_of_a_plain_schema(engine: Any) -> None:
    outcome = judge(engine, small(), PLAIN)
    assert outcome.verdict is Verdict.RIGHT, outcome.detail
    assert len(outcome.masks) == sum(len(small().encode(text)) for text in PLAIN.valid)
    assert outcome.first_mask > 0


def test_what_means_nothing_is_refused_and_no_crash(engine: Any) -> None:
    with pytest.raises(RefusedError, match=r"(?i)nonsense"):
        engine.compile({"type": "nonsense"})


def test_texts_of_one_grammar_know_nothing_of_each_other(engine: Any) -> None:
    grammar = engine.compile(PLAIN.schema)
    first, second = grammar.matcher(), grammar.matcher()
    ids = small().encode('{"city": "Paris"}')
    assert all(map(first.accept, ids))
    assert not second.is_accepting()
    assert all(map(second.accept, ids))
    assert first.is_accepting()
    assert second.is_accepting()


def test_xgrammar_is_stricter_without_its_open_setting() -> None:
    open_object = {"type": "object", "properties": {"a": {"type": "integer"}}}
    case = Case("open", open_object, ('{"a": 1, "b": 2}',), (), ())
    found = {
        name: judge(engines.load(name, small()), small(), case).verdict
        for name in ("xgrammar", "xgrammar-open")
    }
    assert found == {"xgrammar": Verdict.WRONG_REJECT, "xgrammar-open": Verdict.RIGHT}
