"""What vLLM's own parsers would misread is never generated; all else is as without them."""

from random import Random
from typing import Any

import pytest

import enforcer
from enforcer.errors import EnforcerError
from enforcer.turn.matcher import Matcher
from enforcer.vllm.native import native_tags
from enforcer.vllm.native.misreadings import ReadableMatcher
from tests.vocabularies import legal, small, split, write

V = small()
ENFORCER = enforcer.Enforcer(V)
TABLE = ENFORCER.table
OPEN = "<|im_assistant|>assistant<|im_middle|>"
BEGIN, CALL = "<|tool_calls_section_begin|>", "<|tool_call_begin|>"
HEADER = f"{BEGIN}{CALL}functions.get:0<|tool_call_argument_begin|>"
SPELLED = (BEGIN, CALL, "<|tool_call_end|>", "<|tool_calls_section_end|>")


def tool(schema: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "get", "parameters": schema}}]


OBJECT = {"type": "object"}


def start(
    schema: Any = OBJECT, think_apart: bool = True, prompt: str = OPEN, choice: str = "auto"
) -> ReadableMatcher:
    matcher = ENFORCER.matcher(tool(schema), choice, prompt_ids=write(V, prompt))
    reader = native_tags.reader(TABLE, think_apart=think_apart)
    assert reader is not None
    return ReadableMatcher(matcher, reader)


def feed(matcher: Matcher | ReadableMatcher, ids: list[int]) -> int:
    """How many of the ids are taken, one by one."""
    return next((at for at, token in enumerate(ids) if not matcher.accept(token)), len(ids))


def text_ids(text: str, rng: Random | None = None) -> list[int]:
    """Text as ordinary tokens, the longest or split at random."""
    return split(rng.choice if rng else lambda ids: ids[0], V, text.encode())


@pytest.mark.parametrize("marker", SPELLED)
@pytest.mark.parametrize("seed", range(8))
def test_a_marker_cannot_be_spelled_in_content_however_it_is_split(marker: str, seed: int) -> None:
    matcher = start(prompt=OPEN)
    ids = text_ids(f"so <|tool {marker}", Random(seed))
    taken = feed(matcher, ids)
    assert taken < len(ids)
    said = V.decode(ids[:taken])
    assert marker.encode() not in said
    # The last piece alone is missing, and anything else may stand for it.
    assert (said + V.token_bytes(ids[taken])).endswith(marker.encode()[-1:])
    assert ids[taken] not in legal(matcher)
    assert matcher.accept(V.encode("a")[0])


@pytest.mark.parametrize("think_apart", [True, False])
def test_a_marker_cannot_be_spelled_in_arguments(think_apart: bool) -> None:
    matcher = start(think_apart=think_apart)
    assert feed(matcher, write(V, HEADER)) == len(write(V, HEADER))
    ids = text_ids('{"a": "x<|tool_call_end|>y"}')
    assert V.decode(ids[: feed(matcher, ids)]).endswith(b"<|tool_call_end|") or any(
        b"<|tool_call_end|>" in V.token_bytes(token) for token in ids
    )


def test_thinks_are_markers_where_they_are_split_off_as_text() -> None:
    ids = text_ids("a <think>b</think>")
    assert feed(start(), ids) < len(ids)
    assert feed(start(think_apart=False), ids) == len(ids)


def test_a_call_begins_after_the_think_where_it_is_split_off_as_text() -> None:
    section = V.control(BEGIN)
    thinking = start(prompt=OPEN + "<think>")
    assert section not in legal(thinking)
    assert not thinking.accept(section)
    assert thinking.validate(write(V, f"x</think>{BEGIN}")) == 3
    assert thinking.validate(write(V, f"x{BEGIN}")) == 1
    assert section in legal(start(think_apart=False, prompt=OPEN + "<think>"))


