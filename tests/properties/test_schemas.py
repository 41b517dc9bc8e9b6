"""What holds of every schema: acceptance is validity, in every form and along every mask.

`SCHEMA_EXAMPLES=200000 python -m pytest tests/properties/test_schemas.py` draws so many
examples in all instead of the usual number; add `--hypothesis-seed=N` for another set.
"""

import json
import os
import re
from collections.abc import Iterable
from decimal import Decimal
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from enforcer.engines import CompiledGrammar
from enforcer.errors import SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema import (
    ArgumentGrammar,
    Conventions,
    Formats,
    Integers,
    OnUnsupported,
    Root,
    compile_schema,
)
from tests.drawn_json import DIALECTS, DRAFT4, DRAFT7, Dialect
from tests.instance_strategies import instances
from tests.schema_judge import accepts, compiled, engine, is_valid, walk
from tests.schema_strategies import schemas
from tests.second_source import from_schema
from tests.spelled_json import COMPACT, DEFAULT, INDENTED, Form, spell

pytestmark = [pytest.mark.slow]

SEEDS = st.integers(0, 2**32)
USUAL = 2100
EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", USUAL))


def share(part: float) -> settings:
    """Give the settings of a property that takes such a part of all examples."""
    return settings(
        max_examples=max(round(EXAMPLES * part), 1),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


if EXAMPLES > USUAL:
    pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]


def judged(schema: dict[str, Any], value: Any, *, digits: bool = False) -> bool | None:
    """Ask the validator; skip the example where it recurses without end, fails, or errs.

    With `digits`, no float is an integer, and formats are judged whatever the draft.

    It looks for the length of `items`, a boolean, beside `unevaluatedItems` of 2019-09. The
    end of the stack may be met inside a mapping of its, written in Rust, which panics.
    """
    if errs(schema):
        event("the validator errs: unevaluatedProperties of 2019-09")
        assume(False)
    try:
        return is_valid(schema, value, formats=digits or asserts_formats(schema), digits=digits)
    except (RecursionError, TypeError) as error:
        event(f"the validator fails: {type(error).__name__}")
    except BaseException as error:
        if "RecursionError" not in str(error):
            raise
        event("the validator fails: RecursionError")
    assume(False)
    return None


def errs(schema: dict[str, Any]) -> bool:
    """Tell whether the validator may misjudge `unevaluatedProperties` of 2019-09.

    What `additionalProperties`, or another `unevaluatedProperties`, has evaluated by a schema is
    not seen (`jsonschema` 4.26): it takes that schema's keywords for names of properties.
    """
    if not isinstance(schema, dict) or "2019-09" not in schema.get("$schema", ""):
        return False
    text = json.dumps(schema)
    asking = text.count('"unevaluatedProperties"')
    return asking > 1 or (asking == 1 and '"additionalProperties": {' in text)


def asserts_formats(schema: dict[str, Any]) -> bool:
    named = schema.get("$schema", "") if isinstance(schema, dict) else ""
    return next(d for d in DIALECTS if d.uri == named).asserts_formats


def compiled_or_not(schema: dict[str, Any], **options: Any) -> CompiledGrammar | None:
    """Compile; None if the schema is refused by name, which an event tells."""
    try:
        return compiled(schema, **options)
    except UnsatisfiableSchema:
        event("unsatisfiable")
    except UnsupportedSchema as error:
        event(f"refused: {type(error).__name__} {error.keyword}")
        named(error)
    else:
        event("compiled")
    return None


def named(error: UnsupportedSchema) -> None:
    """Require of a refusal that it says where, and why."""
    assert all(problem.path.startswith("$") for problem in error.problems)
    assert all(problem.reason for problem in error.problems)


# Beyond the bounds of every text, see docs/schema-support.md: indentation by more than 64
# characters, which takes 16 levels; more than 49 digits; exponents beyond 300.
_UNWRITTEN = re.compile(
    r"\n[ \t]{65}|[0-9]{50}|[0-9][eE][-+]?0*(?:30[1-9]|3[1-9][0-9]|[4-9][0-9]{2})"
)


def texts(schema: dict[str, Any], value: Any, random: Random) -> list[str]:
    """Spell a value in the printers' forms and in two at random."""
    # Divisors other than 1 are enforced on plain decimals only; see docs/schema-support.md.
    free = "multipleOf" not in json.dumps(schema)
    forms = [COMPACT, DEFAULT, INDENTED, *(Form.drawn(random, numbers=free) for _ in range(2))]
    spelled = (spell(value, form, random) for form in forms)
    spelled = (text for text in spelled if not _UNWRITTEN.search(text))
    return [text for text in spelled if free or not re.search("[0-9][eE][-+]?[0-9]", text)]


