"""Recorded turns in their several forms."""

from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.tools.explain.reply import read_ids, read_reply, scored
from enforcer.tools.explain.trace import Given
from tests.walks import V

END = V.control("<|im_end|>")


def entry(token: str, logprob: float, **more: Any) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), **more}


def test_ids() -> None:
    assert read_ids([1, 2], "f").given == (Given(1), Given(2))
    found = read_ids(
        {"prompt_token_ids": [5], "token_ids": [{"id": 1, "top": [[2, -3], [1, -0.5]]}]}, "f"
    )
    assert found.given == (Given(1, ((1, -0.5), (2, -3.0))),)
    assert found.prompt_ids == [5]


@pytest.mark.parametrize(
    "value", [None, {}, ["a"], [True], [{"id": -1}], [{"id": 1, "top": [[1]]}], {"token_ids": 3}]
)
def test_what_is_no_list_of_ids(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^f"):
        read_ids(value, "f")


def test_a_reply_with_logprobs_alone() -> None:
    tops = [entry("a", -0.1), entry("<|im_end|>", -2.0), entry("b", -9999.0)]
    content = [entry("a", -0.1, top_logprobs=tops), entry("<|im_end|>", -0.5, top_logprobs=[])]
    value = {"choices": [{"logprobs": {"content": content}}]}
    a = V.find(b"a")
    assert read_reply(value, V, "f").given == (Given(a, ((a, -0.1), (END, -2.0))), Given(END))
    assert read_reply({"response": value}, V, "f").given[1].token_id == END


def test_a_reply_with_its_ids() -> None:
    content = [entry("token_id:7", -0.1, top_logprobs=[entry("token_id:9", -0.1)])]
    value = {
        "prompt_token_ids": [3, 4],
        "choices": [{"token_ids": [7, END], "logprobs": {"content": content}}],
    }
    found = read_reply(value, V, "f")
    assert found.given == (Given(7, ((9, -0.1),)), Given(END))
    assert found.prompt_ids == [3, 4]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"choices": []},
        {"choices": [{"message": {}}]},
        {"choices": [{"logprobs": {"content": [entry("never seen", -1.0)]}}]},
    ],
)
def test_what_tells_no_ids(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^f"):
        read_reply(value, V, "f")


@pytest.mark.parametrize("score", [float("inf"), -float("inf"), float("nan"), 1e999])
def test_scores_that_are_no_numbers_are_left_out(score: float) -> None:
    """JSON has no such numbers: the page's script stopped at them."""
    given = (Given(1, ((3, -0.5),)),)
    assert read_ids([{"id": 1, "top": [[2, score], [3, -0.5]]}], "f").given == given
    content = [entry("a", -0.1, top_logprobs=[entry("a", score), entry("b", -1.0)])]
    found = read_reply({"choices": [{"logprobs": {"content": content}}]}, V, "f")
    assert found.given[0].top == ((V.find(b"b"), -1.0),)


def test_scores_of_the_same_ids_as_a_prompt() -> None:
    recorded = read_reply({"prompt_token_ids": [3], "choices": [{"token_ids": [7, END]}]}, V, "f")
    scores = [None, {"7": {"logprob": -2.0}, "8": {"logprob": -0.1}}, {str(END): {"logprob": 0}}]
    found = scored(recorded, {"choices": [{"prompt_logprobs": scores}]}, "g")
    assert found.given == (Given(7, ((8, -0.1), (7, -2.0))), Given(END, ((END, 0.0),)))
    with pytest.raises(ConfigurationError, match=r"^g.*every id"):
        scored(recorded, {"choices": [{"prompt_logprobs": scores[:2]}]}, "g")


@pytest.mark.parametrize(
    "entry_of",
    [
        {"5": 3},
        {"5": {"logprob": "x"}},
        {"5": {"logprob": None}},
        {"5": {}},
        {"5": None},
        {"5": {"logprob": 10**400}},
        {"x": {"logprob": -1}},
        {"²": {"logprob": -1}},
        {"9" * 5_000: {"logprob": -1}},
        [],
        3,
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_scores_of_another_form_are_told_with_their_place(entry_of: Any) -> None:
    recorded = read_reply({"prompt_token_ids": [3], "choices": [{"token_ids": [7]}]}, V, "f")
    with pytest.raises(ConfigurationError, match=r"^g: .*prompt_logprobs\[1\]|^g: .*`key`"):
        scored(recorded, {"choices": [{"prompt_logprobs": [None, entry_of]}]}, "g")
    with pytest.raises(ConfigurationError, match=r"^g: "):
        scored(recorded, {"choices": [entry_of]}, "g")


@pytest.mark.parametrize(
    "content",
    [
        [{"token": "\ud800", "top_logprobs": None}],
        [{"token": "token_id:²"}],
        [{"token": "token_id:" + "9" * 5_000}],
        [entry("a", -0.1, top_logprobs=3)],
        [entry("a", -0.1, top_logprobs=[3])],
        [entry("a", -0.1, top_logprobs=[{"token": "a", "logprob": 10**400}])],
        [3],
        3,
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_logprobs_of_another_form_are_told(content: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^f: "):
        read_reply({"choices": [{"logprobs": {"content": content}}]}, V, "f")