@pytest.mark.parametrize("think_apart", [True, False])
def test_no_white_space_stands_before_arguments_nor_behind_them(think_apart: bool) -> None:
    arguments = write(V, HEADER)
    white = {token for token in range(V.size) if V.token_bytes(token)[:1].isspace()}
    plain = ENFORCER.matcher(tool(OBJECT), "auto", prompt_ids=write(V, OPEN))
    assert feed(plain, arguments) == len(arguments)
    assert legal(plain) & white
    matcher = start(think_apart=think_apart)
    assert feed(matcher, arguments) == len(arguments)
    assert legal(matcher) == legal(plain) - white
    assert not any(matcher.accept(token) for token in white)
    # Inside the object all is as it was, but for two text ids that are whole markers.
    whole = {t for t in range(V.size) if V.token_bytes(t) in (b"<|tool_call_end|>", b"<think>")}
    for token in text_ids('{ "a": [ 1,\n {} ]'):
        assert matcher.accept(token)
        assert plain.accept(token)
        assert legal(plain) - legal(matcher) <= whole - V.control_ids
        assert legal(matcher) <= legal(plain)
    assert matcher.accept(text_ids("}")[0])
    assert legal(matcher) == {V.control("<|tool_call_end|>")}


def test_a_string_that_must_hold_a_marker_is_written_with_an_escape() -> None:
    matcher = start({"type": "object", "properties": {"a": {"const": f"<{CALL}>"}}})
    ids = write(V, HEADER) + text_ids('{"a":"<<|tool_call_begin|')
    assert feed(matcher, ids) == len(ids)
    assert {V.token_bytes(token)[:1] for token in legal(matcher)} == {b"\\"}
    rest = text_ids('\\u003e>"}')
    assert feed(matcher, rest) == len(rest)
    assert matcher.accept(V.control("<|tool_call_end|>"))


def test_text_that_must_spell_a_marker_closes_the_gate() -> None:
    wanted = {"type": "choice", "choice": ["a<|tool_call_begin|>"]}
    plain = ENFORCER.matcher(
        tool(OBJECT), "auto", prompt_ids=write(V, OPEN), response_format=wanted
    )
    reader = native_tags.reader(TABLE, think_apart=False)
    assert reader is not None
    matcher = ReadableMatcher(plain, reader)
    ids = text_ids("a<|tool_call_begin|")
    assert feed(matcher, ids) == len(ids)
    assert legal(matcher) == set(TABLE.turn_end_ids)
    assert isinstance(matcher.failure, EnforcerError)
    matcher.rollback(3)
    assert matcher.failure is None
    assert not legal(matcher) <= set(TABLE.turn_end_ids)


def agrees(matcher: ReadableMatcher) -> None:
    """Mask, `accept` and `validate` say the same of every id."""
    allowed = legal(matcher)
    before = repr(matcher._matcher)
    for token in range(V.size):
        assert (matcher.validate([token]) == 1) is (token in allowed), token
        if matcher.accept(token):
            assert token in allowed
            matcher.rollback(1)
        else:
            assert token not in allowed
        assert repr(matcher._matcher) == before


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_mask_accept_validate_and_rollback_agree_along_random_turns(seed: int) -> None:
    rng = Random(seed)
    think_apart = rng.choice([True, False])
    prompt = OPEN + rng.choice(("", "<think>"))
    matcher = start(think_apart=think_apart, prompt=prompt, choice=rng.choice(("auto", "required")))
    plain = ENFORCER.matcher(tool(OBJECT), "auto", prompt_ids=write(V, prompt))
    ids: list[int] = []
    bait = text_ids("".join(rng.choice(SPELLED) for _ in range(3)), rng)
    for _ in range(60):
        allowed = legal(matcher)
        if rng.random() < 0.1:
            agrees(matcher)
        token = bait[0] if bait and bait[0] in allowed else rng.choice(sorted(allowed))
        bait = bait[1:]
        assert matcher.accept(token)
        ids.append(token)
        if rng.random() < 0.2:
            back = rng.randint(0, min(len(ids), 9))
            matcher.rollback(back)
            ids = ids[: len(ids) - back]
            fresh = start(think_apart=think_apart, prompt=prompt)
            assert feed(fresh, ids) == len(ids)
            assert fresh._state == matcher._state
    assert feed(plain, ids) == len(ids)  # a part of what the matcher allows
    for piece in SPELLED:
        assert piece.encode() not in V.decode(t for t in ids if t not in V.control_ids)


def test_a_reader_is_made_once_for_a_table() -> None:
    assert native_tags.reader(TABLE, think_apart=False) is native_tags.reader(
        TABLE, think_apart=False
    )