def check(schema: dict[str, Any], grammar: CompiledGrammar, value: Any, random: Random) -> None:
    """Require of all spellings of a value that acceptance is validity."""
    if is_read_as_another(schema, value):
        return
    valid = judged(schema, value)
    event(f"instance valid: {valid}")
    for text in texts(schema, value, random):
        assert accepts(grammar, text, random) == valid, (
            f"{'valid' if valid else 'invalid'} {text!r} by {json.dumps(schema)}"
        )


def is_read_as_another(schema: dict[str, Any], value: Any) -> bool:
    """Tell whether a pattern may read a value in two ways: by `.` and an odd line end."""
    if isinstance(value, dict):
        return any(is_read_as_another(schema, each) for each in (*value, *value.values()))
    if isinstance(value, list):
        return any(is_read_as_another(schema, each) for each in value)
    odd = isinstance(value, str) and re.search("[\r\u2028\u2029]", value)
    return bool(odd) and '"pattern' in json.dumps(schema)


def schema_and_values(data: st.DataObject, *which: Any) -> tuple[dict[str, Any], list[Any]]:
    """Draw a schema of a dialect and a depth, and three values that may fit it."""
    schema = data.draw(schemas(*which))
    return schema, [data.draw(instances(schema, *which[:1])) for _ in range(3)]


# 1. Acceptance is validity


@share(0.4)
@given(st.data(), SEEDS)
def test_what_is_valid_is_accepted_and_nothing_else(data: st.DataObject, seed: int) -> None:
    schema, values = schema_and_values(data)
    grammar = compiled_or_not(schema)
    if grammar is not None:
        for value in values:
            check(schema, grammar, value, Random(seed))


@share(0.15)
@given(st.data(), st.sampled_from(DIALECTS), SEEDS)
def test_every_draft_by_its_own_rules(data: st.DataObject, dialect: Dialect, seed: int) -> None:
    schema, values = schema_and_values(data, dialect, 2)
    grammar = compiled_or_not(schema, conventions=Conventions(Formats.STANDARD))
    if grammar is not None:
        for value in values:
            if dialect is DRAFT4:  # spells integers without a fraction
                if has_integer_with_point(value) or is_read_as_another(schema, value):
                    continue
                valid = judged(schema, value)
                assert accepts(grammar, spell(value, COMPACT, Random(seed))) == valid
            else:
                check(schema, grammar, value, Random(seed))


def has_integer_with_point(value: Any) -> bool:
    """Tell whether a value has a number that draft 4 takes for no integer, as 2.0."""
    if isinstance(value, dict):
        return any(map(has_integer_with_point, value.values()))
    if isinstance(value, list):
        return any(map(has_integer_with_point, value))
    return isinstance(value, float) and value.is_integer()


@share(0.1)
@given(st.data(), st.sampled_from([DRAFT4, DRAFT7]), SEEDS)
def test_integers_only_in_digits_if_asked(data: st.DataObject, dialect: Dialect, seed: int) -> None:
    # Draft 4 says so itself; a schema of draft 7 that is asked for it is judged as if it did.
    schema, values = schema_and_values(data, dialect, 2)
    digits = Integers.DIGITS if dialect is DRAFT7 else Integers.VALUE
    grammar = compiled_or_not(schema, conventions=Conventions(Formats.STANDARD, integers=digits))
    assume(grammar is not None)
    for value in values:
        if is_read_as_another(schema, value):
            continue
        for text in (*texts(schema, value, Random(seed)), with_points(value)):
            if accepts(grammar, text):
                assert judged(schema, json.loads(text), digits=True), text
                event("valid")


def with_points(value: Any) -> str:
    """Write a value with a point in each of its numbers."""
    return re.sub(r"(?<![\w.\"-])-?\d+(?![\w.\"])", r"\g<0>.0", json.dumps(value))


@share(0.1)
@given(st.data(), SEEDS)
def test_instances_of_another_source(data: st.DataObject, seed: int) -> None:
    schema = data.draw(schemas(DRAFT7, 2, references=False))
    grammar = compiled_or_not(schema)
    assume(grammar is not None)
    try:
        value = data.draw(from_schema(schema))
    except (ValueError, AssertionError, InvalidArgument, jsonschema.SchemaError):
        event("the other source gives up")  # or trips over an assertion of its own
        assume(False)
    assume(within_bounds(value))
    check(schema, grammar, value, Random(seed))


