"""Whatever a client sends as a schema is compiled or refused, and nothing else."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer.errors import EnforcerError
from enforcer.schema import compile_schema
from tests.schema_judge import engine

pytestmark = pytest.mark.slow

KEYWORDS = (
    *("type", "properties", "items", "$ref", "enum"),
    *("not", "oneOf", "pattern", "$id", "required"),
    *("minimum", "multipleOf", "if", "dependentSchemas", "format"),
    *("patternProperties", "$dynamicRef", "unevaluatedProperties", "contains", "maxItems"),
    *("$schema", "const", "allOf", "prefixItems", "propertyNames"),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.just("\ud800")
)
NAMES = st.sampled_from(KEYWORDS) | st.text(max_size=3) | st.integers()
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=2000, deadline=None)
@given(ANYTHING)
def test_garbage_raises_only_our_errors(schema: dict[str, Any]) -> None:
    try:
        engine().check(compile_schema(schema))
    except EnforcerError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
