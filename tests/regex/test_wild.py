"""Patterns that people have written: real schemas, and the official test suite."""

import gzip
import json
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from enforcer.regex import NOTHING, RegexBudget, RegexError, example, fullmatch, not_matching, parse
from enforcer.regex.syntax import Regex
from tests.shared_data import shared
from tests.string_texts import StringTexts, spellings

pytestmark = pytest.mark.slow

_ALPHABET = 'abZ019-_. /\\"\n\té٣😀\x7f\ufeff\u2028'


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        groups = schema.get("patternProperties")
        if isinstance(groups, dict):
            yield from groups
        for inner in schema.values():
            yield from _patterns(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _patterns(inner)


@pytest.fixture(scope="module")
def wild() -> list[str]:
    found: Counter[str] = Counter()
    with gzip.open(shared("cases", "maskbench", "cases.jsonl.gz"), "rt") as lines:
        for line in lines:
            if '"pattern' in line:
                found.update(_patterns(json.loads(line)["schema"]))
    return sorted(found)


@pytest.fixture(scope="module")
def official() -> list[str]:
    folder = shared("cases", "json-schema-test-suite", "tests", "draft2020-12")
    found: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.json")):
        found.update(_patterns(json.loads(path.read_text())))
    return sorted(found)


def _parsed(patterns: Iterable[str]) -> tuple[list[tuple[str, Regex]], list[tuple[str, str]]]:
    parsed, refused = [], []
    for pattern in patterns:
        try:
            parsed.append((pattern, parse(pattern)))
        except RegexError as error:
            refused.append((pattern, error.reason))
    return parsed, refused


def _report(name: str, parsed: list[tuple[str, Regex]], refused: list[tuple[str, str]]) -> None:
    print(f"\n{name}: {len(parsed)} patterns parsed, {len(refused)} refused")  # noqa: T201
    for pattern, reason in refused:
        print(f"  {pattern[:80]!r}: {reason}")  # noqa: T201


def test_real_schemas_patterns_are_hardly_ever_refused(wild: list[str]) -> None:
    parsed, refused = _parsed(wild)
    _report("real schemas", parsed, refused)
    assert len(parsed) > 1000
    assert len(refused) <= 1


def test_the_suites_patterns_are_all_read(official: list[str]) -> None:
    parsed, refused = _parsed(official)
    _report("test suite", parsed, refused)
    assert len(parsed) > 30
    assert not refused


def _near(text: str, chance: Random) -> Iterator[str]:
    """Change a text a little, so that it is now a member and now not."""
    yield text
    for _ in range(3):
        at = chance.randint(0, len(text))
        yield text[:at] + chance.choice(_ALPHABET) + text[at + chance.randint(0, 1) :]


def test_real_patterns_mean_what_python_says_and_what_the_engine_accepts(wild: list[str]) -> None:
    chance = random.Random(7)
    compared: Counter[bool] = Counter()
    for pattern, language in _parsed(wild)[0]:
        if language == NOTHING:
            continue
        written = StringTexts(language)
        try:
            member = example(language, budget=2000)
        except RegexBudget:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            try:
                python = re.compile(pattern)
            except re.error:
                python = None
        for text in _near(member, chance):
            accepted = fullmatch(language, text)
            compared[accepted] += 1
            spelling = "".join(chance.choice(spellings(c)) for c in text)
            assert written.accepts(f'"{spelling}"') == accepted, (pattern, spelling)
            if python and accepted:
                assert python.search(text), (pattern, text)
            if python and fullmatch(not_matching(pattern), text):
                assert not python.search(text), (pattern, text)
    assert compared[True] > 1000
    assert compared[False] > 500
