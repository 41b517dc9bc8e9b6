"""Cases of schemas: texts that a schema accepts and rejects, or the error that it raises.

A case is a table `[[schemas]]` in the `cases/<module>.toml` beside a test module:

    schema    JSON text
    accepts   texts that fit; `rejects`: texts that do not
    error     the class of the error instead, with a pattern for its message in `match`, the path of
              its first problem in `at`, its keyword in `keyword`, or all of them in
              `problems = ["$.path keyword", …]`
    relaxed   what `on_unsupported="relax"` leaves out, as `problems`; refused otherwise
    root      "object" for the arguments of a call
    options   of `Conventions`
    documents schemas by URI that it may refer to, where the test knows what to do with them
    limits    of `Limits`; an error is then of that limit, without which the schema compiles
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from enforcer import errors
from enforcer.schema import Conventions, Limits, OnUnsupported, Root, compile_schema
from tests.schema_judge import accepts, compiled
from tests.support.cases import read, table_of


@dataclass(frozen=True)
class SchemaCase:
    """One schema, and what is to be found of it."""

    schema: Any
    name: str = ""
    accepts: list[str] = field(default_factory=list)
    rejects: list[str] = field(default_factory=list)
    error: str = ""
    match: str = ""
    at: str | None = None
    keyword: str | None = None
    problems: list[str] | None = None
    relaxed: list[str] = field(default_factory=list)
    root: str = "any"
    documents: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """Return what `compile_schema` is given beside the schema."""
        conventions, limits = Conventions(**self.options), Limits(**self.limits)
        return {"root": Root(self.root), "conventions": conventions, "limits": limits}

    def check(self) -> None:
        """Assert all that the case says."""
        assert self.accepts or self.rejects or self.error or self.relaxed, "the case says nothing"
        if self.error:
            self.check_error()
            return
        given = self.settings()
        if self.relaxed:
            with pytest.raises(errors.UnsupportedSchema) as refused:
                compile_schema(self.schema, **given)
            assert _listed(refused.value.problems) == self.relaxed
            given["on_unsupported"] = OnUnsupported.RELAX
            assert _listed(compile_schema(self.schema, **given).relaxed) == self.relaxed
        grammar = compiled(self.schema, **given)
        assert [text for text in self.accepts if not accepts(grammar, text)] == []
        assert [text for text in self.rejects if accepts(grammar, text)] == []

    def check_error(self) -> None:
        """Assert that compiling raises the error; of an invalid schema also when relaxing."""
        given = self.settings()
        kind: type[errors.SchemaError] = getattr(errors, self.error)
        with pytest.raises(kind, match=self.match or None) as caught:
            compile_schema(self.schema, **given)
        found = caught.value
        assert all(each.reason for each in found.problems)
        assert self.at in (None, found.path)
        assert self.keyword in (None, found.keyword)
        assert self.problems in (None, _listed(found.problems))
        if self.limits:
            compile_schema(self.schema, **{**given, "limits": Limits()})
            assert any(f"(limit `{name}`)" in found.problems[0].reason for name in self.limits)
        if kind in (errors.InvalidSchema, errors.UnsatisfiableSchema):
            with pytest.raises(kind):
                compile_schema(self.schema, on_unsupported=OnUnsupported.RELAX, **given)


def _listed(problems: Iterable[errors.Problem]) -> list[str]:
    return [f"{each.path} {each.keyword}".strip() for each in problems]


def cases_of(path: Path) -> list[SchemaCase]:
    """Return the cases of a file."""
    tables = read(path, "schemas")
    return [SchemaCase(**{k: v for k, v in each.items() if v is not None}) for each in tables]


def schema_test(
    file: str, check: Callable[[SchemaCase], None] = SchemaCase.check
) -> Callable[[SchemaCase], None]:
    """Return a test that checks each of the cases `schemas` beside a module."""
    cases = cases_of(table_of(file))
    rows = [pytest.param(each, id=each.name or json.dumps(each.schema)[:60]) for each in cases]

    def test(case: SchemaCase) -> None:
        check(case)

    marked: Callable[[SchemaCase], None] = pytest.mark.parametrize("case", rows)(test)
    return marked
