"""Every token of a turn against its bytes, fed one by one, wherever it crosses borders."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import enforcer
from enforcer.errors import RequestError
from enforcer.turn.around import Around
from enforcer.turn.lexer import OPEN
from enforcer.turn.matcher import Matcher
from enforcer.turn.table import Table
from tests.dialect_cases import NAMES, TOOLS, opening, served, vocabulary
from tests.support import cases
from tests.support.tools import tool
from tests.vocabularies import feed, legal, row_of, write
from tests.walks import examples

# So many tokens of text before a demanded call that their bytes are as legal as they are.
MANY = 10_000
FREE = [*map(tool, ("get", "get_", "a"))]
FORMATS: list[dict[str, Any] | None] = [
    *(None, None, None),
    {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
    {"type": "regex", "regex": " ?(yes|no)"},
    {"type": "choice", "choice": ["", " a", "a\n"]},
]
REQUESTS = st.fixed_dictionaries(
    {
        "tools": st.sampled_from([TOOLS, FREE]),
        "tool_choice": st.sampled_from(["auto", "required", "none"]),
        "parallel_tool_calls": st.booleans(),
        "response_format": st.sampled_from(FORMATS),
    }
)


@cache
def patient(name: str) -> enforcer.Enforcer:
    options = enforcer.Options(max_calls=3, preamble_ids=MANY)
    return enforcer.Enforcer(vocabulary(name), name, options=options)


def assert_every_token_is_its_bytes(matcher: Matcher) -> None:
    found, allowed = matcher.envelope.table.vocabulary, legal(matcher)
    for token in range(found.size):
        assert (token in allowed) == matcher.validate([token]), (token, matcher)
        data = found.token_bytes(token)
        if data and token not in found.control_ids:
            is_legal = matcher.validate(list(data)) == len(data)
            assert (token in allowed) == is_legal, (data, matcher)
    assert matcher.failure is None


def drawn(matcher: Matcher, random: Random) -> int:
    """Draw a legal token, most often one that may be part of a call."""
    found, ids = matcher.envelope.table.vocabulary, sorted(legal(matcher))
    calls = [i for i in ids if i in found.control_ids or found.token_bytes(i)[:1] in b'<[{"}])=>\n']
    return random.choice(calls if calls and random.random() < 0.8 else ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(10)
@given(request=REQUESTS, seed=st.integers(0, 2**32))
def test_every_token_is_what_its_bytes_are(name: str, request: dict[str, Any], seed: int) -> None:
    try:
        matcher = patient(name).matcher(**request, prompt_ids=opening(name))
    except RequestError:  # a format in which calls look like text
        matcher = patient(name).matcher(**{**request, "response_format": None})
    random = Random(seed)
    for at in range(32):
        if at % 4 == 0:
            assert_every_token_is_its_bytes(matcher)
        feed(matcher, [drawn(matcher, random)])
        if matcher.is_finished:
            break


CALLS = cases.load("turn/cases/calls.toml")["texts"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_token_is_what_its_bytes_are_all_along_a_call(name: str) -> None:
    matcher = patient(name).matcher(TOOLS)
    for token in write(vocabulary(name), CALLS[name]):
        assert_every_token_is_its_bytes(matcher)
        feed(matcher, [token])
    assert_every_token_is_its_bytes(matcher)


def test_a_place_has_one_number_and_is_made_on_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = Around._make

    def told(around: Around, number: int) -> None:
        made.append(number)
        make(around, number)

    monkeypatch.setattr(Around, "_make", told)
    table = Table(served("hermes").dialect, vocabulary("hermes"))
    around = table.around
    assert not made
    number = around.enter("CONTENT", OPEN)
    assert around.enter("CONTENT", OPEN) == number
    assert around.places[number].state == "CONTENT"
    assert not around.begins_text(number)
    assert around.begins_text(around.enter("ARGUMENTS", OPEN))
    table.warm()
    assert len(made) == len(set(made)) > 0


def test_special_tokens_lead_from_text_to_calls_where_those_are_open() -> None:
    around, found = served("mistral").table.around, vocabulary("mistral")
    at = around.enter("CONTENT", OPEN)
    to = around.special(at)[found.control("[TOOL_CALLS]")]
    assert around.places[to].state == "HEADER"


def test_threads_that_come_to_new_places_at_once_find_the_same() -> None:
    fresh = enforcer.Enforcer(vocabulary("hermes"), "hermes")
    texts = ["Well", "\n\n", "<tool_call>", '<tool_call>\n{"name": "get"']

    def rows() -> list[bytes]:
        found = []
        for text in texts:
            matcher = fresh.start(fresh.read_request(TOOLS), None)
            feed(matcher, write(vocabulary("hermes"), text)[:4])
            found.append(row_of(matcher).tobytes())
        return found

    with ThreadPoolExecutor(8) as pool:
        first, *others = (each.result() for each in [pool.submit(rows) for _ in range(16)])
    assert others == [first] * 15
    around = fresh.table.around
    assert [around.number(each) for each in around.places] == [*range(len(around.places))]
