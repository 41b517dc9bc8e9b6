"""The line that a starting server logs: what it enforces, and by which settings."""

from __future__ import annotations

import logging
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

from enforcer.turn import dialects as dialects_
from enforcer.vllm.config import names, settings
from enforcer.vllm.native import native_tags
from enforcer.vllm.observe import metric_defs, recording
from enforcer.vllm.server import reply_lengths, runtime, served_model

if TYPE_CHECKING:
    from enforcer.vllm.config.settings import Settings

logger = logging.getLogger("vllm.enforcer")

# `/batch` takes no tools; of `/invocations` the bodies with `messages`.
_BY_ITSELF = "/v1/chat/completions (and /batch), /v1/responses, /v1/messages and /invocations"
_OTHERS = "/v1/completions, routes that take token ids, gRPC"
_OF_VLLM = (
    ", and what vLLM's own parser or front end constrains (`tool_choice` that demands a call, "
    "arguments of tools with `strict`)"
)
_SHADOW = (
    "nothing is enforced (ENFORCER_SHADOW=on): vLLM's own parser answers, replies by "
    "/v1/chat/completions are judged and counted; requests with a spec are rejected"
)
_ALWAYS_SAID = ("dialect", "engine")
_EXACT = {"refuse", "finish", "open", "closed"}  # words of settings under which all is


@cache
def say(parser: str | None, dialects: tuple[str, ...]) -> None:
    """Log what this server enforces, and set that in its metrics; once in a process.

    Args:
        parser: the name that the server was started with as `--tool-call-parser`.
        dialects: names of the tool-call formats that the model may speak.

    """
    chosen = settings.current()
    logger.info("enforcer: %s", said(parser, dialects, chosen))
    enforced = metric_defs.EVERY if names.is_enforced(parser) else metric_defs.ASKED
    if chosen.shadow:
        enforced = metric_defs.NOTHING
    recording.recorder().set(metric_defs.SERVERS, 1, (enforced,))
    versions = tuple(value for _, (value,) in metric_defs.VERSION.labels)
    recording.recorder().set(metric_defs.VERSION, 1, versions)
    if len(dialects) == 1:
        recording.recorder().set(metric_defs.DIALECT, 1, dialects)


def said(parser: str | None, dialects: tuple[str, ...], chosen: Settings) -> str:
    """Return the line on what a server enforces, how, and what it does not.

    It has the version and every setting that is not at its default: a switch that the line leaves
    out would be taken for off.
    """
    if chosen.shadow:
        return f"{_SHADOW}. {in_force(dialects, chosen)}"
    is_ours = names.is_enforced(parser)
    has_native_tags = any(native_tags.markers(dialects_.load(name)) for name in dialects)
    if is_ours:
        what = f"every request by {_BY_ITSELF} is enforced"
        if {chosen.on_unsupported.value, *chosen.allow_client} - _EXACT:
            what += ", but for what `on_unsupported` and `allow_client` let off"
        others = f"{_OTHERS}: only requests with a spec of `enforcer.extra_body`"
    else:
        given = f"--tool-call-parser {parser}" if parser else "no --tool-call-parser"
        what = f"no request is enforced by itself ({given}{_remedy(parser, dialects)})"
        others = "on any route: only requests with a spec of `enforcer.extra_body`"
        if has_native_tags:
            others += _OF_VLLM
    if chosen.require:
        others = _required(chosen, has_native_tags=has_native_tags and not is_ours)
    return f"{what}; {others}; beam search is rejected. {in_force(dialects, chosen)}"


def _required(chosen: Settings, *, has_native_tags: bool) -> str:
    """Return which requests a server with `ENFORCER_REQUIRE=on` serves, by `required.unmet`."""
    carried = "a spec or strict tools" if has_native_tags else "a spec"
    if chosen.require_except:
        carried += f", except {', '.join(sorted(chosen.require_except))}"
    return f"requests are rejected unless they carry {carried}"


def in_force(dialects: tuple[str, ...], chosen: Settings) -> str:
    """Return the version, the formats, the engine and every setting that is not at its default."""
    version, *_ = dict(metric_defs.VERSION.labels)["version"]
    changed = [
        f" {name}={shlex.quote(value)}"
        for name, value in chosen.changed.items()
        if name not in _ALWAYS_SAID
    ]
    spoken = " or ".join(dialects)
    return f"version={version} dialect={spoken} engine={chosen.engine}{''.join(changed)}"


def _remedy(parser: str | None, dialects: tuple[str, ...]) -> str:
    if parser not in dialects_.parsers():
        parser = next((name for one in dialects for name in dialects_.load(one).parsers), None)
    return f"; {names.enforced(parser)} would enforce all" if parser else ""


def processor_made(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Wrap `InputProcessor.__init__`, where an API server has its tokenizer and no engine yet.

    vLLM picks its parser once the engine has loaded the model; here, one of another format than the
    model's ends the start before.
    """
    runtime.documents()
    original(self, *args, **kwargs)
    reply_lengths.meet(self.vllm_config)
    if self.tokenizer is None:
        return
    if served_model.has_our_parser() or settings.current().shadow:
        runtime.table_for(self.tokenizer)
