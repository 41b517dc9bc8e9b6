"""The schemas, and the calls that fit them and those that do not.

Owns: which cases are taken, and the judge of their instances: `jsonschema` together with the
case's own label. Must not know: engines.

Taken are schemas with an instance that fits and is an object, as the arguments of a call are. The
order is that of a hash of their names, so that a larger sample contains a smaller one and no
source comes first. An instance on which the two judges disagree is left out and counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import jsonschema_specifications  # type: ignore[import-untyped]
import referencing.exceptions

from tests.conformance.harness import maskbench, shuffle

_BESIDE = Path(__file__).resolve().parents[3] / "shared"
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Case:
    """A schema with its instances as JSON texts.

    Attributes:
        id: the name in its collection.
        schema: the JSON Schema.
        valid: texts that fit, in the order of their properties as written.
        invalid: texts that do not.
        shuffled: all of them with the members of each object in another order, and whether
            they fit.

    """

    id: str
    schema: Any
    valid: tuple[str, ...]
    invalid: tuple[str, ...]
    shuffled: tuple[tuple[str, bool], ...]


@dataclass(slots=True)
class Sample:
    """What was taken.

    Attributes:
        cases: in order.
        disputed: instances that were left out since the label and `jsonschema` disagree.
        unjudged: schemas that were left out since `jsonschema` cannot judge them.

    """

    cases: list[Case]
    disputed: int = 0
    unjudged: int = 0


def collected() -> list[tuple[str, Any, tuple[tuple[Any, bool], ...]]]:
    """Read the collection: name, schema, and instances with their labels.

    Raises:
        FileNotFoundError: this machine does not have it.

    """
    root = Path(os.environ.get("ENFORCER_SHARED", _BESIDE))
    file = root / "cases" / "maskbench" / "cases.jsonl.gz"
    return [(case.id, case.schema, case.tests) for case in maskbench(file)]


def sample(
    collection: Iterable[tuple[str, Any, Iterable[tuple[Any, bool]]]], schemas: int
) -> Sample:
    """Take so many schemas of a collection, the same ones each time."""
    found = Sample([])
    for name, schema, tests in sorted(collection, key=lambda each: _rank(each[0])):
        if len(found.cases) == schemas:
            break
        objects = [(value, label) for value, label in tests if isinstance(value, dict)]
        if not any(label for _, label in objects):
            continue
        try:
            judged = [(value, label, _fits(schema, value)) for value, label in objects]
        except (
            jsonschema.SchemaError,
            referencing.exceptions.Unresolvable,
            ValueError,  # a regular expression that Python does not read
            RecursionError,
        ):
            found.unjudged += 1
            continue
        agreed = [(value, label) for value, label, fits in judged if label == fits]
        found.disputed += len(judged) - len(agreed)
        case = _case(name, schema, agreed)
        if case.valid:
            found.cases.append(case)
    return found


def _rank(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _fits(schema: Any, value: Any) -> bool:
    """Ask `jsonschema`, formats checked; nothing is fetched over a network."""
    base = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    base.check_schema(schema)
    registry = jsonschema_specifications.REGISTRY
    return bool(base(schema, registry=registry, format_checker=base.FORMAT_CHECKER).is_valid(value))


def _case(name: str, schema: Any, tests: Iterable[tuple[Any, bool]]) -> Case:
    chance = random.Random(name)
    whole = [(value, label) for value, label in tests if _is_text(value)]
    return Case(
        name,
        schema,
        tuple(_text(value) for value, label in whole if label),
        tuple(_text(value) for value, label in whole if not label),
        tuple((_text(shuffle(value, chance)), label) for value, label in whole),
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_text(value: Any) -> bool:
    """Tell whether a value can be written in UTF-8, which half a character cannot."""
    try:
        _text(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def lines(cases: Iterable[Case]) -> Iterator[str]:
    """Write cases for another process, a line each."""
    for case in cases:
        yield json.dumps([case.id, case.schema, case.valid, case.invalid, case.shuffled])


def read(line: str) -> Case:
    """Read what `lines` has written."""
    name, schema, valid, invalid, shuffled = json.loads(line)
    both = tuple((text, fits) for text, fits in shuffled)
    return Case(name, schema, tuple(valid), tuple(invalid), both)
