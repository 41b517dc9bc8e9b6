"""One turn, id by id: what is legal where, and what a mask says of it."""

import copy
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from enforcer.errors import ConfigurationError, IllegalPrefix
from enforcer.turn.envelope import Due
from enforcer.turn.lexer import BLANK_BYTES
from enforcer.turn.matcher import Matcher
from tests import toys
from tests.support import cases
from tests.turn import known
from tests.turn.known import BEGIN, CALL, END, HEADER, OPENED, STOP, TEXT, V, at, matcher
from tests.vocabularies import call, feed, legal, row_of, section, write

BLANK = {token for token in TEXT if BLANK_BYTES.issuperset(V.token_bytes(token))}


# What is legal where


def test_text_is_free_and_a_section_or_the_end_may_follow() -> None:
    for text in ("The weather", "<|im_end", " \n\u3000.", "\u200b"):
        assert legal(at(text)) == TEXT | {BEGIN} | STOP


def test_a_turn_that_has_said_nothing_may_not_end() -> None:
    for text in ("", " ", " \n\n\t ", "\n" * 40):
        assert legal(at(text)) == TEXT | {BEGIN}
        assert legal(at(text, due=Due.NOTHING)) == TEXT | {BEGIN} | STOP
    for think in ("<think>", "<think>hm", "<think> </think>", "<think>hm</think>\n"):
        found = at(think, prompt_ids=write(V, HEADER))
        assert not STOP & legal(found)
        assert legal(at(think, prompt_ids=write(V, HEADER), due=Due.NOTHING)) >= STOP
        calls = "" if "</think>" in think else "</think>"
        feed(found, write(V, calls + "x<|im_end|>"))


def test_a_call_is_enough_for_a_turn_and_so_is_what_the_prompt_has_said() -> None:
    for think in ("", "<think>", "<think></think>"):
        feed(at(think, prompt_ids=write(V, HEADER)), write(V, section(call("get", 0, "{}"))))
    for said, expected in (("x", True), ("\n", False), ("<think>x</think>", False)):
        assert (legal(matcher(prompt_ids=write(V, HEADER + said))) >= STOP) == expected


@pytest.mark.parametrize("begun", ["", "<think>"])
def test_text_begun_in_a_prompt_is_fast(begun: str, calls_of: Callable[..., list[Any]]) -> None:
    steps = calls_of(Matcher, "accept")
    found = matcher(prompt_ids=write(V, HEADER + begun + "so it is " * 1000))
    assert len(steps) < 200
    once = matcher(prompt_ids=write(V, HEADER + begun + "so"))
    assert (found.state, legal(found)) == (once.state, legal(once))
    with pytest.raises(IllegalPrefix, match=r"prompt_token_ids\[\d+\]") as caught:
        matcher(
            prompt_ids=[*(ids := write(V, HEADER + "so " * 50)), known.HOLE, *write(V, "so " * 50)]
        )
    assert caught.value.path == f"$.prompt_token_ids[{len(ids)}]"


def formatted(*texts: str) -> Callable[..., Any]:
    return lambda: toys.Listed(V, [text.encode() for text in texts])


@pytest.mark.parametrize("due", [Due.NOTHING, Due.WORD])
def test_where_text_has_a_format_the_format_says_whether_none_fits(due: Due) -> None:
    prompt = write(V, HEADER)
    for texts, may_end in ((("yes", " "), False), (("yes", ""), True)):
        for think in ("", "<think>hm</think>"):
            found = at(think, prompt_ids=prompt, due=due, text_format=formatted(*texts))
            assert (legal(found) >= STOP) == may_end
        inside = at("<think>hm", prompt_ids=prompt, due=due, text_format=formatted(*texts))
        assert not STOP & legal(inside)  # no text that fits has been said
    assert legal(at(" ", prompt_ids=prompt, due=due, text_format=formatted(" "))) == STOP


