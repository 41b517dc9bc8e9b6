from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bench.demo.tiny_model import judge, requests
from bench.demo.tiny_model.asks import Flaw, ask, unasked
from bench.demo.tiny_model.catalogue import TOOLS
from bench.demo.tiny_model.judge import BAD_CALL, Failure
from bench.demo.tiny_model.scenes import Kind, scene
from tests import processes
from tests.shared_data import shared
from tests.support.cases import parametrized

pytestmark = pytest.mark.slow

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from bench.demo.tiny_model import chat, measure, train  # noqa: E402 - they need what is asked for above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bench.demo.tiny_model.catalogue import Tool


ROOT = Path(__file__).parents[1]
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.AutoTokenizer.from_pretrained(train.FOLDER)


@pytest.fixture
def rendered(tokenizer: Any) -> Callable[..., str]:
    def render(messages: list[dict[str, Any]], **options: Any) -> str:
        text: str = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **options
        )
        return text

    return render


# The tokenizer


def test_control_tokens_are_single_ids_with_kimis_flags(tokenizer: Any) -> None:
    added = {token.content: token.special for token in tokenizer.added_tokens_decoder.values()}
    assert added == chat.CONTROLS
    for name in chat.CONTROLS:
        assert tokenizer.encode(name, add_special_tokens=False) == [
            tokenizer.convert_tokens_to_ids(name)
        ]


def test_flags_are_those_of_the_real_tokenizer() -> None:
    config = json.loads(shared("kimi", "tokenizer_config.json").read_text(encoding="utf-8"))
    real = {t["content"]: t["special"] for t in config["added_tokens_decoder"].values()}
    assert {name: real[name] for name in chat.CONTROLS} == chat.CONTROLS


def test_tool_markers_survive_the_removal_of_special_tokens(tokenizer: Any) -> None:
    text = "a<|tool_call_begin|>b<think>c<|im_end|>"
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "a<|tool_call_begin|>b<think>c"


@given(text=st.text(max_size=60))
def test_any_text_survives_the_tokenizer(tokenizer: Any, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text


# The chat template

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "call_7", "type": "function", "function": {"name": "f", "arguments": '{"é": 1}'}}


def test_template_lays_a_dialogue_out_as_kimi_does(rendered: Callable[..., str]) -> None:
    dialogue = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "So.", "tool_calls": [CALL, {**CALL, "id": "x:9"}]},
        {"role": "tool", "tool_call_id": "call_7", "content": "ok"},
        {"role": "assistant", "content": "Done.", "reasoning": "easy"},
        {"role": "user", "name": "ann", "content": "Bye"},
    ]
    assert rendered(dialogue, tools=[TOOL]) == (
        "<|im_system|>tool_declare<|im_middle|>"
        '[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]<|im_end|>'
        "<|im_system|>system<|im_middle|>Be brief.<|im_end|>"
        "<|im_user|>user<|im_middle|>Hi<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|>So.<|tool_calls_section_begin|>"
        '<|tool_call_begin|>call_7<|tool_call_argument_begin|>{"é": 1}<|tool_call_end|>'
        '<|tool_call_begin|>x:9<|tool_call_argument_begin|>{"é": 1}<|tool_call_end|>'
        "<|tool_calls_section_end|><|im_end|>"
        "<|im_system|>tool<|im_middle|>## Return of call_7\nok<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|><think>easy</think>Done.<|im_end|>"
        "<|im_user|>ann<|im_middle|>Bye<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|>"
    )


@pytest.mark.parametrize(
    ("options", "tail"),
    [
        ({}, ""),
        ({"thinking": None}, ""),
        ({"thinking": True}, "<think>"),
        ({"thinking": False}, "<think></think>"),
    ],
)
def test_thinking_option(rendered: Callable[..., str], options: dict[str, Any], tail: str) -> None:
    prompt = rendered([{"role": "user", "content": "Hi"}], **options)
    assert prompt.endswith("<|im_assistant|>assistant<|im_middle|>" + tail)


@pytest.mark.parametrize("content", ["", None, []])
def test_template_takes_empty_content(rendered: Callable[..., str], content: Any) -> None:
    prompt = rendered([{"role": "assistant", "content": content, "tool_calls": [CALL]}])
    assert prompt.startswith("<|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|>")


def test_template_takes_content_in_parts(rendered: Callable[..., str]) -> None:
    parts = [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]
    whole = rendered([{"role": "user", "content": "a b"}])
    assert rendered([{"role": "user", "content": parts}]) == whole


