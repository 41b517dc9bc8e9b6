import json
from typing import Any

import pytest

from enforcer.client.body import Route, extra_body
from enforcer.errors import InvalidTools, SchemaError, UnsatisfiableSchema, UnsupportedSchema
from enforcer.request import carrier, spec_text
from enforcer.request.tools import ToolChoice
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.tools.doctor import probes


def test_what_the_modes_are_told_by_is_what_they_refuse() -> None:
    """By the library itself, whose errors the probes look for."""

    def outcome(body: dict[str, Any], mode: str) -> Any:
        tools = [tool["function"] for tool in body["tools"]]
        try:
            compile_schema(tools[0]["parameters"], on_unsupported=OnUnsupported(mode))
        except SchemaError as error:
            return type(error)
        return None

    for mode, inexact in (("refuse", UnsupportedSchema), ("relax", None)):
        assert outcome(probes.unenforceable("toy"), mode) is inexact
        assert outcome(probes.impossible("toy"), mode) is UnsatisfiableSchema
    with pytest.raises(InvalidTools):
        extra_body(probes.twice("toy")["tools"])


@pytest.mark.parametrize("route", Route)
def test_a_demand_is_made_by_the_spec(route: Route) -> None:
    body = probes.required("toy")
    assert probes.asking(body, None) == body
    asked = probes.asking(body, route)
    # The plugin wants both to say the same; beside the logits processor vLLM would constrain, too.
    assert asked["tool_choice"] == ("required" if route is Route.PLUGIN else "auto")
    own = asked.get("structured_outputs", {}).get("structural_tag")
    text = carrier.from_structural_tag(own) or carrier.from_extra(asked.get("vllm_xargs"))
    toolset = spec_text.read(text).toolset
    assert (toolset.choice, toolset.parallel) == (ToolChoice.REQUIRED, False)


@pytest.mark.parametrize("route", Route)
def test_a_format_that_nothing_fits_is_in_the_spec_where_it_is_asked_for(route: Route) -> None:
    body = probes.never_served(probes.unenforceable("toy"))
    schema = body["response_format"]["json_schema"]["schema"]
    with pytest.raises(UnsatisfiableSchema):
        compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    asked = probes.asking(body, route)
    assert ("response_format" in asked) is (route is Route.PLUGIN)
    own = asked.get("structured_outputs", {}).get("structural_tag")
    text = carrier.from_structural_tag(own) or carrier.from_extra(asked.get("vllm_xargs"))
    wanted = spec_text.read(text).response_format
    assert wanted is not None
    assert json.loads(wanted.source) == schema
