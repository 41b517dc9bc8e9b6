"""What keywords mean that combine subschemas, and what is malformed in them."""

from tests.support.schema_cases import schema_test

test_schemas = schema_test(__file__)
