"""The part that a schema nothing fits is refused for."""

from tests.support.schema_cases import schema_test

test_schemas = schema_test(__file__)
