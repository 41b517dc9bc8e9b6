"""The front door: what a request means, what it costs, and what bad input gets."""

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import enforcer
from enforcer import engines, errors
from enforcer.api import Enforcer
from enforcer.cache import Cache
from enforcer.request.spec import Spec
from enforcer.request.tools import parse
from enforcer.schema import Limits
from enforcer.turn import dialects
from tests.support.cases import parametrized
from tests.vllm_servers import TINY
from tests.vocabularies import call, feed, legal, section, small, write

V = small()
BEGIN = V.control("<|tool_calls_section_begin|>")
STOP = {V.control("<|im_end|>"), V.control("[EOS]")}
MARKERS = {i for name, i in V.controls.items() if "tool" in name}
HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"


@pytest.fixture(scope="module")
def served() -> Enforcer:
    return enforcer.Enforcer(V, options=enforcer.Options(max_calls=3, preamble_ids=4))


def tool(name: str, parameters: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


GET = tool("get", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


def test_the_version_is_that_of_the_installed_package() -> None:
    assert enforcer.__version__ == version("kimi-enforcer")
    with pytest.raises(AttributeError, match="'versoin'"):
        _ = enforcer.versoin  # type: ignore[attr-defined]


def test_a_turn_is_finished_behind_its_end(served: Enforcer) -> None:
    matcher = served.matcher([GET])
    for token_id in write(V, section(call("get", 0, '{"a": 1}'))):
        assert not matcher.is_finished
        assert matcher.accept(token_id)
    assert matcher.is_finished
    matcher.rollback(1)
    assert not matcher.is_finished


def accepts(served: Enforcer, text: str, *args: Any, **kwargs: Any) -> bool:
    ids = write(V, text)
    return served.matcher(*args, **kwargs).validate(ids) == len(ids)


def test_what_is_warm_builds_no_table_for_a_grammar() -> None:
    """Each took half a second of Python in an engine that served others."""
    fresh = enforcer.Enforcer(V)
    fresh.warm()
    built = set(vars(fresh.engine))
    text = {"type": "string", "pattern": "^[b-d]*$", "maxLength": 300}
    words = {"type": "array", "items": {"type": "string", "pattern": "^e"}, "uniqueItems": True}
    numbers = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    tools = [tool(f"t{i}", {"properties": {"a": x}}) for i, x in enumerate((text, words, numbers))]
    for each in tools:
        assert accepts(fresh, section(call(each["function"]["name"], 0, "{}")), [each])
    assert set(vars(fresh.engine)) == built


@pytest.mark.parametrize("name", ["options", "documents", "cache"])
@pytest.mark.parametrize("wrong", [{}, {"max_calls": 1}, 5, "relax"])
def test_what_an_enforcer_is_made_of_is_of_its_type(name: str, wrong: Any) -> None:
    with pytest.raises(
        errors.ConfigurationError, match=f"{name} is .*, but must be `{name.title()}`"
    ):
        enforcer.Enforcer(V, **{name: wrong})
    with pytest.raises(
        errors.ConfigurationError, match=r"vocabulary is .*, but must be `Vocabulary`"
    ):
        enforcer.Enforcer(wrong)


def test_options_are_chosen_by_a_word() -> None:
    undeclared = section(call("get", 0, '{"a": 1, "b": 2}'))
    assert accepts(enforcer.Enforcer(V), undeclared, [GET])
    closed = enforcer.Enforcer(V, closed_objects=True)
    assert not accepts(closed, undeclared, [GET])
    assert accepts(closed, section(call("get", 0, '{"a": 1}')), [GET])
    options = enforcer.Options(max_calls=1)
    read = enforcer.Enforcer.from_tokenizer(TINY, options=options, integers="digits")
    assert (read.options.max_calls, options.conventions) == (1, enforcer.Conventions())
    assert read.options.conventions.integers is enforcer.Integers.DIGITS


def test_an_engine_of_another_vocabulary_is_refused() -> None:
    other = enforcer.Vocabulary.of_bytes(V.controls)
    with pytest.raises(
        errors.ConfigurationError, match="'machine' was built for another vocabulary"
    ):
        enforcer.Enforcer(V, engine=engines.load("machine", other))
    alike = enforcer.Vocabulary.from_json(V.to_json())
    assert enforcer.Enforcer(V, engine=engines.load("machine", alike)).matcher([GET])


def test_documents_are_not_exchanged(served: Enforcer) -> None:
    """What was compiled with the old ones would be kept."""
    with pytest.raises(AttributeError):
        served.documents = enforcer.Documents({})  # type: ignore[misc]
    assert len(served.documents) == 0


@pytest.mark.parametrize("tools", [np.array([GET]), np.array([]), {}, "", 0, False])
def test_tools_are_a_list_or_none(served: Enforcer, tools: Any) -> None:
    for ask in (served.matcher, enforcer.extra_body):
        with pytest.raises(errors.InvalidTools, match=r"`\$.tools`"):
            ask(tools)


@pytest.mark.parametrize("form", ["tensor", "tensors", "array"])
def test_ids_may_be_tensors(served: Enforcer, form: str) -> None:
    """A tensor's hash is its own: a prompt of them had no control token, and a reply no calls."""
    torch = pytest.importorskip("torch")
    forms: dict[str, Any] = {
        "tensor": torch.tensor,
        "tensors": lambda ids: [*torch.tensor(ids)],
        "array": lambda ids: torch.tensor(ids).numpy(),
    }
    prompt, reply = write(V, HEADER + "<think>"), write(V, section(call("get", 0, '{"a":1}')))
    assert served.matcher([GET], prompt_ids=forms[form](prompt)).state == "REASONING"
    opened = forms[form](write(V, HEADER + section(call("gone", 0, "{}"))))
    with pytest.raises(errors.IllegalPrefix):
        served.matcher([GET], prompt_ids=opened)
    assert served.parse(forms[form](reply), forms[form](prompt[:-1])) == served.parse(reply)
    assert len(served.parse(forms[form](reply)).calls) == 1
    assert served.parse(forms[form](write(V, "hm")), forms[form](prompt)).reasoning == "hm"
    for wrong in ([1.0], ["a"], [[1]], 5):
        bad: Any = wrong
        with pytest.raises(errors.ConfigurationError, match="token_ids must be ids"):
            served.parse(bad)
        with pytest.raises(errors.ConfigurationError, match="prompt_ids must be ids"):
            served.matcher([GET], prompt_ids=bad)


def test_import_loads_neither_torch_nor_vllm() -> None:
    code = (
        "import sys, enforcer; sys.exit(bool({'torch', 'vllm', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What bad input gets


@pytest.mark.parametrize("name", ["kimi_k9", "", "../kimi_k2", None, []])
def test_an_unknown_dialect(name: Any) -> None:
    with pytest.raises(errors.UnknownDialect, match="kimi_k2"):
        enforcer.Enforcer(V, dialect=name)


@pytest.mark.parametrize("name", ["guidance", "", None, []])
def test_an_unknown_engine(name: Any) -> None:
    with pytest.raises(errors.UnknownEngine, match="machine"):
        enforcer.Enforcer(V, engine=name)


def test_a_vocabulary_without_the_dialects_tokens() -> None:
    with pytest.raises(errors.InvalidVocabulary, match="tool_call_end"):
        enforcer.Enforcer(small("<|tool_call_end|>"))


@parametrized("cases/api.toml", "wrong")
@pytest.mark.parametrize(
    "choice", ["auto", "none", {"type": "function", "function": {"name": "get"}}]
)
def test_a_schema_that_cannot_be_enforced(
    served: Enforcer, schema: dict[str, Any], error: str, path: str, choice: Any
) -> None:
    with pytest.raises(getattr(errors, error)) as caught:
        served.matcher([GET, tool("bad", schema)], choice)
    assert caught.value.path.startswith(path)
    assert caught.value.problems
    assert served.matcher([GET], choice) is not None  # nothing else is harmed


def test_a_bad_request_harms_no_other(served: Enforcer) -> None:
    good = served.matcher([GET])
    before = legal(good)
    with pytest.raises(errors.InvalidTools):
        served.matcher([GET, GET])
    assert legal(good) == before


# What a request means


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}])
@pytest.mark.parametrize("strict", [True, False, None])
def test_without_parameters_the_arguments_are_any_object(
    served: Enforcer, parameters: dict[str, Any] | None, strict: bool | None
) -> None:
    listed = [tool("get", parameters, strict=strict)]
    for text in ("{}", '{"any": [1, {"thing": null}]}'):
        assert accepts(served, section(call("get", 0, text)), listed)
    for text in ("[]", "1", '"{}"', "null", ""):
        assert not accepts(served, section(call("get", 0, text)), listed)