@pytest.mark.slow
@pytest.mark.parametrize("due", Due)
@pytest.mark.parametrize("tail", ["", "<think>", "<think>x</think>", " ", "x"])
@pytest.mark.parametrize("names", [(), ("get",)])
def test_every_turn_can_end(due: Due, tail: str, names: tuple[str, ...]) -> None:
    if due is Due.CALL and not names:
        return
    for text_format in (None, formatted("a", "ab", ""), formatted(" x")):
        if text_format is not None and tail in {" ", "x"}:
            continue
        found = matcher(
            dict.fromkeys(names, known.TEXTS),
            due=due,
            prompt_ids=write(V, HEADER + tail),
            text_format=text_format,
        )
        for seed in range(5):
            random = Random(seed)
            for _ in range(60):
                if random.random() < 0.2 and due is not Due.CALL:
                    end_is_near(found)
                feed(found, [random.choice(sorted(legal(found)))])
            found.rollback(60)


def end_is_near(found: Matcher) -> None:
    """Look for an end: whatever ends something first, then the rest."""
    steps = 0
    while found.state != "END":
        ids = legal(found)
        ends = {known.THOUGHT, END, known.CALL_END, known.ARGUMENTS}
        closing = [STOP & ids, ends & ids, {ord("x")} & ids, ids]
        feed(found, [min(next(some for some in closing if some))])
        steps += 1
        assert steps < 60
    found.rollback(steps)


def test_inside_a_section_only_a_call_may_begin() -> None:
    assert legal(at("<|tool_calls_section_begin|>")) == {CALL}


def test_a_header_is_one_of_the_tools_at_the_next_index() -> None:
    found = at("<|tool_calls_section_begin|><|tool_call_begin|>", first=1)
    assert {V.token_bytes(i) for i in legal(found)} == {b"f", b"functions", b"functions."}
    feed(found, V.encode("functions.get:"))
    assert {V.token_bytes(i) for i in legal(found)} == {b"1"}
    feed(found, V.encode("1"))
    assert legal(found) == {known.ARGUMENTS}


def test_after_the_arguments_only_the_call_may_end() -> None:
    found = at(OPENED + '{"a": 1')
    assert {V.token_bytes(i) for i in legal(found)} == {b"2", b"}"}
    feed(found, V.encode("}"))
    assert legal(found) == {known.CALL_END}


def test_between_calls_another_may_begin_or_the_section_end() -> None:
    assert legal(at("<|tool_calls_section_begin|>" + call("get", 0, "{}"))) == {CALL, END}


def test_after_the_section_the_turn_ends_and_never_goes_on() -> None:
    found = at(section(call("get", 0, "{}")).removesuffix("<|im_end|>"))
    for _ in range(5):
        assert legal(found) == STOP
        feed(found, [V.control("[EOS]")])


def test_the_index_grows_with_each_call() -> None:
    text = section(call("get", 7, "{}"), call("get", 8, "{}"), call("get", 9, "{}"))
    feed(matcher(first=7), write(V, text))


@pytest.mark.parametrize("wrong", cases.load("turn/cases/headers.toml")["wrong"])
def test_a_wrong_header_is_never_complete(wrong: str) -> None:
    ids = write(V, f"<|tool_calls_section_begin|><|tool_call_begin|>{wrong}")
    ids.append(known.ARGUMENTS)
    assert matcher().validate(ids) < len(ids)


@cases.parametrized("turn/cases/kimi_k2.toml", "stray")
def test_stray_ids_are_refused_and_change_nothing(text: str, stray: str) -> None:
    found = at(text)
    before = legal(found)
    (token_id,) = write(V, stray)
    assert token_id not in before
    assert not found.accept(token_id)
    assert legal(found) == before
    assert found.accepted == len(write(V, text))


@pytest.mark.parametrize("token_id", [-1, -300, V.size, V.size + 1, 10**9, known.HOLE])
@pytest.mark.parametrize(
    "text",
    [
        *("", "<|tool_calls_section_begin|>", "<|tool_calls_section_begin|><|tool_call_begin|>fun"),
        OPENED,
    ],
)
def test_ids_outside_the_vocabulary_and_holes_are_refused(token_id: int, text: str) -> None:
    assert not at(text).accept(token_id)


def test_tools_whose_names_are_prefixes_of_one_another() -> None:
    names = ["get", "get_", "get_weather", "getx", "functions.get", "g"]
    for name in names:
        feed(matcher(dict.fromkeys(names, known.TEXTS)), write(V, section(call(name, 0, "{}"))))


# What a request permits


def test_without_tools_no_section_may_begin() -> None:
    found = at("Hello", arguments={})
    assert legal(found) == TEXT | STOP
    assert legal(matcher({})) == TEXT
    assert not found.accept(BEGIN)