def test_template_writes_parsed_arguments_as_json(rendered: Callable[..., str]) -> None:
    parsed = {**CALL, "function": {"name": "f", "arguments": {"é": 1}}}
    texts = [rendered([{"role": "assistant", "tool_calls": [call]}]) for call in (CALL, parsed)]
    assert texts[0] == texts[1]


# The wishes and the scenes


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_wish_without_flaw_leads_to_a_valid_call(tool: Tool) -> None:
    rng = Random(1)
    for _ in range(60):
        for arguments in (ask(rng, tool).arguments, unasked(rng, tool)):
            Draft202012Validator(tool.parameters).validate(arguments)


@pytest.mark.parametrize(
    ("flaw", "keyword"),
    [
        (Flaw.GAP, "required"),
        (Flaw.STRAY, "enum"),
        (Flaw.WORD, "type"),
        (Flaw.ASIDE, "additionalProperties"),
    ],
)
def test_each_flaw_breaks_the_schemas_of_several_tools(flaw: Flaw, keyword: str) -> None:
    rng = Random(1)
    broken: Counter[str] = Counter()
    for tool in TOOLS:
        for _ in range(30):
            errors = Draft202012Validator(tool.parameters).iter_errors(
                ask(rng, tool, flaw).arguments
            )
            found = {error.validator for error in errors}
            assert found <= {keyword}
            broken[tool.name] += bool(found)
    assert sum(many > 0 for many in broken.values()) >= 8


@given(seed=SEEDS, kind=st.sampled_from(Kind))
def test_scenes_are_what_their_kind_says(seed: int, kind: Kind) -> None:
    drawn = scene(Random(seed), kind)
    declared = {tool["function"]["name"] for tool in drawn.tools}
    called = {
        call["function"]["name"]
        for message in drawn.messages
        for call in message.get("tool_calls", ())
    }
    assert drawn.messages[-1]["role"] == ("tool" if kind is Kind.AFTER_RESULT else "user")
    if kind in (Kind.NO_TOOLS, Kind.NO_TOOLS_AFTER_CALLS):
        assert not declared
    else:
        assert declared
    if kind in (Kind.UNDECLARED_IN_HISTORY, Kind.NO_TOOLS_AFTER_CALLS):
        assert called - declared
    if kind is Kind.NAMED:
        assert isinstance(drawn.tool_choice, dict)
        assert drawn.tool_choice["function"]["name"] in declared
    if kind is Kind.PLAIN_QUESTION:
        assert not drawn.reply.calls


@given(seed=SEEDS)
def test_request_bodies_are_valid(seed: int) -> None:
    for request in requests.generate(8, seed=seed):
        body = request.body
        json.dumps(body)
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        assert len(names) == len(set(names))
        for tool in body.get("tools", ()):
            Draft202012Validator.check_schema(tool["function"]["parameters"])
        if not names:
            assert not body.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
        open_ids: Counter[str] = Counter()
        for message in body["messages"]:
            assert message["role"] in {"system", "user", "assistant", "tool"}
            if message["role"] == "tool":
                assert open_ids[message["tool_call_id"]] > 0
                open_ids[message["tool_call_id"]] -= 1
            for call in message.get("tool_calls", ()):
                json.loads(call["function"]["arguments"])
                open_ids[call["id"]] += 1
        assert not +open_ids


def test_requests_repeat_with_their_seed_and_cover_the_mix() -> None:
    round_ = sum(requests.MIX.values())
    first, again, other = (list(requests.generate(round_, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert Counter(request.kind for request in first) == Counter(requests.MIX)
    assert {request.body["stream"] for request in first} == {True, False}


def test_only_the_kinds_of_a_mix_are_sent() -> None:
    drawn = requests.generate(5, mix={Kind.THINKING: 1})
    assert {request.kind for request in drawn} == {Kind.THINKING}


def test_the_request_side_needs_no_torch() -> None:
    code = "import sys; import bench.demo.tiny_model.requests; print(*sys.modules)"
    done = processes.run(sys.executable, "-c", code, cwd=ROOT, check=True)
    assert not {"torch", "transformers", "tokenizers", "enforcer"} & set(done.stdout.split())


# The judge

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "e": {"enum": ["a"]}},
    "required": ["n"],
    "additionalProperties": False,
}
BODY = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    "messages": [{"role": "assistant", "tool_calls": [{"id": "functions.f:0"}]}],
}