@pytest.mark.parametrize("strict", [True, False, None])
def test_strict_or_not_the_schema_is_enforced(served: Enforcer, strict: bool | None) -> None:
    listed = [tool("get", GET["function"]["parameters"], strict=strict)]
    assert accepts(served, section(call("get", 0, '{"a": 1}')), listed)
    assert not accepts(served, section(call("get", 0, '{"a": "x"}')), listed)
    assert not accepts(served, section(call("get", 0, "{}")), listed)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((None,), {}), (([],), {}), (([], None), {}), (([GET], "none"), {}), ((None, "none"), {})],
)
def test_no_tool_token_without_tools_or_with_none_whatever_the_history_has(
    served: Enforcer, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    asked = {"id": "functions.img_gen:0", "function": {"name": "img_gen", "arguments": "{}"}}
    prompt = write(V, HEADER + section(call("img_gen", 0, "{}")) + HEADER)
    messages = [{"role": "assistant", "tool_calls": [asked]}]
    for tail in ("", "<think>", "<think></think>", "Well, "):
        fields: dict[str, Any] = {
            **kwargs,
            "messages": messages,
            "prompt_ids": prompt + write(V, tail),
        }
        assert legal(served.matcher(*args, **fields)).isdisjoint(MARKERS)


@pytest.mark.parametrize("choice", ["auto", None])
def test_auto_and_null_let_the_model_choose(served: Enforcer, choice: str | None) -> None:
    found = served.matcher([GET], choice)
    assert legal(found) >= {BEGIN}
    feed(found, [ord("x")])
    assert legal(found) >= {BEGIN} | STOP
    assert not accepts(served, section(call("evil", 0, "{}")), [GET], choice)


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_an_empty_turn_may_end_only_where_allowed(served: Enforcer, choice: str | None) -> None:
    assert not STOP & legal(served.matcher([GET], choice))
    allowing = enforcer.Enforcer(V, options=enforcer.Options(allow_empty_turns=True))
    assert legal(allowing.matcher([GET], choice)) >= STOP


def test_required_forces_a_call_and_named_forces_that_one(served: Enforcer) -> None:
    listed = [GET, tool("other")]
    named = {"type": "function", "function": {"name": "other"}}
    for choice in ("required", named):
        found = served.matcher(listed, choice)
        assert legal(found).isdisjoint(STOP)
        for _ in range(4):
            assert found.accept(ord("x"))
        assert legal(found) == {BEGIN}
    assert accepts(served, section(call("other", 0, "{}")), listed, named)
    assert not accepts(served, section(call("get", 0, '{"a": 1}')), listed, named)
    assert accepts(served, section(call("get", 0, '{"a": 1}')), listed, "required")


def test_allowed_tools(served: Enforcer) -> None:
    only = {
        "type": "allowed_tools",
        "allowed_tools": {
            "mode": "auto",
            "tools": [{"type": "function", "function": {"name": "get"}}],
        },
    }
    listed = [GET, tool("other")]
    assert accepts(served, section(call("get", 0, '{"a": 1}')), listed, only)
    assert not accepts(served, section(call("other", 0, "{}")), listed, only)


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_without_parallel_calls_there_is_one(served: Enforcer, choice: str) -> None:
    one, two = (section(*(call("get", i, '{"a": 1}') for i in range(n))) for n in (1, 2))
    assert accepts(served, one, [GET], choice, parallel_tool_calls=False)
    assert not accepts(served, two, [GET], choice, parallel_tool_calls=False)
    assert accepts(served, two, [GET], choice)


def test_calls_come_to_an_end(served: Enforcer) -> None:
    three, four = (section(*(call("get", i, '{"a": 1}') for i in range(n))) for n in (3, 4))
    assert accepts(served, three, [GET])
    assert not accepts(served, four, [GET])


def test_the_index_continues_the_dialogs_counter(served: Enforcer) -> None:
    asked = {"id": "search:9", "function": {"name": "get"}}
    messages = [
        {"role": "assistant", "tool_calls": [asked, asked]},
        {"role": "tool", "tool_call_id": "search:9", "content": "1"},
        {"role": "assistant", "tool_calls": [asked]},
    ]
    texts = [section(call("get", i, '{"a": 1}')) for i in range(12)]
    assert [accepts(served, text, [GET], messages=messages) for text in texts] == [
        i == 3 for i in range(12)
    ]


def test_names_with_every_legal_character_and_prefixes(served: Enforcer) -> None:
    names = ["a", "ab", "a.b", "a-b", "a_b", "a/b", "A0", "天气", "functions.a"]
    for name in names:
        assert accepts(served, section(call(name, 0, "{}")), [tool(n) for n in names])
        others = [tool(n) for n in names if n != name]
        assert not accepts(served, section(call(name, 0, "{}")), others)


def test_property_names_that_are_not_ascii_in_any_spelling(served: Enforcer) -> None:
    schema = {
        "type": "object",
        "properties": {"città": {"type": "integer"}},
        "additionalProperties": False,
    }
    for text in ('{"città": 1}', '{"citt\\u00e0": 1}', '{"citt\\u00E0":1}', "{}"):
        assert accepts(served, section(call("get", 0, text)), [tool("get", schema)])
    for text in ('{"citta": 1}', '{"città": 1, "citt\\u00e0": 2}', '{"città": "x"}'):
        assert not accepts(served, section(call("get", 0, text)), [tool("get", schema)])


def test_text_fits_the_format_or_the_turn_is_calls(served: Enforcer) -> None:
    wanted = {"type": "json_schema", "json_schema": {"schema": {"enum": ["yes", "no"]}}}
    assert accepts(served, '"yes"<|im_end|>', [GET], response_format=wanted)
    assert accepts(served, section(call("get", 0, '{"a": 1}')), [GET], response_format=wanted)
    for text in (
        "yes<|im_end|>",
        '"maybe"<|im_end|>',
        '"yes"' + section(call("get", 0, '{"a": 1}')),
    ):
        assert not accepts(served, text, [GET], response_format=wanted)


def test_turns_are_read_back(served: Enforcer) -> None:
    text = "<think>hm</think>I look." + section(call("get", 2, '{"a": 1}'), call("x", 3, "{}"))
    turn = served.parse(write(V, text), write(V, HEADER), {"get"})
    assert (turn.reasoning, turn.content) == ("hm", "I look.")
    (found,) = turn.calls
    assert (found.id, found.name, found.arguments) == ("functions.get:2", "get", '{"a": 1}')


# What it costs


def test_only_the_called_tool_is_compiled_and_only_once(calls_of: Callable[..., list[Any]]) -> None:
    found = enforcer.Enforcer(V)
    compiled = calls_of(found.engine, "compile")
    listed = [
        tool(f"tool_{n}", {"type": "object", "properties": {f"p{n}": {"type": "string"}}})
        for n in range(128)
    ]
    legal(found.matcher(listed))
    assert compiled == []
    text = section(call("tool_77", 0, '{"p77": "x"}'))
    for _ in range(3):
        assert accepts(found, text, listed)
    assert len(compiled) == 1


def test_what_is_kept_is_within_the_budget() -> None:
    kept = Cache(100_000)
    found = enforcer.Enforcer(V, cache=kept)
    for n in range(10):
        schema = {"type": "object", "properties": {"a": {"const": n}}, "required": ["a"]}
        assert accepts(found, section(call("get", 0, f'{{"a": {n}}}')), [tool("get", schema)])
    assert 0 < kept.weight <= kept.budget
    assert len(kept) < 10


@pytest.mark.slow
def test_rows_of_a_grammar_that_is_in_use_and_no_longer_kept_count() -> None:
    kept = Cache(150_000)
    found = enforcer.Enforcer(V, cache=kept)
    commas = {"type": "object", "properties": {"a": {"pattern": "^([a-z ]*,){90}$"}}}
    matcher = found.matcher([tool("get", commas)], "required")
    opened = section(call("get", 0, '{"a": "' + "," * 80)).partition("<|tool_call_end|>")[0]
    for token_id in write(V, opened):
        legal(matcher)
        assert matcher.accept(token_id)
    before = kept.weight
    for n in range(4):
        other = {"type": "object", "properties": {"a": {"const": n}}, "required": ["a"]}
        assert accepts(found, section(call("get", 0, f'{{"a": {n}}}')), [tool("get", other)])
    rows = kept.weight
    del matcher
    gc.collect()
    assert before > 150_000 / 2
    assert rows - kept.weight > 40_000


def test_only_slow_schemas_are_compiled_before_the_turn(calls_of: Callable[..., list[Any]]) -> None:
    found = enforcer.Enforcer(V)
    compiled = calls_of(found.engine, "read")
    long = {"type": "object", "properties": {"a": {"enum": [f"value {n}" for n in range(400)]}}}
    wanted = Spec(parse([GET, tool("long", long)], "auto", True), 0)
    for known in (False, True):
        steps = found.prepare(wanted)
        if not known:
            next(steps)
            assert not compiled
        with pytest.raises(StopIteration) as end:
            next(steps)
        assert len(compiled) == 1
        assert set(end.value.value.arguments) == {"long"}
    assert len(list(found.prepare(Spec(parse([GET], "required", True), 0)))) == 1


def test_a_schema_is_compiled_ahead_once_the_header_leaves_one_tool() -> None:
    found = enforcer.Enforcer(V)
    other = tool("other", {"type": "object", "properties": {"b": {"type": "null"}}})
    ahead: list[Any] = []
    matcher = found.start(Spec(parse([GET, other], "auto", True), 0), None, ahead=ahead.append)
    header, rest = write(V, "<|tool_calls_section_begin|><|tool_call_begin|>functions."), "get:0"
    assert matcher.validate(header) == len(header)
    for token_id in header:
        matcher.accept(token_id)
    assert not ahead
    feed(matcher, write(V, rest))
    assert len(ahead) == 1
    before = found.cache.misses
    ahead[0]()
    assert found.cache.misses == before + 1
    assert matcher.accept(V.control("<|tool_call_argument_begin|>"))
    assert found.cache.misses == before + 1


def test_matchers_of_one_enforcer_do_not_meet(served: Enforcer) -> None:
    one, two = served.matcher([GET]), served.matcher([GET])
    ids = write(V, section(call("get", 0, '{"a": 12}')))
    for at, token_id in enumerate(ids):
        assert one.accept(token_id)
        if at:
            assert two.accept(ids[at - 1])
            assert two.validate(ids[at:]) == len(ids) - at


def test_isolating_costs_a_tool_its_schema_and_the_others_nothing() -> None:
    options = enforcer.Options(on_unsupported=enforcer.OnUnsupported.ISOLATE)
    isolating = enforcer.Enforcer(V, options=options)
    wrong = tool("wrong", {"type": "object", "properties": {"n": {"type": "float"}}})
    start = ([GET, wrong], "required")
    assert accepts(isolating, section(call("get", 0, '{"a": 1}')), *start)
    assert not accepts(isolating, section(call("get", 0, '{"a": "x"}')), *start)
    assert accepts(isolating, section(call("wrong", 0, '{"n": null}')), *start)
    assert not accepts(isolating, section(call("wrong", 0, "[1]")), *start)


# Which schemas are looked at, and what is done with formats


def test_tightened_limits_hold_before_the_turn() -> None:
    """A plain schema is trusted only as far as the limits that it was found plain for."""
    deep = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}}}}
    tight = enforcer.Enforcer(V, options=enforcer.Options(limits=Limits(depth=1)))
    with pytest.raises(errors.SchemaLimit, match="deeper than 1"):
        tight.matcher([tool("get", deep)])
    assert enforcer.Enforcer(V).matcher([tool("get", deep)]) is not None


