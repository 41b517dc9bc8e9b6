"""Calls in a row that are equal byte for byte: after so many of them no further one begins."""

from functools import cache

import pytest

import enforcer
from bench.formats import writers
from bench.formats.writers import Call, Turn
from enforcer.errors import ConfigurationError
from tests.dialect_cases import NAMES, opening, vocabulary
from tests.engine_cases import closed
from tests.support.tools import tool
from tests.vocabularies import bits, feed

LIMIT = 3
# Those with a writer that have several calls in a turn, right behind the prompt.
FORMATS = [name for name in NAMES if name not in {"internlm", "kimi_k3", "phi4_mini_json"}]
TOOLS = [tool("get", closed({"x": {"type": "string"}}, "x"))]


@cache
def served(name: str) -> enforcer.Enforcer:
    options = enforcer.Options(identical_calls=LIMIT)
    return enforcer.Enforcer(vocabulary(name), name, options=options)


def written(name: str, *values: str) -> list[int]:
    calls = tuple(Call("get", {"x": value}) for value in values)
    return vocabulary(name).encode(writers.write(name, Turn(calls=calls)), markers=True)


def read(name: str, ids: list[int]) -> list[str]:
    matcher = served(name).matcher(TOOLS, prompt_ids=opening(name))
    taken = matcher.validate(ids)
    feed(matcher, ids[:taken])
    assert matcher.failure is None
    return [call.arguments for call in served(name).parse(ids[:taken], opening(name)).calls]


@pytest.mark.parametrize("name", FORMATS)
def test_no_call_follows_too_many_equal_ones(name: str) -> None:
    assert len(read(name, written(name, *"a" * LIMIT))) == LIMIT
    # One more where a token ends the last call and begins the next.
    assert LIMIT <= len(read(name, written(name, *"a" * 8))) <= LIMIT + 1


@pytest.mark.parametrize("name", FORMATS)
def test_calls_that_differ_are_not_counted(name: str) -> None:
    assert len(read(name, written(name, *"aabaabaab"))) == 9


@pytest.mark.parametrize("name", FORMATS)
def test_calls_that_are_taken_back_are_not_counted(name: str) -> None:
    matcher = served(name).matcher(TOOLS, prompt_ids=opening(name))
    many, one = written(name, *"aaa"), written(name, *"aab")
    common = next(i for i, (a, b) in enumerate(zip(many, one, strict=False)) if a != b)
    assert all(map(matcher.accept, many[: common + 3]))
    matcher.rollback(3)
    assert matcher.validate(one[common:]) == len(one) - common
    assert matcher.validate(many[common:]) == len(many) - common


def test_a_token_of_several_calls_is_taken_as_its_row_says() -> None:
    known = vocabulary("pythonic")
    piece = b'"), get(x="a"), get(x="a"), get(x="a'
    options = enforcer.Options(identical_calls=1)
    tokens = enforcer.Vocabulary([*known.texts, piece], known.controls)
    found = enforcer.Enforcer(tokens, "pythonic", options=options)
    matcher = found.matcher(TOOLS, prompt_ids=opening("pythonic"))
    ids = [*known.encode('[get(x="a')]
    assert matcher.validate(ids) == len(ids)
    feed(matcher, ids)
    last = tokens.find(piece)
    assert last in bits(matcher.mask())
    assert matcher.validate([last]) == 1
    assert matcher.accept(last)
    # It has begun the last call: no other may follow.
    assert last not in bits(matcher.mask())
    assert matcher.validate([last]) == 0
    assert matcher.validate([*known.encode('")]')]) == 3
    matcher.rollback(1)
    assert last in bits(matcher.mask())


def test_tokens_that_were_refused_do_not_count() -> None:
    """The kernel notes how much of a token lies behind a text, of one that is refused, too."""
    matcher = served("kimi_k2").matcher(TOOLS, prompt_ids=opening("kimi_k2"))
    for token_id in written("kimi_k2", *"a" * LIMIT):
        if matcher.position.calls % 2 and matcher.tool:
            matcher.validate([ord("!")])
        assert matcher.accept(token_id)
    assert matcher.position.calls == served("kimi_k2").options.max_calls


def test_another_engine_has_no_such_limit() -> None:
    with pytest.raises(ConfigurationError, match="xgrammar does not support `identical_calls`"):
        enforcer.Enforcer(vocabulary("kimi_k2"), engine="xgrammar", identical_calls=3)


def test_by_itself_the_library_has_no_limit() -> None:
    plain = enforcer.Enforcer(vocabulary("hermes"), "hermes")
    matcher = plain.matcher(TOOLS, prompt_ids=opening("hermes"))
    ids = written("hermes", *"a" * 20)
    assert matcher.validate(ids) == len(ids)
    with pytest.raises(ConfigurationError, match="identical_calls"):
        enforcer.Options(identical_calls=0)
