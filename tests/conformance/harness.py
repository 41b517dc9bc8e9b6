"""Runs schemas with known valid and invalid instances through the real engine.

Owns: reading the case files, spelling instances in several forms, the verdict on each
schema, and the comparison with the committed expectations. Must not know: how schemas
are compiled.
"""

import gzip
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from enforcer.engines import ArgumentEngine, CompiledGrammar
from enforcer.errors import EnforcerError, UnsatisfiableSchema
from enforcer.schema import Conventions, Formats, compile_schema
from enforcer.schema.bundling import read_documents
from enforcer.vocabulary import Vocabulary
from tests.shared_data import shared

EXPECTED = Path(__file__).with_name("expected.json")
# Cases that are right by the letter of the standard only, which calls `format` an annotation
# from 2019-09 on; here it is enforced, and the setting `formats` gives the letter back.
_FORMATS = """
email idn-email regex ipv4 ipv6 idn-hostname hostname date date-time time json-pointer
relative-json-pointer iri iri-reference uri uri-reference uri-template uuid duration
"""
DEVIATIONS = frozenset(
    f"draft2020-12/format/{i} {name} format"
    for i, name in enumerate(_FORMATS.split())
    if name != "idn-hostname"  # not known, and so an annotation in every draft
)
LETTER = Conventions(formats=Formats.STANDARD)


class Verdict(Enum):
    """What became of one schema and its instances, worst last."""

    RIGHT = "right"
    # Otherwise than the standard says, on purpose, and right with the setting for its letter.
    DEVIATION = "deviation"
    # Refused as what nothing fits, which no valid instance contradicts.
    UNSATISFIABLE = "unsatisfiable"
    REFUSED = "refused"
    WRONG_REJECT = "wrong reject"
    WRONG_ACCEPT = "wrong accept"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Case:
    """A schema and instances, each with its validity."""

    id: str
    schema: Any
    tests: tuple[tuple[Any, bool], ...]


@dataclass(slots=True)
class Outcome:
    """The verdict on one case, and how many of its tests are right in all forms."""

    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    right: int = 0
    wrong: list[str] = field(default_factory=list)


def maskbench(path: Path) -> Iterator[Case]:
    """Read the MaskBench file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            each = json.loads(line)
            tests = tuple((test["data"], test["valid"]) for test in each["tests"])
            yield Case(f"maskbench/{each['id']}", each["schema"], tests)


def suite(folder: Path, draft: str = "draft2020-12") -> Iterator[Case]:
    """Read the required tests of the official suite, a case for each group.

    The schemas that it calls remote are the operator's documents, by the URIs that it says they are
    served at; what a case refers to of them is in its schema.
    """
    remotes = read_documents([f"http://localhost:1234/{draft}={folder / 'remotes' / draft}"])
    for file in sorted((folder / "tests" / draft).glob("*.json")):
        for i, group in enumerate(json.loads(file.read_text(encoding="utf-8"))):
            tests = tuple((test["data"], test["valid"]) for test in group["tests"])
            schema = json.loads(remotes.bundle(json.dumps(group["schema"])))
            yield Case(f"{draft}/{file.stem}/{i} {group['description']}", schema, tests)


def forms(value: Any, seed: str) -> Iterator[str]:
    """Spell an instance compactly, with default separators, indented, and shuffled."""
    yield json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    yield json.dumps(value)
    yield json.dumps(shuffle(value, random.Random(seed)), ensure_ascii=False, indent=2)


def shuffle(value: Any, chance: random.Random) -> Any:
    """Put the members of every object in a random order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffle(value[name], chance) for name in names}
    return [shuffle(each, chance) for each in value] if isinstance(value, list) else value


def accepts(grammar: CompiledGrammar, vocabulary: Vocabulary, text: str) -> bool:
    """Tell whether a whole text is accepted, token by token."""
    matcher = grammar.matcher()
    return all(map(matcher.accept, vocabulary.encode(text))) and matcher.is_accepting()


def all_cases() -> Iterator[Case]:
    """Read everything that expectations are kept for."""
    yield from suite(shared("cases", "json-schema-test-suite"))
    yield from maskbench(shared("cases", "maskbench", "cases.jsonl.gz"))


def expected() -> dict[str, tuple[str, str]]:
    """Read the cases that are not right: the verdict, and the reason for it."""
    if not EXPECTED.exists():
        return {}
    listed = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return {name: (verdict, reason) for name, (verdict, reason) in listed.items()}


def is_step_back(before: dict[str, tuple[str, str]], name: str, verdict: Verdict) -> bool:
    """Tell whether a verdict is worse than the one on record."""
    worst = [each.value for each in Verdict]
    recorded = before.get(name, (Verdict.RIGHT.value, ""))[0]
    return worst.index(verdict.value) > worst.index(recorded)


def judge(case: Case, engine: ArgumentEngine, vocabulary: Vocabulary) -> Outcome:
    """Check and compile a case's schema, and try all its instances in all forms."""
    outcome = _judge(case, engine, vocabulary, Conventions())
    deviates = case.id in DEVIATIONS and outcome.verdict is not Verdict.RIGHT
    if deviates and _judge(case, engine, vocabulary, LETTER).verdict is Verdict.RIGHT:
        outcome.verdict = Verdict.DEVIATION
    return outcome


def _judge(
    case: Case, engine: ArgumentEngine, vocabulary: Vocabulary, conventions: Conventions
) -> Outcome:
    begun = time.perf_counter()
    try:
        finished = compile_schema(case.schema, conventions=conventions)
        engine.check(finished)
        grammar = engine.compile(finished)
    except UnsatisfiableSchema as error:
        seconds = time.perf_counter() - begun
        if any(valid for _, valid in case.tests):
            return Outcome(Verdict.WRONG_REJECT, f"taken to fit nothing: {error!s:.300}", seconds)
        detail = f"{type(error).__name__}: {error!s:.300}"
        return Outcome(Verdict.UNSATISFIABLE, detail, seconds, len(case.tests))
    except EnforcerError as error:
        seconds = time.perf_counter() - begun
        return Outcome(Verdict.REFUSED, f"{type(error).__name__}: {error!s:.300}", seconds)
    except Exception as error:  # noqa: BLE001 - a crash is a verdict
        return Outcome(Verdict.CRASH, repr(error)[:300], time.perf_counter() - begun)
    outcome = Outcome(Verdict.RIGHT, seconds=time.perf_counter() - begun)
    for value, valid in case.tests:
        wrong = len(outcome.wrong)
        for text in forms(value, case.id):
            try:
                accepted = accepts(grammar, vocabulary, text)
            except EnforcerError as error:
                outcome.verdict, outcome.detail = Verdict.CRASH, str(error)[:300]
                return outcome
            if accepted != valid:
                found = Verdict.WRONG_ACCEPT if accepted else Verdict.WRONG_REJECT
                outcome.wrong.append(f"{found.value}: {text:.300}")
                if outcome.verdict is not Verdict.WRONG_ACCEPT:
                    outcome.verdict = found
        outcome.right += len(outcome.wrong) == wrong
    outcome.detail = outcome.wrong[0] if outcome.wrong else ""
    return outcome