@parametrized("cases/api.toml", "formats")
def test_formats_that_are_no_schema(
    served: Enforcer, wanted: dict[str, Any], text: str, other: str
) -> None:
    assert accepts(served, f"{text}<|im_end|>", None, response_format=wanted)
    assert not accepts(served, f"{other}<|im_end|>", None, response_format=wanted)


def test_documents_are_enforced_and_a_clients_are_its_own() -> None:
    uri = "https://schemas.example.com/city"
    mine = enforcer.Enforcer(V, documents=enforcer.Documents({uri: {"const": "Rome"}}))
    refers = {"properties": {"a": {"$ref": uri}}, "required": ["a"], "additionalProperties": False}
    own = {**refers, "$defs": {"mine": {"$id": uri, "const": "Oslo"}}}
    for schema, city in ((refers, "Rome"), (own, "Oslo"), (refers, "Rome")):
        for named in ("Rome", "Oslo"):
            text = section(call("get", 0, f'{{"a": "{named}"}}'))
            assert accepts(mine, text, [tool("get", schema)]) is (named == city)
    with pytest.raises(errors.UnsupportedSchema, match="leads out of this schema"):
        enforcer.Enforcer(V).matcher([tool("get", refers)])


def test_formats_of_texts_may_refer_to_documents() -> None:
    uri = "https://schemas.example.com/city"
    mine = enforcer.Enforcer(V, documents=enforcer.Documents({uri: {"const": "Rome"}}))
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"$ref": uri}}}
    assert accepts(mine, '"Rome"<|im_end|>', [], response_format=wanted)
    assert not accepts(mine, '"Oslo"<|im_end|>', [], response_format=wanted)