def within_bounds(value: Any) -> bool:
    """Tell whether numbers stay within what docs/schema-support.md says of their spelling."""
    if isinstance(value, dict):
        return all(map(within_bounds, value.values()))
    if isinstance(value, list):
        return all(map(within_bounds, value))
    if isinstance(value, int):
        return abs(value) < 10**15  # written with an exponent, its digits are a fraction's
    if not isinstance(value, float) or value == 0:
        return True
    return 1e-299 < abs(value) < 1e300 and not is_next_to_an_integer(value)


def is_next_to_an_integer(value: Any) -> bool:
    """Tell whether it takes more than 16 digits to tell a fraction from an integer."""
    whole, _, behind = f"{abs(Decimal(repr(value))):f}".partition(".")
    first = set(behind[: max(16 - len(whole), 0)])
    return not value.is_integer() and (first <= {"9"} or (first <= {"0"} and whole != "0"))


@share(0.05)
@given(st.data(), SEEDS)
def test_an_object_at_the_root_is_an_object(data: st.DataObject, seed: int) -> None:
    schema = data.draw(schemas())
    value = data.draw(instances(schema))
    assume(within_bounds(value))
    try:
        grammar = compiled(schema, root=Root.OBJECT)
    except UnsupportedSchema:
        assume(False)
    wanted = isinstance(value, dict) and judged(schema, value)
    assert accepts(grammar, spell(value, DEFAULT, Random(seed))) == wanted


# 2. What masks allow is valid


@share(0.2)
@given(st.data(), SEEDS)
def test_samples_are_valid_and_accepted_in_every_form(data: st.DataObject, seed: int) -> None:
    schema = data.draw(schemas())
    grammar = compiled_or_not(schema)
    assume(grammar is not None)
    random = Random(seed)
    for _ in range(3):
        found = walk(grammar, random)
        if found is None:
            event("endless walk")
            continue
        text = found.decode()  # always UTF-8
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # no lone surrogate
        assert judged(schema, value), f"invalid {text!r} by {json.dumps(schema)}"
        assert accepts(grammar, text, random)
        if within_bounds(value) and not repeats_itself(text):
            check(schema, grammar, value, random)


def repeats_itself(text: str) -> bool:
    """Tell whether a property name occurs twice in one object."""
    repeated = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        repeated = repeated or len({name for name, _ in members}) < len(members)
        return dict(members)

    json.loads(text, object_pairs_hook=pairs)
    return repeated


# 3. Refusals


@share(0.1)
@given(st.data())
def test_what_is_called_unsatisfiable_has_no_instance(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    try:
        compile_schema(schema)
    except UnsatisfiableSchema:
        for _ in range(3):
            assert not judged(schema, data.draw(instances(schema)))
    except UnsupportedSchema:
        pass


@share(0.05)
@given(st.data(), SEEDS)
def test_relaxed_is_a_superset_that_says_so(data: st.DataObject, seed: int) -> None:
    schema, values = schema_and_values(data)
    try:
        grammar = compile_schema(schema)
    except (SchemaLimit, UnsatisfiableSchema):
        return
    except UnsupportedSchema as error:
        relaxed = relaxed_or_not(schema, values)
        if relaxed is None:
            return
        left_out = {problem.keyword for problem in relaxed.relaxed}
        assert {problem.keyword for problem in error.problems} <= left_out  # noqa: PT017 - of the other outcome, too
        try:
            usable = engine().compile(relaxed)
        except UnsupportedSchema:
            event("only the engine refuses")  # where nothing can be left out any more
            return
        for value in values:
            if judged(schema, value):
                assert accepts(usable, spell(value, DEFAULT, Random(seed)))
    else:
        assert grammar.relaxed == ()


def relaxed_or_not(schema: dict[str, Any], values: Iterable[Any]) -> ArgumentGrammar | None:
    """Compile the nearest superset; None where there is none, as for what nothing fits."""
    try:
        return compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    except SchemaLimit:
        return None
    except UnsatisfiableSchema:
        assert not any(judged(schema, value) for value in values)
        return None
    except UnsupportedSchema as error:
        assert error.keyword == "$ref"  # noqa: PT017 - a loop of references has no meaning to relax
        return None
