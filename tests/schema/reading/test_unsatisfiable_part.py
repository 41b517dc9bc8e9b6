"""The part that a schema nothing fits is refused for."""

from tests.support.schema_cases import SchemaCase, each_schema


@each_schema
def test_schemas(case: SchemaCase) -> None:
    case.check()
