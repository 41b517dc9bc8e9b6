import json
import re
from contextlib import chdir
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from enforcer import errors
from enforcer.numbers import decimals, multiples, scientific
from enforcer.regex.formats import FORMATS
from enforcer.schema import Conventions, Integers, Limits, OnUnsupported, compile_schema, keywords
from enforcer.schema.bundling.documents import Documents
from enforcer.schema.reading import unevaluated
from enforcer.spelling import INDENTATION
from tests.schema_judge import accepts, compiled

ROOT = Path(__file__).parents[2]
PAGE = ROOT.joinpath("docs", "schema-support.md").read_text(encoding="utf-8")
# Those for which the page has no room, in the same notation.
MORE = Path(__file__).with_name("examples.md").read_text(encoding="utf-8")
_BLOCK = re.compile(
    r"^```(schema|relaxed|closed|digits|documents)\n(.*?)^```", re.DOTALL | re.MULTILINE
)
SHOWN = _BLOCK.findall(PAGE)
BLOCKS = SHOWN + _BLOCK.findall(MORE)


OPTIONS: dict[str, dict[str, Any]] = {
    "schema": {},
    "relaxed": {"on_unsupported": OnUnsupported.RELAX},
    "closed": {"conventions": Conventions(closed_objects=True)},
    "digits": {"conventions": Conventions(integers=Integers.DIGITS)},
    "documents": {},
}


@cache
def provided() -> Documents:
    """Give the documents of the page's example."""
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    given: dict[str, Any] = {}
    with chdir(ROOT):
        exec(example, given)  # noqa: S102 - ours
    found: Documents = given["e"].documents
    return found


def table(heading: str) -> dict[str, int]:
    section = re.split(rf"\n##+ {heading}\n", PAGE)[1].split("\n##")[0]
    return {
        key.strip("`"): int(value) for key, value in re.findall(r"\| (.+?) \| (\d+) \|", section)
    }


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "block"), BLOCKS, ids=[each.split("\n")[0] for _, each in BLOCKS])
def test_every_example_is_as_the_page_says(kind: str, block: str) -> None:
    source, *claims = block.strip().split("\n")
    schema = json.loads(provided().bundle(source) if kind == "documents" else source)
    assert claims
    options = OPTIONS[kind]
    for claim in claims:
        sign, text = claim.split(" ", 1)
        if sign == "!" and kind == "relaxed":
            (left_out,) = compile_schema(schema, **options).relaxed
            assert f"{left_out.path} {left_out.keyword}" == text
        elif sign == "!":
            with pytest.raises(errors.SchemaError) as caught:
                compiled(schema)
            found = caught.value
            assert f"{type(found).__name__} {found.path} {found.keyword}".strip() == text
        else:
            assert sign in "✓✗"
            assert accepts(compiled(schema, **options), text.replace("⏎", "\n")) == (sign == "✓")


def test_the_page_has_every_part() -> None:
    assert len(BLOCKS) > 40
    assert set(OPTIONS) == {kind for kind, _ in SHOWN}


def test_the_table_has_every_keyword() -> None:
    section = PAGE.split("\n## Keywords\n")[1].split("\n###")[0]
    content = {"contentEncoding", "contentMediaType", "contentSchema"}
    asserted = set(keywords.KEYWORDS) - keywords.ANNOTATIONS - content
    assert asserted <= set(re.findall(r"`(\$?\w+)`", section))


def test_the_limits_are_the_defaults() -> None:
    assert table("Limits") == asdict(Limits())


def test_the_bounds_are_those_of_the_code() -> None:
    assert table("Bounded") == {
        "spaces between two tokens on one line": 1,
        "characters of indentation after a line break": INDENTATION,
        "digits before the point": decimals.DIGITS + 1,
        "digits behind the point": decimals.PLACES,
        "exponent": scientific._EXPONENT,
        "exponent of an integer of one digit": 99,
    }
    assert f"over {multiples.MOST_TOGETHER} together" in PAGE
    assert PAGE.count(f"in more than {unevaluated._MOST_CASES} ways") == 2


def at_the_bound(schema: dict[str, Any], fits: str, over: str) -> tuple[bool, bool]:
    grammar = compiled(schema)
    return accepts(grammar, fits), accepts(grammar, over)


def test_the_bounds_are_those_of_the_grammar() -> None:
    bounds = table("Bounded")
    indent = bounds["characters of indentation after a line break"]
    whole, places = bounds["digits before the point"], bounds["digits behind the point"]
    exponent = bounds["exponent"]
    of_integers = bounds["exponent of an integer of one digit"]
    only = (True, False)
    assert at_the_bound({}, "[ 1]", "[  1]") == only
    assert at_the_bound({}, f"[\n{' ' * indent}1]", f"[\n{' ' * (indent + 1)}1]") == only
    for named in ("number", "integer"):
        assert at_the_bound({"type": named}, "1" * whole, "1" * (whole + 1)) == only
    assert at_the_bound({"type": "number"}, f"1e{exponent}", f"1e{exponent + 1}") == only
    assert at_the_bound({"type": "integer"}, f"1e{of_integers}", f"1e{of_integers + 1}") == only
    assert at_the_bound({}, f"0.{'1' * places}", f"0.{'1' * (places + 1)}") == only


def test_the_formats_are_those_of_the_code() -> None:
    rows = PAGE.split("| `format` | after |\n|---|---|\n")[1].split("\n\n")[0]
    cells = re.findall(r"^\| (.+?) \| .+ \|$", rows, re.MULTILINE)
    assert len(cells) == len(rows.split("\n"))
    listed = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(listed) == sorted(FORMATS | {"regex"})
