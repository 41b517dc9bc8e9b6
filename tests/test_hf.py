"""transformers' real `generate`, over a model that knows nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import jsonschema
import pytest

from tests import dialect_cases
from tests.support.cases import parametrized, schemas
from tests.support.tools import tool
from tests.vocabularies import section, small, write

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import enforcer  # noqa: E402
from enforcer.errors import ConfigurationError, IllegalPrefix, InvalidTools  # noqa: E402
from enforcer.hf import TransformersLogitsProcessor  # noqa: E402
from enforcer.turn import dialects  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor
    from transformers.models.llama.modeling_llama import LlamaForCausalLM

    from enforcer.api import Enforcer
    from enforcer.turn.events import Turn


V = small()
PAD, STOP = V.control("[PAD]"), V.control("<|im_end|>")
HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"
SCHEMAS = schemas("cases/hf.toml")
TOOLS = [tool(name, schema) for name, schema in SCHEMAS.items()]
MESSAGES = [{"role": "assistant", "tool_calls": [{"function": {"name": "gone"}}] * 2}]
# Each row another request, its prompt of another length.
REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"tools": TOOLS, "tool_choice": "required"}, HEADER),
    ({"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}, HEADER + "<think>"),
    ({"tools": TOOLS[1:], "tool_choice": "required", "messages": MESSAGES}, HEADER + "I call: "),
    ({"tools": TOOLS}, "<|im_system|>Be kind.<|im_end|>" + HEADER + "<think></think>"),
    ({"tools": None}, HEADER),
    ({"tools": TOOLS, "tool_choice": "none"}, ""),
]


@pytest.fixture(scope="module")
def served() -> Enforcer:
    return enforcer.Enforcer(V, options=enforcer.Options(max_calls=3, preamble_ids=4))


def random_model(size: int, eos: int, **special: Any) -> LlamaForCausalLM:
    torch.set_num_threads(1)  # the model is so small that threads only wait for each other
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        eos_token_id=eos,
        **{"pad_token_id": eos, "bos_token_id": eos, **special},
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    padded = V.size + 7  # as real ones are
    return random_model(padded, STOP, pad_token_id=PAD, bos_token_id=V.control("[BOS]"))


def generate(
    model: LlamaForCausalLM,
    served: Enforcer,
    requests: list[tuple[dict[str, Any], str]],
    **options: Any,
) -> Iterator[tuple[list[int], list[int]]]:
    """Give each row's prompt and the ids after it, up to the end of its turn."""
    prompts = [write(V, prompt) for _, prompt in requests]
    longest = max(map(len, prompts))
    rows = [[PAD] * (longest - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    processor = TransformersLogitsProcessor(served, [request for request, _ in requests])
    with torch.no_grad():
        out = model.generate(
            torch.tensor(rows),
            attention_mask=torch.tensor(mask),
            logits_processor=[processor],
            max_new_tokens=60,
            **options,
        )
    for prompt, row in zip(prompts, out[:, longest:].tolist(), strict=True):
        yield prompt, row[: row.index(STOP) + 1] if STOP in row else row


def check(served: Enforcer, request: dict[str, Any], prompt: list[int], ids: list[int]) -> Turn:
    tools = {tool["function"]["name"] for tool in request["tools"] or ()}
    turn = served.parse(ids, prompt)
    assert turn.stray is None
    for index, call in enumerate(turn.calls, 2 if "messages" in request else 0):
        assert call.name in tools
        assert call.index == index
        jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
    choice = request.get("tool_choice", "auto" if tools else "none")
    if choice == "none":
        assert not turn.calls
    if choice == "required" and turn.ended:
        assert turn.calls
    assert len(turn.calls) <= (1 if request.get("parallel_tool_calls") is False else 3)
    assert V.control_ids.isdisjoint(V.encode(turn.content))
    return turn


@pytest.mark.slow
@parametrized("cases/hf.toml", "options")
def test_every_call_of_a_batch_is_valid(
    model: LlamaForCausalLM, served: Enforcer, options: dict[str, Any]
) -> None:
    torch.manual_seed(1)
    turns = [
        check(served, request, prompt, ids)
        for (request, _), (prompt, ids) in zip(
            REQUESTS, generate(model, served, REQUESTS, **options), strict=True
        )
    ]
    if options["do_sample"]:
        assert any(turn.calls for turn in turns)


def test_without_the_processor_the_model_breaks_the_format(model: LlamaForCausalLM) -> None:
    torch.manual_seed(1)
    prompt = torch.tensor([write(V, HEADER)])
    out = model.generate(prompt, do_sample=True, max_new_tokens=60)[0, prompt.shape[1] :].tolist()
    found = enforcer.Enforcer(V).matcher(TOOLS, prompt_ids=prompt[0].tolist())
    assert found.validate(out) < len(out)


def scores(rows: int) -> Tensor:
    return torch.zeros(rows, V.size)


def test_masked_scores(served: Enforcer) -> None:
    processor = TransformersLogitsProcessor(served, [REQUESTS[0][0]])
    begun = write(V, HEADER + "<|tool_calls_section_begin|>")
    masked = processor(torch.tensor([begun]), scores(1))
    assert torch.isfinite(masked)[0].nonzero().flatten().tolist() == [
        V.control("<|tool_call_begin|>")
    ]
    assert torch.isneginf(masked).sum() == V.size - 1


def test_rows_that_have_ended_go_on_with_padding(served: Enforcer) -> None:
    processor = TransformersLogitsProcessor(served, [{"tools": None}])
    ids = write(V, HEADER)
    for token_id in [*V.encode("Hi"), STOP, PAD, PAD]:
        processor(torch.tensor([ids]), scores(1))
        ids.append(token_id)
    assert torch.isfinite(processor(torch.tensor([ids]), scores(1)))[0, STOP]


def test_padding_behind_a_turn_is_no_part_of_it(served: Enforcer) -> None:
    ids = [*V.encode("Hi"), STOP]
    assert served.parse(ids).stray is None
    padded = served.parse([*ids, PAD, PAD])
    assert padded.stray == len(ids)
    assert (padded.content, padded.ended) == ("Hi", True)


def test_a_row_that_a_stop_string_ended_goes_on_with_padding(served: Enforcer) -> None:
    requests: list[dict[str, Any]] = [{"tools": TOOLS, "tool_choice": "required"}, {"tools": None}]
    told = TransformersLogitsProcessor(served, requests, pad_token_id=PAD)
    untold = TransformersLogitsProcessor(served, requests)
    prompt = write(V, HEADER)
    ids = torch.tensor([prompt, prompt])
    told(ids, scores(2))
    untold(ids, scores(2))
    ids = torch.tensor([[*prompt, PAD], [*prompt, *V.encode("H")]])
    told(ids, scores(2))
    with pytest.raises(ConfigurationError, match="pad_token_id"):
        untold(ids, scores(2))


@parametrized("cases/hf.toml", "wrong")
def test_a_bad_request_is_refused_by_place_and_field(
    served: Enforcer, requests: str, words: str
) -> None:
    with pytest.raises(InvalidTools, match=words):
        TransformersLogitsProcessor(served, json.loads(requests))


def test_a_prompt_that_has_begun_what_is_not_allowed(served: Enforcer) -> None:
    processor = TransformersLogitsProcessor(served, [{"tools": None}])
    with pytest.raises(IllegalPrefix):
        processor(torch.tensor([write(V, HEADER + section())]), scores(1))


def test_padding_on_the_right_is_refused_with_its_row_and_what_to_do(served: Enforcer) -> None:
    """Whatever it is padded with: behind the turn's opening it would be part of the turn."""
    prompt = write(V, HEADER)
    for padding in (PAD, STOP):
        processor = TransformersLogitsProcessor(served, [{"tools": TOOLS}] * 2)
        ids = torch.tensor([[*prompt, 97], [*prompt, padding]])
        with pytest.raises(IllegalPrefix, match=r'side="left".*\$\[1\]\.prompt_token_ids'):
            processor(ids, scores(2))


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([[[97]]], "one request a row"),
        ([[[97]] * 2, [[97, 98, 99]] * 2], "one id a row"),
        ([[[97]] * 2, [[97]] * 2], "one id a row"),
        ([[[97]] * 2, [[97, V.control("<|im_user|>")]] * 2], "masked"),
    ],
    ids=["rows", "leap", "no step", "foreign id"],
)
def test_a_mismatched_batch(served: Enforcer, steps: list[list[list[int]]], words: str) -> None:
    processor = TransformersLogitsProcessor(served, [{"tools": None}] * 2)
    *before, last = steps
    for ids in before:
        processor(torch.tensor(ids), scores(len(ids)))
    with pytest.raises(ConfigurationError, match=words):
        processor(torch.tensor(last), scores(len(last)))


