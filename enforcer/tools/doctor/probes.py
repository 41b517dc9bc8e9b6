"""Probes: requests that only an enforcing server answers rightly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from enforcer.client.body import Route, extra_body
from enforcer.request.carrier import KEY
from enforcer.vllm.config.names import PROBE

WANTED = "violet"


def twice(model: str) -> dict[str, Any]:
    """Make a request that declares one name twice, which vLLM accepts and the Enforcer rejects.

    It may call neither: else vLLM's own constraint, which the engine refuses, would pass for ours.
    """
    tool = _tool("twice", {})
    return _body(model, "Say hello.", tools=[tool, tool], tool_choice="none", max_tokens=1)


def switching_off(model: str) -> dict[str, Any]:
    """Make the same request switch enforcement off: it is served only where a request may."""
    return {**twice(model), "vllm_xargs": {KEY: "off"}}


def unenforceable(model: str) -> dict[str, Any]:
    """Make a request with a tool that cannot be enforced exactly: its pattern refers back."""
    return _strings(model, "unenforceable", {"pattern": r"^(a|b)c\1$"})


def impossible(model: str) -> dict[str, Any]:
    """Make a request whose tool nothing can call: no string has two characters and one."""
    return _strings(model, "impossible", {"minLength": 2, "maxLength": 1})


def never_served(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with an unsatisfiable response format, which every mode rejects.

    A server rejects the format after the tools, and before it counts relaxed ones: no probe
    appears in `enforcer_tools_relaxed_total`.
    """
    nothing = {"type": "string", "minLength": 2, "maxLength": 1}
    wanted = {"type": "json_schema", "json_schema": {"name": "impossible", "schema": nothing}}
    return {**body, "response_format": wanted}


def too_long(model: str) -> dict[str, Any]:
    """Make a request for a text that takes more than its one token.

    A server with a token budget rejects it, and any other one begins it.
    """
    schema = {"type": "array", "items": {"type": "string"}}
    wanted = {"type": "json_schema", "json_schema": {"name": "words", "schema": schema}}
    return {**_body(model, "List two words.", max_tokens=1), "response_format": wanted}


def required(model: str) -> dict[str, Any]:
    """Make a request that must be answered with one call, to one of few argument objects."""
    tool = _tool("pick_colour", {"colour": {"enum": [WANTED]}, "sure": {"type": "boolean"}})
    return _body(
        model,
        "Pick a colour.",
        tools=[tool],
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=1024,
    )


def without_tools(model: str) -> dict[str, Any]:
    """Make a request that tempts to an undeclared call: a history of calls, and no tools."""
    arguments = '{"prompt": "a cat"}'
    messages = [{"role": "user", "content": "Draw a cat."}]
    for number in range(2):
        call_id = f"functions.img_gen:{number}"
        function = {"name": "img_gen", "arguments": arguments}
        call = {"id": call_id, "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},  # type: ignore[dict-item]
            {"role": "tool", "tool_call_id": call_id, "content": "done"},
            {"role": "user", "content": "Draw another cat."},
        ]
    return {"model": model, "messages": messages, "request_id": _own_id(), "max_tokens": 16}


def asking(
    body: Mapping[str, Any], route: Route | None, on_unsupported: str | None = None
) -> dict[str, Any]:
    """Make a request ask to be enforced, where the server does not do so by itself."""
    if route is None:
        return dict(body)
    extra = extra_body(
        body.get("tools"),
        body.get("tool_choice", "auto"),
        parallel_tool_calls=body.get("parallel_tool_calls", True),
        messages=body["messages"],
        response_format=body.get("response_format"),
        on_unsupported=on_unsupported,
        via=route,
    )
    if route is Route.PLUGIN:
        return {**body, **extra}  # what the spec says differs in nothing from the rest
    # A demand and a format are the spec's: vLLM itself would constrain the reply as well.
    freed = {"tool_choice": "auto"} if body.get("tool_choice") == "required" else {}
    kept = {key: value for key, value in body.items() if key != "response_format"}
    return {**kept, **freed, **extra}


def _body(model: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": text}],
        "request_id": _own_id(),
        **more,
    }


def _own_id() -> str:
    """Return an id by which the log shows that a request is the doctor's."""
    return f"{PROBE}{uuid4().hex}"


def _tool(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def _strings(model: str, name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    tool = _tool(name, {"text": {"type": "string", **keywords}})
    return _body(model, "Say hello.", tools=[tool], tool_choice="auto", max_tokens=1)