def test_a_demanded_call_leaves_room_for_some_text_only() -> None:
    found = matcher(due=Due.CALL, preamble=3)
    for _ in range(3):
        assert legal(found) == TEXT | {BEGIN}
        feed(found, [ord("x")])
    assert legal(found) == {BEGIN}
    feed(found, write(V, "<|tool_calls_section_begin|>" + call("get", 0, "{}")))
    assert legal(found) == {CALL, END}


def test_a_demanded_call_leaves_the_think_free() -> None:
    for preamble in (0, 2):
        found = matcher(due=Due.CALL, preamble=preamble, prompt_ids=write(V, HEADER + "<think>"))
        for _ in range(10):
            assert legal(found) == TEXT | {known.THOUGHT, BEGIN}
            feed(found, [ord("x")])
        feed(found, [known.THOUGHT])
        assert legal(found) == (TEXT if preamble else BLANK) | {BEGIN}


def test_white_space_before_a_demanded_call_is_no_text_and_ends_too() -> None:
    found = matcher(due=Due.CALL, preamble=0, prompt_ids=write(V, HEADER))
    assert legal(found) >= BLANK | {BEGIN}
    assert legal(found).isdisjoint(TEXT - BLANK)
    for _ in range(8):
        feed(found, [ord("\n")])
    assert legal(found) == {BEGIN}


def test_without_room_for_text_a_prompt_that_has_said_some_is_gone_on_with() -> None:
    for said in ("Let me see.", "Let me see.\n"):
        found = matcher(due=Due.CALL, preamble=0, prompt_ids=write(V, HEADER + said))
        assert legal(found) == {BEGIN}
    begun = matcher(due=Due.CALL, preamble=0, prompt_ids=write(V, HEADER + OPENED))
    feed(begun, write(V, '{"a": 1}<|tool_call_end|>'))
    assert legal(begun) == {CALL, END}
    for due in Due:
        text = toys.Listed(V, [b"[1]"])
        found = matcher(
            due=due, preamble=0, prompt_ids=write(V, HEADER), text_format=lambda text=text: text
        )
        assert found.accept(known.THINK)
        assert found.state == "REASONING"
    thinking = matcher(due=Due.CALL, preamble=0, prompt_ids=write(V, HEADER + "<think>So"))
    feed(thinking, [known.THOUGHT])
    assert legal(thinking) == BLANK | {BEGIN}


def test_what_the_prompt_has_said_before_a_demanded_call_does_not_count() -> None:
    found = matcher(due=Due.CALL, preamble=1, prompt_ids=write(V, HEADER + "Let me see, then."))
    assert legal(found) == TEXT | {BEGIN}
    feed(found, [ord("x")])
    assert legal(found) == {BEGIN}


def test_rolling_back_gives_the_room_for_text_back() -> None:
    found = matcher(due=Due.CALL, preamble=2)
    feed(found, [ord("x")] * 2)
    found.rollback(1)
    assert legal(found) == TEXT | {BEGIN}
    feed(found, [ord("y")])
    assert legal(found) == {BEGIN}


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_calls_than_permitted(most: int) -> None:
    calls = "".join(call("get", index, "{}") for index in range(most))
    assert legal(at("<|tool_calls_section_begin|>" + calls, most=most)) == {END}


# Where the prompt leaves the turn


@pytest.mark.parametrize(
    ("prompt", "expected"), cases.params("turn/cases/kimi_k2.toml", "prompt, legal", "prompt")
)
def test_the_turn_starts_where_the_prompt_ends(prompt: str | None, expected: list[str]) -> None:
    found = matcher(prompt_ids=None if prompt is None else write(V, prompt.replace("{H}", HEADER)))
    named: dict[str, set[int]] = {"TEXT": TEXT, "STOP": STOP, "BEGIN": {BEGIN}, "END": {END}}
    named |= {"CALL": {CALL}, "THINK": {known.THINK}, "THOUGHT": {known.THOUGHT}}
    assert legal(found) == set().union(*map(named.__getitem__, expected))
    assert found.accepted == 0


def test_header_text_in_ordinary_tokens_opens_no_turn() -> None:
    spelled = V.encode("<|im_assistant|>assistant<|im_middle|><think>")
    assert legal(matcher(prompt_ids=write(V, HEADER) + spelled)) == TEXT | {BEGIN} | STOP


