"""Whatever is passed as an argument: an answer, or an `EnforcerError`, and nothing else."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import enforcer
from enforcer.errors import EnforcerError
from enforcer.request import carrier, history, spec_text, tools
from enforcer.request import response_format as formats
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary
from tests.support import cases
from tests.support.nested import nested
from tests.walks import V, examples, served

DEEP = nested(50_000, lambda inner: [inner], "end")
CIRCLE: dict[object, object] = {}
CIRCLE["self"] = CIRCLE

ODD = [float("nan"), -1, object(), {1, 2}, (), range(3), b"{}", CIRCLE, int, 1j, "\ud800", "$ref"]
WORDS = ["auto", "required", "function", "allowed_tools", "<|tool_call_end|>"]
NUMBERS = st.booleans() | st.integers() | st.floats()
TEXTS = st.text(max_size=8) | st.binary(max_size=4)
FIELDS = ["type", "function", "name", "parameters", "properties", "enum", "mode", "tools", "role"]
FIELDS += ["tool_calls", "id", "$ref", "allOf", "not", "items"]
NAMES = st.sampled_from(FIELDS) | st.text(max_size=3) | st.integers() | st.none()
GARBAGE = st.recursive(
    st.none() | NUMBERS | TEXTS | st.sampled_from([*WORDS, *ODD]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)

REQUEST = cases.schemas("properties/cases/garbage.toml", "requests")["right"]


def places(value: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Give the path of every part of a value."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


PLACES = [path for path in places(REQUEST) if path]


def put(part: Any, path: tuple[int | str, ...], value: Any) -> None:
    """Replace the part of a value that has a path."""
    *way, last = path
    for key in way:
        part = part[key]
    part[last] = value


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a right request, one or two parts of which are garbage."""
    request: dict[str, Any] = copy.deepcopy(REQUEST)
    for path in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=2)):
        with suppress(TypeError, KeyError, IndexError):  # the other damage has taken this part away
            put(request, path, draw(GARBAGE))
    return request


def only_enforcer_errors(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except EnforcerError as error:
        assert str(error).strip()  # noqa: PT017 - any message will do
        return None


def test_the_request_is_right_before_it_is_damaged() -> None:
    served().matcher(**REQUEST)


@examples(150)
@given(damaged())
def test_a_damaged_request(request: dict[str, Any]) -> None:
    only_enforcer_errors(served().matcher, **request)
    only_enforcer_errors(enforcer.extra_body, **request)


@examples(150)
@given(GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE)
def test_garbage(listed: Any, choice: Any, parallel: Any, messages: Any, text_format: Any) -> None:
    only_enforcer_errors(served().matcher, listed, choice, parallel, messages)
    only_enforcer_errors(tools.parse, listed, choice, parallel)
    only_enforcer_errors(history.count_calls, messages)
    only_enforcer_errors(history.normalise, messages, lambda call: f"{call.name}:{call.index}")
    only_enforcer_errors(formats.parse, text_format)
    only_enforcer_errors(spec_text.write, listed, choice, parallel, messages, text_format)


@pytest.mark.parametrize("path", PLACES, ids=str)
@pytest.mark.parametrize("value", [DEEP, CIRCLE, 10**5000], ids=["deep", "circle", "huge"])
def test_what_has_no_end(path: tuple[int | str, ...], value: Any) -> None:
    request = copy.deepcopy(REQUEST)
    put(request, path, value)
    only_enforcer_errors(served().matcher, **request)
    only_enforcer_errors(enforcer.extra_body, **request)


@examples(150)
@given(st.lists(st.integers(-5, V.size + 5), max_size=12))
def test_any_prompt(ids: list[int]) -> None:
    matcher = only_enforcer_errors(served().matcher, REQUEST["tools"], prompt_ids=ids)
    served().parse(ids, ids)
    if matcher is not None:
        assert matcher.accepted == 0


SPEC = spec_text.write(REQUEST["tools"], "auto", True, 0)
DIALECT = (dialects._folder() / "kimi_k2.toml").read_text(encoding="utf-8")


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """Draw a text from which a stretch is taken, into which another is put."""
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.integers(0, 30)))
    return str(
        text[:start] + draw(st.sampled_from(["", '"', "{}", "[", "1", "x", "\n", "}"])) + text[end:]
    )


@examples(150)
@given(st.one_of(GARBAGE, edited(SPEC), GARBAGE.map(lambda value: repr(value)[:200])))
def test_any_spec(text: Any) -> None:
    only_enforcer_errors(spec_text.read, text)
    carrier.from_structural_tag(text)


@examples(150)
@given(st.sampled_from([key for key in json.loads(SPEC)]), GARBAGE)  # noqa: C416
def test_a_forged_spec(field: str, value: Any) -> None:
    try:
        text = json.dumps({**json.loads(SPEC), field: value})
    except (TypeError, ValueError):
        return
    only_enforcer_errors(spec_text.read, text)


@examples(150)
@given(st.one_of(GARBAGE, edited(DIALECT)))
def test_any_dialect(text: Any) -> None:
    only_enforcer_errors(dialects.parse, text)


@examples(150)
@given(GARBAGE)
def test_any_name_of_a_dialect_or_engine(name: Any) -> None:
    only_enforcer_errors(enforcer.Enforcer, V, name)
    only_enforcer_errors(enforcer.Enforcer, V, "kimi_k2", name)


@examples(150)
@given(GARBAGE, GARBAGE)
def test_any_vocabulary(one: Any, other: Any) -> None:
    only_enforcer_errors(Vocabulary, one, other)
    only_enforcer_errors(Vocabulary, [bytes([byte]) for byte in range(256)], other)
    only_enforcer_errors(Vocabulary.from_transformers, one)
    only_enforcer_errors(Vocabulary.from_tokenizer, one)
    only_enforcer_errors(Vocabulary.from_tiktoken, str(one)[:20], other)
