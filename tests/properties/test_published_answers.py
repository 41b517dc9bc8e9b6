"""The right answers that a leaderboard publishes, token by token: those that fit are legal."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema
import pytest

import enforcer
from bench.demo.leaderboard import published
from bench.formats import writers
from enforcer.errors import UnsatisfiableSchema
from enforcer.request import tools
from enforcer.request.spec import Spec
from enforcer.vllm.config import settings
from tests.formats import ours, vocabularies
from tests.support import cases

pytestmark = pytest.mark.slow

OPTIONS = {"library": enforcer.Options(), "server": settings.read({}).options}

_CASES = cases.load("properties/cases/published_answers.toml")
REJECTED: dict[str, str] = _CASES["rejected"]
UNDECLARED = set(_CASES["undeclared"])
# Answers that fit and are blocked: on a server, where objects are closed.
BLOCKED: dict[str, set[str]] = {"library": set(), "server": UNDECLARED}


@dataclass(frozen=True, slots=True)
class Answer:
    """The calls of an answer, each argument with the first of its possible values."""

    question: published.Question
    calls: tuple[writers.Call, ...]
    fits: bool


def chosen(possible: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first possible value of each name; an empty one says that it may be missing."""
    given = {
        name: [each for each in values if each != ""] if isinstance(values, list) else [values]
        for name, values in possible.items()
    }
    return {name: values[0] for name, values in given.items() if values}


def argument(possible: Any) -> Any:
    """Return a value without its alternatives, which members of objects have as well."""
    if isinstance(possible, dict):
        return chosen(possible)
    return [argument(each) for each in possible] if isinstance(possible, list) else possible


def turned(given: Any) -> Any:
    """Return a value with the members of its objects in the other order."""
    if isinstance(given, dict):
        return {name: turned(each) for name, each in reversed(given.items())}
    return [turned(each) for each in given] if isinstance(given, list) else given


@cache
def questions() -> list[published.Question]:
    try:
        return [each for name in published.CATEGORIES for each in published.questions(name)]
    except published.NotInstalledError as error:
        pytest.skip(str(error))


@cache
def answers() -> list[Answer]:
    return [made(each) for each in questions() if each.answer and each.id not in REJECTED]


def made(question: published.Question) -> Answer:
    functions = [tool["function"] for tool in question.tools]
    schemas = {each["name"]: each["parameters"] for each in functions}
    calls = tuple(
        writers.Call(
            name.replace(".", "_"),
            {key: argument(first) for key, first in chosen(possible).items()},
        )
        for call in question.answer
        for name, possible in call.items()
    )
    fits = all(
        jsonschema.Draft202012Validator(schemas[call.name]).is_valid(call.arguments)
        for call in calls
    )
    return Answer(question, calls, fits)


def spec(question: published.Question, choice: str = "auto") -> Spec:
    return Spec(tools.parse(question.tools, choice, parallel_tool_calls=None), first_index=0)


@pytest.mark.parametrize("options", OPTIONS)
def test_declarations_that_nothing_fits_are_the_only_ones_rejected(options: str) -> None:
    served = enforcer.Enforcer(vocabularies.vocabulary("kimi_k2"), options=OPTIONS[options])
    rejected = {}
    for question in questions():
        try:
            served.check(spec(question))
        except UnsatisfiableSchema as error:
            rejected[question.id] = error.path
    assert len(questions()) == 3_641
    assert rejected.keys() == REJECTED.keys()
    assert all(rejected[name].endswith(path) for name, path in REJECTED.items())


@cache
def turns(name: str) -> list[tuple[Answer, str, list[int]]]:
    """Write each answer twice: as published, and with a call demanded and in the other order."""
    found = []
    for answer in answers():
        other = tuple(writers.Call(call.name, turned(call.arguments)) for call in answer.calls)
        for choice, calls in (("auto", answer.calls), ("required", other)):
            text = writers.write(name, writers.Turn(calls=calls))
            found.append((answer, choice, vocabularies.ids(name, text)))
    return found


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["kimi_k2", "hermes"])
def test_answers_that_fit_are_never_blocked_and_others_always(name: str, options: str) -> None:
    served = enforcer.Enforcer(vocabularies.vocabulary(name), name, options=OPTIONS[options])
    prompt = ours.prompt(name)
    blocked, let_through = set(), set()
    for answer, choice, ids in turns(name):
        matcher = served.start(spec(answer.question, choice), prompt)
        legal = all(map(matcher.accept, ids))
        if answer.fits and not legal:
            blocked.add(answer.question.id)
        if legal and not answer.fits:
            let_through.add(answer.question.id)
    assert len(turns(name)) == 5_000
    assert blocked == BLOCKED[options]
    assert not let_through
