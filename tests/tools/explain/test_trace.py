"""Turns followed token by token."""

from bench.drafts.simulation import Counts
from bench.drafts.simulation import follow as simulate
from enforcer.tools.explain.table import lines
from enforcer.tools.explain.trace import Given, follow, read_spelled, split_markers
from tests.explained_turns import ARGUMENTS, followed, turn
from tests.vocabularies import write
from tests.walks import V


def test_a_turn_that_is_legal() -> None:
    text = ARGUMENTS + '{"city":"P"}<|tool_call_end|>'
    found = followed(text)
    assert "".join(step.own.token for step in found.steps) == text
    assert all(step.own.legal for step in found.steps)
    assert found.changed == ()
    assert found.after.state == "BETWEEN"
    assert [step.is_marker for step in found.steps[:2]] == [True, True]


def test_a_turn_that_is_not_ends_where_it_is_not() -> None:
    found = followed(ARGUMENTS + '{"unit":"', Given(V.find(b"k")), Given(V.find(b"1")))
    assert found.left == (V.find(b"1"),)
    assert found.after is None
    assert found.changed == (found.steps[-1],)
    assert 'one of "c", "f"' in found.steps[-1].own.reason


def test_what_the_mask_took_away() -> None:
    k, c, f = (V.find(letter) for letter in (b"k", b"c", b"f"))
    found = followed(ARGUMENTS + '{"unit":"', Given(c, ((k, -0.1), (c, -2.5), (f, -3.0))))
    (step,) = found.changed
    assert [rival.token for rival, _ in step.taken_away] == ["k"]
    assert [rival.legal for rival, _ in step.top] == [False, True, True]
    assert "does not fit" in step.top[0][0].reason


def test_an_id_below_the_best_legal_one_was_not_taken_away() -> None:
    k, c = V.find(b"k"), V.find(b"c")
    assert followed(ARGUMENTS + '{"unit":"', Given(c, ((c, -0.1), (k, -2.5)))).changed == ()


def test_tokens_that_the_grammar_would_have_proposed() -> None:
    text = "I look." + ARGUMENTS + '{"unit":"c","city":"P"}<|tool_call_end|>'
    ids, counts = write(V, text), Counts()
    simulate(turn(), ids, V, counts, limit=8, likely=True)
    found = followed(text)
    drafts = sum(step.is_draft for step in found.steps)
    assert drafts == len(ids) - counts.passes.total() > 0
    free = [step.own.token for step in found.steps if step.is_free]
    assert "".join(free) == "I look.<|tool_calls_section_begin|>"
    assert f"» {drafts} of {len(ids) - len(free)} tokens outside" in [*lines(found)][-2]


def test_a_formatted_text_is_proposed_and_is_not_free() -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"const": "Rome"}}}
    ids = write(V, '"Rome"')
    steps = follow(turn(tools=None, choice=None, response_format=asked), [*map(Given, ids)]).steps
    assert [step.is_draft for step in steps[1:]] == [True] * (len(ids) - 1)
    assert not any(step.is_free for step in steps)


def test_markers_that_are_spelled_are_tokens() -> None:
    text = "a<|tool_call_end|><|tool<think>"
    assert read_spelled(V, text) == write(V, text)
    found = split_markers("x<a>y<ab>", ["<a>", "<ab>"])
    assert found == [(False, "x"), (True, "<a>"), (False, "y"), (True, "<ab>")]