def test_what_documents_add_is_bounded() -> None:
    uri = "https://schemas.example.com/long"
    long = enforcer.Documents({uri: {"$comment": "x" * 2_000}})
    options = enforcer.Options(limits=Limits(size=1_000))
    mine = enforcer.Enforcer(V, options=options, documents=long)
    with pytest.raises(errors.SchemaLimit, match="over 1000 characters") as caught:
        mine.matcher([GET, tool("long", {"$ref": uri})])
    assert caught.value.path == "$.tools[1].function.parameters"


class _Message:
    """What OpenAI's client returns."""

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
        assert exclude_none
        return {"role": "assistant", "tool_calls": [{"function": {"name": "get"}}]}


def test_messages_of_a_clients_library_count(served: Enforcer) -> None:
    asked = {"function": {"name": "get", "parameters": {}}, "type": "function"}
    for messages in ([_Message()], [_Message().model_dump(exclude_none=True)]):
        matcher = served.matcher([asked], "required", messages=messages)
        header = served.vocabulary.encode("functions.get:1")
        opening = ("<|tool_calls_section_begin|>", "<|tool_call_begin|>")
        assert all(map(matcher.accept, map(served.vocabulary.control, opening)))
        assert all(map(matcher.accept, header))


def test_a_budget_without_the_option_is_an_error(served: Enforcer) -> None:
    with pytest.raises(errors.ConfigurationError, match="finish_within_budget=True"):
        served.matcher([], budget=3)