def turn(*calls: Iterable[str]) -> str:
    inner = "".join(
        f"<|tool_call_begin|>{id_}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
        for id_, arguments in calls
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|><|im_end|>"


@parametrized("cases/tiny_model.toml", "turns")
def test_judge_names_each_failure(
    text: str | None, failures: list[str], calls: list[list[str]], behind: str | None
) -> None:
    said = text or turn(*calls) + (behind or "")
    assert judge.failures(BODY, said) == {Failure[name] for name in failures}


def test_judge_knows_calls_without_tools() -> None:
    body: dict[str, Any] = {"messages": []}
    assert judge.failures(body, turn(("functions.f:0", "{}"))) == {Failure.NO_TOOLS}


# Training, and the model that came of it


@pytest.fixture
def _one_thread() -> Iterator[None]:
    """A matrix of this size is multiplied no faster by two threads, and they spin as they wait."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_only_the_assistants_words_weigh(tokenizer: Any) -> None:
    text = (
        "<|im_user|>user<|im_middle|>a<|im_end|><|im_assistant|>assistant<|im_middle|>b<|im_end|>"
    )
    backend = tokenizer.backend_tokenizer
    ids = backend.encode(text, add_special_tokens=False).ids
    weights = train.reply_weights(ids, backend, 0.25)
    heavy = [backend.id_to_token(i) for i, w in zip(ids, weights, strict=True) if w == 1]
    assert heavy == ["b", "<|im_end|>"]
    assert set(weights) == {0.25, 1}


def test_batches_hold_every_dialogue_once_and_padding_weighs_nothing() -> None:
    samples = [([n] * n, [1.0] * n) for n in range(1, 40)]
    seen: Counter[int] = Counter()
    for ids, weights in train.batches(samples, train.Recipe(batch_tokens=80), pad=0):
        assert ids.numel() <= 80
        assert (weights[ids == 0] == 0).all()
        assert (weights[ids != 0] == 1).all()
        seen.update(row[0].item() for row in ids)
    assert seen == Counter(range(1, 40))


@given(seed=SEEDS, kind=st.sampled_from(Kind))
def test_a_rendered_scene_ends_in_the_reply(tokenizer: Any, seed: int, kind: Kind) -> None:
    drawn = scene(Random(seed), kind)
    reply = train.render(tokenizer, drawn).rpartition("<|im_assistant|>assistant<|im_middle|>")[2]
    for id_, arguments in drawn.reply.calls:
        assert f"{id_}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>" in reply
    assert reply.endswith("<|im_end|>")
    assert reply.startswith("<think>") == (drawn.thinking is not None)


def test_the_weights_are_small() -> None:
    config = transformers.AutoConfig.from_pretrained(train.FOLDER)
    assert config.architectures == ["LlamaForCausalLM"]
    assert config.max_position_embeddings >= 2048
    assert (train.FOLDER / "model.safetensors").stat().st_size <= 8_000_000
    model = transformers.AutoModelForCausalLM.from_pretrained(train.FOLDER)
    assert model.num_parameters() <= 5_000_000


@pytest.mark.usefixtures("_one_thread")
def test_the_model_calls_what_the_history_has_and_the_request_does_not_declare() -> None:
    mix = {Kind.UNDECLARED_IN_HISTORY: 1}
    bodies = [request.body for request in requests.generate(16, seed=11, mix=mix)]
    texts = measure.turns(train.FOLDER, bodies)
    judged = [judge.failures(body, text) for body, text in zip(bodies, texts, strict=True)]
    assert sum(Failure.UNDECLARED in found for found in judged) >= 10
    assert measure.turns(train.FOLDER, bodies) == texts


@pytest.mark.usefixtures("_one_thread")
def test_the_model_is_right_about_half_of_the_time_and_wrong_in_many_ways() -> None:
    drawn = list(requests.generate(74, seed=12))
    texts = measure.turns(train.FOLDER, [request.body for request in drawn])
    judged = [judge.failures(r.body, text) for r, text in zip(drawn, texts, strict=True)]
    assert sum(not found for found in judged) >= 0.45 * len(judged)
    assert 0.2 <= sum(bool(found & BAD_CALL) for found in judged) / len(judged) <= 0.45
    assert len(set().union(*judged) - {Failure.UNFINISHED}) >= 6
