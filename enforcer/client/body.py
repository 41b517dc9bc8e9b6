"""Builder of the fields by which a request's body asks a server to enforce it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from enforcer.client import python_tools
from enforcer.errors import ConfigurationError, brief
from enforcer.request import carrier, history, spec_text

if TYPE_CHECKING:
    from enforcer.schema import OnUnsupported
    from enforcer.types import Messages, ResponseFormat, ToolChoice, Tools


class Route(Enum):
    """The part of vLLM that enforces.

    Attributes:
        PLUGIN: the plugin, in vLLM's structured outputs.
        LOGITS_PROCESSOR: the logits processor, on servers that cannot have the plugin.

    """

    PLUGIN = "plugin"
    LOGITS_PROCESSOR = "logits_processor"


def extra_body(
    tools: Tools,
    tool_choice: ToolChoice = "auto",
    *,
    parallel_tool_calls: bool | None = True,
    messages: Messages = None,
    response_format: ResponseFormat = None,
    on_unsupported: OnUnsupported | str | None = None,
    finish_within_budget: bool | None = None,
    closed_objects: bool | None = None,
    via: Route | str = Route.PLUGIN,
) -> dict[str, Any]:
    """Return the fields that make vLLM enforce one request, for an OpenAI client's `extra_body`.

    Args:
        tools: as in a chat request, or functions and models; see `enforcer.tool`.
        tool_choice: as in the chat request.
        parallel_tool_calls: as in the chat request.
        messages: the dialog, whose calls are counted.
        response_format: as in the chat request.
        on_unsupported: an `OnUnsupported` or its value; None for the server's option, which the
            server must allow to be overridden.
        finish_within_budget: see `Options`; None as for `on_unsupported`.
        closed_objects: see `Conventions`; None as for `on_unsupported`.
        via: the part of the server that enforces; a `Route` or its value.

    Raises:
        InvalidTools: a field is not what a chat request carries.
        ConfigurationError: there is no such route.

    """
    try:
        route = Route(via)
    except ValueError:
        known = ", ".join(f"enforcer.Route.{each.name}" for each in Route)
        raise ConfigurationError(f"`via` is {brief(via)}, which is none of {known}") from None
    first = history.count_calls(messages)
    declared = python_tools.declared(tools)
    spec = spec_text.write(
        declared,
        tool_choice,
        parallel_tool_calls,
        first,
        response_format,
        on_unsupported=on_unsupported,
        finish_within_budget=finish_within_budget,
        closed_objects=closed_objects,
    )
    spec_text.read(spec)
    if route is Route.LOGITS_PROCESSOR:
        return {"vllm_xargs": {carrier.KEY: spec}}
    return {"structured_outputs": {"structural_tag": carrier.structural_tag(spec)}}
