"""Which turn a prompt has opened, in every format."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary
from tests import dialect_cases as cases
from tests.support.cases import parametrized, params
from tests.vocabularies import small, write

V = small()
TABLE = Table(dialects.load("kimi_k2"), V)


@parametrized("turn/cases/turn_start.toml", "kimi_k2")
def test_the_turn_that_a_prompt_opens(prompt: str, state: str, rest: str) -> None:
    found, begun = TABLE.opened(write(V, prompt))
    assert (found, list(begun)) == (state, write(V, rest))


@pytest.mark.parametrize(
    ("name", "dialog", "opening"),
    params("turn/cases/turn_start.toml", "format, dialog, opening", "ended"),
)
@pytest.mark.parametrize("are_tokens", [True, False], ids=["role as a token", "role as text"])
def test_an_ended_turn_is_not_open(name: str, dialog: str, opening: str, are_tokens: bool) -> None:
    dialect = dialects.load(name)
    every = {
        *dialect.controls,
        *("[INST]", "<|user|>", "<|assistant|>", "<｜User｜>")[: 4 if are_tokens else 0],
    }
    tokens = [bytes([byte]) for byte in range(256)]
    controls = {each: len(tokens) + at for at, each in enumerate(sorted(every))}
    found = Vocabulary(tokens + [b""] * len(controls), controls)
    table = Table(dialect, found)
    ended = write(found, dialog.format(opening))
    assert table.opened(ended) == (dialect.start, ())
    state, begun = table.opened([*ended, *write(found, opening + "So")])
    assert (state, list(begun)) == (dialect.turn_state, write(found, "So"))


def test_a_format_whose_roles_are_text_opens_no_turn() -> None:
    found = cases.vocabulary("granite_20b_fc")
    table = Table(dialects.load("granite_20b_fc"), found)
    assert table.opened(write(found, "<|endoftext|>USER: <function_call>")) == ("START", ())


@pytest.mark.parametrize("name", cases.NAMES)
def test_what_opens_a_turn_opens_it_in_every_format(name: str) -> None:
    found = cases.served(name).table
    opening = cases.opening(name)
    text = write(found.vocabulary, "So")
    state = found.dialect.turn_state if opening else found.dialect.start
    opened, begun = found.opened([*text, *opening])
    assert (opened, list(begun)) == (state, [])
    opened, begun = found.opened([*opening, *text, *opening, *text])
    assert (opened, list(begun)) == (state, text if opening else [])


@pytest.mark.parametrize("name", cases.NAMES)
def test_a_prompt_of_any_length_opens_the_turn_that_its_tail_does(name: str) -> None:
    table, random = cases.served(name).table, Random(name)
    pieces = [[], cases.opening(name), write(table.vocabulary, "So")]
    pieces += [[token] for token in sorted(table.vocabulary.control_ids)]
    for _ in range(200):
        prompt = [each for _ in range(random.randrange(30)) for each in random.choice(pieces)]
        start = table._turn_start
        assert start._behind_near(prompt, len(prompt)) == start._behind(prompt)
        near = start._behind(prompt, max(0, len(prompt) - 20))
        assert start.is_near(prompt, 20) == (near is not None or len(prompt) <= 20)


@pytest.mark.parametrize("name", ["kimi_k3", "llama3_json", "granite", "hermes"])
def test_roles_are_read_up_to_the_assistants(name: str, calls_of: Callable[..., list[Any]]) -> None:
    found = cases.served(name).table
    begin = cases.opening(name)[0]
    text = write(found.vocabulary, "a") * 5000
    reads = calls_of(Vocabulary, "token_bytes")
    assert found.opened([begin, *text]) == (found.dialect.start, ())
    assert len(reads) <= len((found.dialect.turn.role or "").encode())


def test_whether_an_opening_is_near() -> None:
    opening = write(V, "<|im_assistant|>assistant<|im_middle|>")
    text = write(V, "a" * 100)
    assert TABLE.opens_near([*text, *opening, *text], 200)
    assert not TABLE.opens_near([*text, *opening, *text], 100)
    assert TABLE.opens_near(text, 100)
    assert not TABLE.opens_near(text, 99)