def test_tools_tell_the_types_of_raw_values_and_which_calls_are_declared() -> None:
    vocabulary = enforcer.Vocabulary.of_bytes(dialects.load("qwen3_coder").controls)
    e = enforcer.Enforcer(vocabulary, "qwen3_coder")
    schema = {"properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    text = "<function=f>\n<parameter=ok>\ntrUe\n</parameter>\n</function>\n"
    ids = write(vocabulary, f"<tool_call>\n{text}</tool_call><|im_end|>")
    (call,) = e.parse(ids, tools=tools).calls
    assert json.loads(call.arguments) == {"ok": True}
    assert not e.parse(ids, tools=[]).calls


def test_a_parser_reads_as_it_goes_what_parse_reads_at_once() -> None:
    """With all that `parse` takes; of a format whose values have no types but the tools'."""
    vocabulary = enforcer.Vocabulary.of_bytes(dialects.load("qwen3_coder").controls)
    e = enforcer.Enforcer(vocabulary, "qwen3_coder")
    parameters = {"properties": {"a": {"type": "boolean"}}}
    prompt = write(vocabulary, "<|im_start|>assistant\n<think>\n")
    text = write(
        vocabulary,
        "hm</think>\n\n<tool_call>\n<function=get>\n<parameter=a>\ntrue\n</parameter>\n"
        "</function>\n</tool_call><tool_call>\n<function=f>\n</function>\n</tool_call>",
    )
    for names, schemas in ((None, None), ({"get", "f"}, None), (None, {"get": {}})):
        parser = e.parser([tool("get", parameters)], prompt, names, schemas)
        events = [event for token_id in text for event in parser.feed([token_id])]
        whole = e.parse(text, prompt, names, schemas, tools=[tool("get", parameters)])
        assert parser.turn() == whole
        pieces = [event.text for event in events if event.what is enforcer.Happening.ARGUMENTS]
        assert "".join(pieces) == "".join(found.arguments for found in whole.calls)
        assert len(whole.calls) == 1 + (names is not None)
        assert json.loads(whole.calls[0].arguments) == {"a": "true" if schemas else True}
        assert whole.reasoning == "hm"