def test_arguments_go_on_where_the_prompt_leaves_them() -> None:
    found = matcher(prompt_ids=write(V, HEADER + OPENED + '{"a": 1'))
    assert {V.token_bytes(i) for i in legal(found)} == {b"2", b"}"}


@pytest.mark.parametrize(
    ("tail", "arguments"),
    [
        ("<|tool_calls_section_begin|>", {}),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.other:0", {"get": known.TEXTS}),
    ],
)
def test_a_prompt_that_has_begun_what_is_not_allowed(tail: str, arguments: dict[str, Any]) -> None:
    prompt = write(V, HEADER + tail)
    with pytest.raises(IllegalPrefix, match="prompt") as caught:
        matcher(arguments, prompt_ids=prompt)
    at_fault = int(caught.value.path.removeprefix("$.prompt_token_ids[").removesuffix("]"))
    assert len(write(V, HEADER)) <= at_fault < len(prompt)
    assert f"(id {prompt[at_fault]}) cannot stand in " in caught.value.reason


# Masks


@pytest.mark.parametrize("make", [np.zeros, lambda s, **_: torch.zeros(s, dtype=torch.int32)])
def test_any_row_of_any_mask_is_filled_and_no_other(make: Callable[..., Any]) -> None:
    bitmask = make((3, V.words), dtype=np.int32)
    bitmask[:] = 7
    found = at("<|tool_calls_section_begin|>")
    found.fill(bitmask, 1)
    rows = np.asarray(bitmask)
    assert (rows[[0, 2]] == 7).all()
    assert (rows[1] == row_of(found)).all()


def test_a_row_may_be_had_without_an_array_for_it() -> None:
    found = at("<|tool_calls_section_begin|>")
    mask = found.mask()
    assert mask.dtype == np.int32
    assert mask.shape == (V.words,)
    assert (mask == row_of(found)).all()
    assert found.accept(V.control("<|tool_call_begin|>"))
    assert (found.mask() == row_of(found)).all()
    assert (mask != found.mask()).any()


def test_words_past_the_vocabulary_are_zeroed() -> None:
    wide = np.full((1, V.words + 3), -1, dtype=np.int32)
    matcher().fill(wide)
    assert (wide[0, V.words :] == 0).all()
    assert (wide[0, : V.words] == row_of(matcher())).all()


def test_rows_may_be_parts_of_longer_ones() -> None:
    wide = np.full((2, V.words + 7), -1, dtype=np.int32)
    for text in ("Hi", OPENED, IN_ARGUMENTS):
        found = at(text)
        found.fill(wide[:, 3:-4], 1)
        assert (wide[1, 3:-4] == row_of(found)).all()
        assert (wide[:, [2, -4]] == -1).all()


def test_a_narrow_mask_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="fewer token ids"):
        matcher().fill(np.zeros((1, V.words - 1), dtype=np.int32))


@pytest.mark.parametrize(
    "move",
    [
        lambda mask: mask.set_(torch.zeros_like(mask)),
        lambda mask: setattr(mask, "data", torch.zeros_like(mask)),
    ],
)
def test_a_moved_tensor_is_written_at_its_new_place(move: Callable[[torch.Tensor], object]) -> None:
    mask = torch.zeros((2, V.words), dtype=torch.int32)
    before = mask.clone()
    found = matcher()
    found.fill(before, 1)
    found.fill(mask, 1)
    held = mask.untyped_storage()  # lest a matcher that fails here writes to freed memory
    move(mask)
    mask.zero_()
    found.fill(mask, 1)
    assert torch.equal(mask, before)
    del held


@pytest.mark.parametrize("make", [np.zeros, torch.zeros])
def test_a_row_that_the_mask_has_not_is_refused(make: Callable[..., Any]) -> None:
    mask = make((2, V.words), dtype=np.int32 if make is np.zeros else torch.int32)
    with pytest.raises(ConfigurationError, match="no row 4 in the bitmask, which has 2"):
        matcher().fill(mask, row=4)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, bool])
def test_a_mask_of_another_type_is_refused(dtype: Any) -> None:
    with pytest.raises(ConfigurationError, match="type int32"):
        matcher().fill(np.zeros((1, V.words * 4), dtype=dtype))


