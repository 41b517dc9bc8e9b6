"""What keywords mean that combine subschemas, and what is malformed in them."""

from tests.support.schema_cases import SchemaCase, each_schema


@each_schema
def test_schemas(case: SchemaCase) -> None:
    case.check()