def test_beam_search_is_refused(model: LlamaForCausalLM, served: Enforcer) -> None:
    with pytest.raises(ConfigurationError, match="beam"):
        list(generate(model, served, REQUESTS[:1], num_beams=2))


def test_rows_that_have_been_exchanged_are_noticed_whatever_may_follow(served: Enforcer) -> None:
    processor = TransformersLogitsProcessor(served, [{"tools": None}] * 2)
    one, two = ([*write(V, HEADER), *V.encode(text)] for text in ("Hi", "Ho"))
    length = min(len(one), len(two))
    rows = [one[: length - 1], two[: length - 1]]
    processor(torch.tensor(rows), scores(2))
    rows = [[*one[: length - 1], one[-1]], [*two[: length - 1], two[-1]]]
    processor(torch.tensor(rows), scores(2))
    exchanged = [[*rows[1], one[-1]], [*rows[0], two[-1]]]
    assert rows[0] != rows[1]
    with pytest.raises(ConfigurationError, match="rows have been exchanged"):
        processor(torch.tensor(exchanged), scores(2))


@pytest.mark.parametrize("fewer", [1, 64])
def test_a_model_with_fewer_ids_than_the_tokenizer_is_refused(served: Enforcer, fewer: int) -> None:
    """One may be the only legal one, and the last word of a mask has room for others."""
    assert V.size % 32 != 1
    processor = TransformersLogitsProcessor(served, [{"tools": None}])
    with pytest.raises(ConfigurationError, match=r"fewer ids than the tokenizer, .* resize"):
        processor(torch.tensor([[97]]), torch.zeros(1, V.size - fewer))