# What a caller mistakes leaves the turn as it was

IN_ARGUMENTS = OPENED + '{"a": '


@pytest.mark.parametrize("text", ["Hi", OPENED, IN_ARGUMENTS])
@pytest.mark.parametrize("wrong", [1.0, "a", b"a", None, [65], float("nan")], ids=repr)
def test_an_id_that_is_no_number_is_refused_and_changes_nothing(text: str, wrong: Any) -> None:
    found = at(text)
    before, position = row_of(found).tobytes(), found.position
    for ask in (found.accept, lambda wrong: found.validate([min(legal(found)), wrong])):
        with pytest.raises(ConfigurationError, match="an id must be a whole number, not"):
            ask(wrong)
        assert (found.failure, found.position) == (None, position)
        assert row_of(found).tobytes() == before


def test_an_id_may_be_any_whole_number() -> None:
    makes: list[Callable[[int], Any]] = [np.int64, np.uint8, torch.tensor]
    for make in makes:
        found = at("Hi")
        assert found.accept(make(65))
        found = at(OPENED)
        assert not found.accept(make(65))
    begin: Any = torch.tensor(BEGIN)  # looked up by its hash, it would be no marker
    assert at("Hi").accept(begin)


@pytest.mark.parametrize("wrong", [1.5, "a", None, [1]], ids=repr)
def test_a_count_that_is_none_takes_nothing_back(wrong: Any) -> None:
    found = at("Hi")
    with pytest.raises(ConfigurationError, match="roll back must be a whole number"):
        found.rollback(wrong)
    assert (found.accepted, found.failure) == (2, None)
    found.rollback(np.int64(1))  # type: ignore[arg-type]
    assert type(found.accepted) is int


def _read_only() -> Any:
    mask = np.zeros((1, V.words), dtype=np.int32)
    mask.setflags(write=False)
    return mask


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.zeros(V.words, dtype=np.int32), "array of two dimensions"),
        (np.zeros((1, 1, V.words), dtype=np.int32), "array of two dimensions"),
        (np.zeros((), dtype=np.int32), "array of two dimensions"),
        (_read_only(), "read-only"),
        ([[0] * V.words], "a NumPy array"),
        (None, "a NumPy array"),
        (torch.zeros((1, V.words), requires_grad=True), "without gradients"),
        (torch.zeros((1, V.words), dtype=torch.int32, device="meta"), "on the CPU"),
        (np.zeros((1, 2 * V.words), dtype=np.int32)[:, ::2], "contiguous"),
        (np.zeros((V.words, 2), dtype=np.int32).T, "contiguous"),
        (torch.zeros((V.words, 2), dtype=torch.int32).T, "contiguous"),
        (np.ones(4 * V.words + 1, np.uint8)[1:].view(np.int32)[None], "aligned"),
        (np.zeros((1, V.words), dtype=">i4"), "type int32"),
    ],
    ids=[
        *("1d", "3d", "0d", "read-only", "list", "None", "gradients", "device", "strides"),
        *("transposed", "transposed tensor", "unaligned", "byte order"),
    ],
)
@pytest.mark.parametrize("text", ["Hi", OPENED, IN_ARGUMENTS])
def test_what_is_no_mask_is_refused_and_changes_nothing(mask: Any, words: str, text: str) -> None:
    found = at(text)
    with pytest.raises(ConfigurationError, match=words):
        found.fill(mask)
    assert found.failure is None
    assert legal(found)


@pytest.mark.parametrize("row", [slice(0, 1), None, "a", 1.0, [0]], ids=repr)
def test_a_row_is_a_whole_number(row: Any) -> None:
    found, mask = at(IN_ARGUMENTS), np.zeros((2, V.words), dtype=np.int32)
    with pytest.raises(ConfigurationError, match="row must be a whole number"):
        found.fill(mask, row)
    found.fill(mask, np.int64(1))  # type: ignore[arg-type]
    assert mask[1].any()
    assert not mask[0].any()


@pytest.mark.parametrize("ask", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_turn_has_no_copy(ask: Callable[[Matcher], object]) -> None:
    """The state of an engine's text cannot be had twice: the original went on by the copy's ids."""
    with pytest.raises(
        ConfigurationError, match=r"create another one .* and `accept` the same token ids"
    ):
        ask(at(IN_ARGUMENTS))
