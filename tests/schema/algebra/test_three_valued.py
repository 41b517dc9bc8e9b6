r"""What is known of patterns that are read in two ways: "é" matches `\w` by one of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.regex import fullmatch
from enforcer.schema.grammar import ALWAYS, NEVER
from tests.schema_judge import accepts, compiled
from tests.schema_reading import parser_of

if TYPE_CHECKING:
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula


UNCLEAR = {"type": "string", "pattern": r"^\w$"}
CLEAR = {"type": "string", "pattern": "^[a-z]"}


def parsed(schema: dict[str, Any]) -> tuple[Algebra, Formula]:
    parser = parser_of(schema)
    return parser.algebra, parser.parse(parser.document.root)


@pytest.mark.parametrize(
    ("schema", "exact"),
    [
        (CLEAR, True),
        (UNCLEAR, False),
        ({"not": UNCLEAR}, False),
        ({"oneOf": [CLEAR, {"properties": {"a": UNCLEAR}}]}, False),
        ({"items": {"anyOf": [CLEAR, {"contains": UNCLEAR}]}}, False),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, True),
        (
            {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}, **UNCLEAR}}, "$ref": "#/$defs/a"},
            False,
        ),
    ],
)
def test_what_has_unknowns_is_told(schema: dict[str, Any], exact: bool) -> None:
    algebra, formula = parsed(schema)
    # Asked of a schema that has another unclear pattern somewhere, too.
    algebra.three_valued.add(algebra.unknown("elsewhere"), ALWAYS)
    assert algebra.three_valued.is_exact(formula) is exact
    assert (algebra.three_valued.widened(formula) == formula) is exact


def test_widened_is_what_is_true_or_unknown() -> None:
    algebra, formula = parsed(UNCLEAR)
    wide = algebra.three_valued.widened(formula)
    for part, members in ((formula, "a"), (wide, "aé"), (algebra.neg(formula), "-")):
        strings = algebra.normal(part).strings
        assert [x for x in "aé-" if fullmatch(strings, x)] == list(members)
    assert algebra.three_valued.widened(wide) == wide


def test_constants_are_never_unknown() -> None:
    algebra, _ = parsed(UNCLEAR)
    assert algebra.three_valued.widened(NEVER) == NEVER
    assert algebra.three_valued.widened(ALWAYS) == ALWAYS


@pytest.mark.parametrize(
    ("schema", "accepted"),
    [
        (UNCLEAR, ["a"]),
        ({"type": "string", "not": UNCLEAR}, ["-"]),
        # Exactly one holds only if the other surely fails.
        ({"oneOf": [{"type": "string"}, UNCLEAR]}, ["-"]),
        ({"oneOf": [UNCLEAR, {"type": "string"}]}, ["-"]),
        ({"oneOf": [UNCLEAR, {"type": "integer"}]}, ["a"]),
        ({"anyOf": [UNCLEAR, {"type": "string"}]}, ["a", "é", "-"]),
        ({"not": {"not": UNCLEAR}, "type": "string"}, ["a"]),
    ],
)
def test_nothing_is_accepted_that_one_reading_refuses(
    schema: dict[str, Any], accepted: list[str]
) -> None:
    grammar = compiled(schema)
    assert [x for x in "aé-" if accepts(grammar, json.dumps(x, ensure_ascii=False))] == accepted


def test_what_asks_of_itself_before_it_has_been_read_is_read_once() -> None:
    child = {"properties": {"kid": {"$ref": "#/$defs/node"}}, "required": ["kid"]}
    node = {"type": "object", "if": child, "then": {"required": ["name"]}}
    schema = {
        "$defs": {"node": node},
        "properties": {"word": UNCLEAR},
        "if": {"properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"]},
        "then": {"required": ["word"]},
    }
    grammar = compiled({"type": "object", **schema})
    assert accepts(grammar, '{"root": {}, "word": "a"}')
    assert accepts(grammar, '{"word": "a", "root": {"name": 1, "kid": {}}}')
    assert not accepts(grammar, '{"root": {}}')
