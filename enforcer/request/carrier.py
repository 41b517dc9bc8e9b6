"""What carries a spec through vLLM, which hands it on unread.

Owns: the fields of a request that a spec rides in, and the `extra_body` that a client sends. Must
not know: vLLM's code (only which request fields reach its engine), the spec's form.

With the plugin the spec is an extra key of a structural tag. The tag's own format is a token that
no vocabulary has: xgrammar reads it, and fails to compile it, so that an engine without the plugin
ends the request with an error rather than run unenforced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError, brief
from enforcer.request import history, python_tools, spec_text
from enforcer.request.tools import meant

if TYPE_CHECKING:
    from enforcer.schema import OnUnsupported
    from enforcer.types import Messages, ResponseFormat, ToolChoice, Tools

KEY = "enforcer"
# How a server's refusal begins where no request without a spec is served.
REQUIRES = "this server serves enforced requests only"
# The operator's setting that a refused switch names.
ALLOW = "ENFORCER_ALLOW_CLIENT"
_KEPT = 8_000_000  # characters of a tag whose spec is kept: of 4,000,000 of schemas, escaped
_IMPOSSIBLE = {"type": "token", "token": 2**31 - 1}
# A body without any of them carries no spec: the key, and what its letters' escapes begin with. One
# in UTF-16 or UTF-32, which vLLM reads as well, has a zero among its first bytes.
_MARKS = (KEY.encode(), rb"\u006", rb"\u007")


class Route(Enum):
    """Which part of vLLM enforces.

    Attributes:
        PLUGIN: the plugin, in vLLM's structured outputs.
        LOGITS_PROCESSOR: the logits processor, on servers that cannot have the plugin.

    """

    PLUGIN = "plugin"
    LOGITS_PROCESSOR = "logits_processor"


def may_be_in(body: bytes) -> bool:
    """Tell whether the body of a request may carry a spec, without reading it."""
    return b"\0" in body[:4] or any(mark in body for mark in _MARKS)


def structural_tag(spec: str) -> str:
    """Wrap a spec's text for `structured_outputs.structural_tag`."""
    return json.dumps({"type": "structural_tag", "format": _IMPOSSIBLE, KEY: spec})


def from_structural_tag(tag: object) -> str | None:
    """Find the spec's text in a structural tag; None if it carries none."""
    if not isinstance(tag, str) or f'"{KEY}"' not in tag:
        return None
    return _found(tag) if len(tag) <= _KEPT else _find(tag)


def from_params(params: Any) -> str | None:
    """Find the spec's text in the `structured_outputs` of a request, or of sampling parameters."""
    own = getattr(params, "structured_outputs", None)
    return None if own is None else from_structural_tag(own.structural_tag)


def _find(tag: str) -> str | None:
    try:
        data = json.loads(tag)
    except (ValueError, RecursionError):
        return None  # vLLM says what is wrong with it
    return data.get(KEY) if isinstance(data, dict) else None


# Each prompt of a list and each of `n` replies brings a copy, which is asked several times.
_found = lru_cache(maxsize=4)(_find)


def from_extra(extra: object) -> str | None:
    """Find the spec's text in `vllm_xargs`; None if there is none, or a word that switches."""
    found = extra.get(KEY) if isinstance(extra, Mapping) else None
    return found if isinstance(found, str) and found.lstrip().startswith("{") else None


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
    """Build what makes vLLM enforce one request, for an OpenAI client's `extra_body`.

    Args:
        tools: as a chat request carries them, or functions and models; see `enforcer.tool`.
        tool_choice: likewise.
        parallel_tool_calls: likewise.
        messages: likewise; the dialog's calls are counted.
        response_format: likewise.
        on_unsupported: "relax" enforces the nearest superset of a schema that cannot be
            enforced exactly, where the server allows it; "isolate" likewise, and what has none
            takes any object. `OnUnsupported` will do, too.
        finish_within_budget: see `Options`; where the server allows it.
        closed_objects: see `Conventions`; where the server allows it.
        via: how the server enforces; a `Route`, or its value.

    Raises:
        InvalidTools: a field is not what a chat request carries.
        ConfigurationError: there is no such route.

    """
    try:
        route = Route(via)
    except ValueError:
        known = ", ".join(f"enforcer.Route.{each.name}" for each in Route)
        raise ConfigurationError(f"`via` is {brief(via)}, which is none of {known}") from None
    first = history.count_calls(history.plain(messages))
    declared = python_tools.declared(tools)
    spec = spec_text.write(
        declared,
        meant(declared, tool_choice),
        parallel_tool_calls,
        first,
        response_format,
        on_unsupported=on_unsupported,
        finish_within_budget=finish_within_budget,
        closed_objects=closed_objects,
    )
    spec_text.read(spec)
    if route is Route.LOGITS_PROCESSOR:
        return {"vllm_xargs": {KEY: spec}}
    return {"structured_outputs": {"structural_tag": structural_tag(spec)}}