@pytest.mark.parametrize("later", [False, True])
def test_no_legal_id(served: Enforcer, *, later: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an accelerator, at the next step: it may still be busy with the scores."""
    processor = TransformersLogitsProcessor(served, [REQUESTS[0][0]] * 2)
    ids = [write(V, HEADER + "<|tool_calls_section_begin|>")] * 2
    left = scores(2)
    left[1, V.control("<|tool_call_begin|>")] = -torch.inf
    if later:
        with monkeypatch.context() as patched:
            patched.setattr(processor, "_refuse_dead", lambda: None)
            processor(torch.tensor(ids), left)
        ids = [[*row, 0] for row in ids]
    with pytest.raises(ConfigurationError, match=r"row 1 has no id left: .* suppress_tokens"):
        processor(torch.tensor(ids), left)


def test_scores_that_are_no_numbers_are_not_taken_for_none(served: Enforcer) -> None:
    processor = TransformersLogitsProcessor(served, [{"tools": None}])
    processor(torch.tensor([write(V, HEADER)]), torch.full((1, V.size), torch.nan))


@pytest.mark.slow
@pytest.mark.parametrize("name", dialects.available())
def test_every_format_is_enforced(name: str) -> None:
    of_name = enforcer.Enforcer(
        dialect_cases.vocabulary(name), name, options=enforcer.Options(preamble_ids=4)
    )
    prompt = dialect_cases.opening(name) or write(of_name.vocabulary, "Hi")
    ends = of_name.table.turn_end_ids
    request = {"tools": TOOLS, "tool_choice": "required"}
    processor = TransformersLogitsProcessor(of_name, [request] * 8)
    model = random_model(of_name.vocabulary.size, min(ends))
    torch.manual_seed(2)
    with torch.no_grad():
        out = model.generate(
            torch.tensor([prompt] * 8),
            attention_mask=torch.ones(8, len(prompt), dtype=torch.long),
            logits_processor=[processor],
            max_new_tokens=150,
            do_sample=True,
            temperature=3.0,
            top_k=0,
        )
    calls: list[Any] = []
    for row in out[:, len(prompt) :].tolist():
        stop = next((at for at, token in enumerate(row) if token in ends), len(row))
        turn = of_name.parse(row[: stop + 1], prompt, schemas=SCHEMAS)
        assert turn.stray is None
        assert not turn.ended or turn.calls
        calls += turn.calls
    assert calls
    for call in calls:
        jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])


def test_a_tokenizer_is_no_enforcer() -> None:
    with pytest.raises(ConfigurationError, match="from_tokenizer"):
        TransformersLogitsProcessor(cast("Enforcer", "tokenizer"), [{"tools": []}])
