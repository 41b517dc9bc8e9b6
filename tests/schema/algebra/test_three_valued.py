r"""What is known of patterns that are read in two ways: "é" matches `\w` by one of them."""

from typing import Any

from enforcer.regex import fullmatch
from enforcer.schema.algebra.normal_form import Algebra
from enforcer.schema.grammar import ALWAYS, NEVER, Formula
from tests.schema_judge import accepts, compiled
from tests.schema_reading import parser_of
from tests.support.cases import each_case
from tests.support.schema_cases import schema_test

UNCLEAR = {"type": "string", "pattern": r"^\w$"}


def parsed(schema: dict[str, Any]) -> tuple[Algebra, Formula]:
    parser = parser_of(schema)
    return parser.algebra, parser.parse(parser.document.root)


@each_case
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


test_schemas = schema_test(__file__)


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
