"""Questions, answers and the checker of the package `bfcl-eval`, as it is published.

The package is the dependency group `leaderboard` of pyproject.toml, installed without its
dependencies: modules that its checker imports, but does not use here, are replaced by empty ones.
Nothing of the checker itself is replaced.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.judging.replies import ChatCall

CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel"),
    *("parallel_multiple", "irrelevance", "live_simple", "live_multiple", "live_parallel"),
    *("live_parallel_multiple", "live_irrelevance", "live_relevance"),
)
_MODEL = "model"
_TENACITY = (
    *("retry", "retry_if_exception_message", "retry_if_exception_type"),
    "wait_random_exponential",
)
_UNUSED: dict[str, dict[str, Any]] = {
    # The clients of all models. The checker reads one field: names of functions are sent with
    # underscores, since OpenAI's API allows no dots.
    "bfcl_eval.constants.model_config": {
        "MODEL_CONFIG_MAPPING": {_MODEL: SimpleNamespace(underscore_to_dot=True)}
    },
    # The module makes folders when it is imported.
    "bfcl_eval.utils": {},
    "bfcl_eval.model_handler.parser.java_parser": {"parse_java_function_call": None},
    "bfcl_eval.model_handler.parser.js_parser": {"parse_javascript_function_call": None},
    "tenacity": dict.fromkeys(_TENACITY),
}


class NotInstalledError(Exception):
    """The package is not installed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of one turn.

    Attributes:
        id: as published.
        category: one of `CATEGORIES`.
        messages: of the chat request.
        functions: as published, in the leaderboard's types.
        tools: the same as the leaderboard sends them to OpenAI's API.
        answer: the calls that are right, a list of possible values for each argument; None where
            a category has none.

    """

    id: str
    category: str
    messages: Sequence[Any]
    functions: Sequence[Any]
    tools: Sequence[Any]
    answer: Sequence[Any] | None

    @property
    def is_irrelevant(self) -> bool:
        """Whether no declared function helps, so that the right reply has no call."""
        return "irrelevance" in self.category


@cache
def questions(category: str) -> tuple[Question, ...]:
    """Return the questions of a category, in the order in which they are published.

    Raises:
        NotInstalledError: the package is not installed.

    """
    data = _folder() / "data"
    name = f"BFCL_v4_{category}.json"
    # The two files are in one order; some ids differ.
    answers: list[Any] = []
    if (data / "possible_answer" / name).exists():
        answers = [entry["ground_truth"] for entry in _lines(data / "possible_answer" / name)]
    asked = _lines(data / name)
    return tuple(
        Question(
            entry["id"],
            category,
            entry["question"][0],
            entry["function"],
            _package().tools(entry["function"]),
            answer,
        )
        for entry, answer in zip(asked, answers or [None] * len(asked), strict=True)
    )


def is_right(question: Question, calls: Sequence[ChatCall]) -> bool:
    """Return the checker's verdict on the calls of a reply."""
    if question.answer is None:
        return bool(calls) is not question.is_irrelevant
    decoded = []
    for call in calls:
        try:
            arguments = json.loads(call.arguments)
        except ValueError:
            return False
        if not isinstance(arguments, dict):
            return False
        decoded.append({call.name: arguments})
    language = {"simple_java": "JAVA", "simple_javascript": "JAVASCRIPT"}.get(question.category)
    found = _package().check(
        question.functions,
        decoded,
        question.answer,
        _package().Language[language or "PYTHON"],
        question.category,
        _MODEL,
    )
    return bool(found["valid"])


@cache
def _package() -> SimpleNamespace:
    """Import the package's functions, with empty modules in the place of those in `_UNUSED`."""
    empty = {name: ModuleType(name) for name in _UNUSED}
    for name, members in _UNUSED.items():
        vars(empty[name]).update(members)
    before = {name: sys.modules[name] for name in empty if name in sys.modules}
    sys.modules.update(empty)
    try:
        from bfcl_eval.constants.enums import Language, ModelStyle
        from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
        from bfcl_eval.model_handler.utils import convert_to_tool
    finally:
        for name in empty:
            del sys.modules[name]
        sys.modules.update(before)

    def tools(functions: Sequence[Any]) -> list[Any]:
        style = ModelStyle.OPENAI_COMPLETIONS
        made: list[Any] = convert_to_tool(functions, GORILLA_TO_OPENAPI, style)
        return made

    return SimpleNamespace(Language=Language, check=ast_checker, tools=tools)


def _folder() -> Path:
    found = find_spec("bfcl_eval")
    if found is None or found.origin is None:
        raise NotInstalledError("install bfcl-eval (pyproject.toml, group `leaderboard`)")
    return Path(found.origin).parent


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
