"""Patches of vLLM: the list of replaced functions, and `install`, which replaces them.

The wrappers are elsewhere; vLLM's other names that we rely on are in `fit`. Where the installed
vLLM does not fit, nothing is replaced, and the server does not start.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple

from enforcer.errors import ConfigurationError
from enforcer.extras import needed_for
from enforcer.machine import compiled
from enforcer.turn import dialects
from enforcer.vllm import fit
from enforcer.vllm.config import names, settings
from enforcer.vllm.config.names import PATCHED

logger = logging.getLogger("vllm.enforcer")


class Patch(NamedTuple):
    """How a function of vLLM is replaced.

    Attributes:
        takes: its parameters, as `fit.is_signature` compares them.
        by: our function below `enforcer.vllm` that wraps it; the original is its first argument.
        until: the parts of docs/upstream.md that make it unnecessary; empty for one that stays.

    """

    takes: str
    by: str
    until: str = ""


_SERVING = "vllm.entrypoints"
# By the function that is replaced.
PATCHES = {
    # Reads the vocabulary before the server is healthy, and allocates the mask rows.
    "vllm.v1.structured_output:StructuredOutputManager.__init__": Patch(
        "self, vllm_config", "engine.backend.initialised", "1"
    ),
    # Compiles specs with our grammar, other requests with their own backend.
    "vllm.v1.structured_output:StructuredOutputManager.grammar_init": Patch(
        "self, request", "engine.backend.grammar_init", "2, 3, 5"
    ),
    # Proposes draft tokens by the grammar.
    "vllm.v1.structured_output:StructuredOutputManager.validate_tokens": Patch(
        "self, request, spec_tokens", "engine.backend.validate_tokens", "8"
    ),
    # Checks a spec, whatever its route.
    "vllm.sampling_params:SamplingParams._validate_structured_outputs": Patch(
        "self, model_config, structured_outputs_config, tokenizer",
        "intake.frontend.validate_structured_outputs",
        "4",
    ),
    # Checks a spec off the event loop, on routes that render no prompt.
    "vllm.v1.engine.async_llm:AsyncLLM.add_request": Patch(
        "self, request_id, prompt, params, *", "intake.frontend.add_request", "4"
    ),
    # Ends the start before the weights are loaded if the parser is of another format.
    "vllm.v1.engine.input_processor:InputProcessor.__init__": Patch(
        "self, vllm_config, renderer, mm_registry", "intake.startup.processor_made"
    ),
    # Checks how the prompt ends.
    "vllm.v1.engine.input_processor:InputProcessor.process_inputs": Patch(
        "self, request_id, prompt, params, *", "intake.frontend.process_inputs", "3, 4"
    ),
    # Checks before a stream begins; rewrites the history's call ids.
    "vllm.renderers.online_renderer:OnlineRenderer.preprocess_chat": Patch(
        "self, request, messages, *, tool_dicts, parser, *",
        "replies.parser_choice.preprocess_chat",
        "4, 6",
    ),
    # Checks before a stream begins.
    "vllm.renderers.online_renderer:OnlineRenderer.preprocess_completion": Patch(
        "self, request, *", "intake.frontend.rendered", "4"
    ),
    # Finds our parser by its name.
    "vllm.parser.parser_manager:ParserManager._compose_parser": Patch(
        "tool_parser_name, *, enable_auto_tools, *, tokenizer",
        "replies.parser_choice.compose_parser",
        "6",
    ),
    # Tells the processes that a launcher starts the parser's name, adds middleware.
    "vllm.engine.arg_utils:EngineArgs.from_cli_args": Patch(
        "args", "server.served_model.from_cli_args", "1"
    ),
    # Finds no stop string inside a call.
    "vllm.v1.engine.detokenizer:IncrementalDetokenizer.from_new_request": Patch(
        "tokenizer, request", "replies.reply.from_new_request", "6"
    ),
    # Drops a call that ends with its streamed reply on /v1/responses.
    f"{_SERVING}.openai.responses.streaming_events:SimpleStreamingEventProcessor.close_current": (
        Patch("self*", "replies.cut_calls.close_current", "6")
    ),
    # Reports a reply on /v1/responses as incomplete that was aborted inside a call.
    f"{_SERVING}.openai.responses.protocol:ResponsesResponse.from_request": Patch(
        "request, *, status, *", "replies.cut_calls.from_request"
    ),
    # Rejects in the engine what nothing constrains, and what ends its workers.
    "vllm.v1.engine.core:EngineCore.preprocess_add_request": Patch(
        "self, request", "intake.required.preprocess_add_request"
    ),
    # Marks the engine as one that has the plugin.
    "vllm.v1.engine.core:EngineCoreProc._make_ready_response": Patch(
        "self", "server.engine_marks.make_ready_response", "1"
    ),
    # Starts no server over an engine without that mark.
    "vllm.v1.engine.core_client:MPClient._apply_ready_response": Patch(
        "self, payload", "server.engine_marks.apply_ready_response", "1"
    ),
    # Hands a spec on, and knows the client's own paths.
    f"{_SERVING}.anthropic.serving:AnthropicServingMessages.to_chat_completion_request": Patch(
        "anthropic_request, *", "intake.client_paths.to_chat_completion_request"
    ),
    # Shows the engine's metrics where there are several API servers.
    "prometheus_client.multiprocess:MultiProcessCollector.__init__": Patch(
        "self, registry, path", "observe.recording.collecting"
    ),
}
# Where Cohere's route is served: hands a spec on.
COHERE = {
    f"{_SERVING}.cohere.serving:CohereServingChatV2.to_chat_completion_request": Patch(
        "self, request", "intake.client_paths.to_chat_completion_request", "4"
    ),
}
# All that is replaced in shadow mode: requests and replies stay vLLM's own.
_ALIKE = (
    "vllm.engine.arg_utils:EngineArgs.from_cli_args",
    "prometheus_client.multiprocess:MultiProcessCollector.__init__",
    "vllm.v1.engine.input_processor:InputProcessor.__init__",
)
_IN_SHADOW = {
    # Refuses a spec.
    "vllm.sampling_params:SamplingParams._validate_structured_outputs": "reject_spec",
    # Refuses it before a stream begins.
    "vllm.renderers.online_renderer:OnlineRenderer.preprocess_chat": "rendered",
    "vllm.renderers.online_renderer:OnlineRenderer.preprocess_completion": "rendered",
    # Reads the vocabulary, starts the workers that judge, says what is done.
    "vllm.parser.parser_manager:ParserManager._compose_parser": "compose_parser",
}
SHADOW = {name: PATCHES[name] for name in _ALIKE} | {
    name: PATCHES[name]._replace(by=f"shadow.wrappers.{by}") for name, by in _IN_SHADOW.items()
}
# Models of bodies that would drop the fields which carry a spec.
_BODY = f"{_SERVING}.anthropic.protocol:AnthropicMessagesRequest"
_COHERE_BODY = f"{_SERVING}.cohere.protocol:CohereChatV2Request"

_PATCH_RELEASE = (
    "every function that is replaced has the signature of the tested releases; `enforcer doctor "
    "--url` tries this server"
)
_BEHIND_RUST = (
    "vLLM's Rust front end loads no plugins. Enforced are the tool calls that it constrains "
    "itself; arguments fit their schema only at --tool-strict-level parameter or for a strict "
    "tool. Not enforced: replies that it reads no calls from (no tools, `tool_choice` none), "
    "and auto below level function. Start with --tool-strict-level parameter"
)
_NO_SHADOW = (
    "ENFORCER_SHADOW=on sees no reply of vLLM's Rust front end, which loads no plugins: leave "
    "VLLM_USE_RUST_FRONTEND out, or switch ENFORCER_SHADOW off"
)


def install() -> None:
    """Patch vLLM in this process; idempotent.

    Raises:
        UnsupportedHost: it does not fit; nothing has been replaced.
        ConfigurationError: a setting of the operator is wrong, or its dialect unknown; or the
            kernel is not compiled.

    """
    with needed_for("the plugin"):
        import vllm
        import vllm.envs

    dialects.load(settings.current().dialect)
    compiled.require_compiled()
    if not fit.check_version(vllm.__version__):
        logger.warning("enforcer: vLLM %s is untested: %s", vllm.__version__, _PATCH_RELEASE)
    patches = wanted()
    fit.check_signatures(fit.USED | signatures(patches))
    for dotted, patch in patches.items():
        module, _, name = patch.by.rpartition(".")
        _wrap(dotted, getattr(import_module(f"enforcer.vllm.{module}"), name))
    _register()
    if vllm.envs.VLLM_USE_RUST_FRONTEND:
        if settings.current().shadow:
            raise ConfigurationError(_NO_SHADOW)
        logger.warning("enforcer: %s", _BEHIND_RUST)


def wanted() -> dict[str, Patch]:
    """Return the patches of this server."""
    if settings.current().shadow:
        return SHADOW
    return PATCHES | (COHERE if fit.has_cohere() else {})


def signatures(patches: Mapping[str, Patch]) -> dict[str, str]:
    """Return the parameters of functions that are replaced, for `fit.check_signatures`."""
    return {name: patch.takes for name, patch in patches.items()}


def _register() -> None:
    """Register what vLLM and Prometheus have a registry for, and change models of bodies."""
    from vllm.renderers.registry import RENDERER_REGISTRY
    from vllm.tool_parsers import ToolParserManager

    from enforcer.vllm.intake import client_paths, dialogs
    from enforcer.vllm.observe import recording
    from enforcer.vllm.replies.tool_parser import EnforcedToolParser

    recording.install()
    if not settings.current().shadow:
        for body in (_BODY, _COHERE_BODY) if fit.has_cohere() else (_BODY,):
            client_paths.keep_unknown(fit.find(body))
        # Its own `register` warns of a mode that vLLM has a renderer for.
        own = (dialogs.__name__, dialogs.DeclaringRenderer.__name__)
        RENDERER_REGISTRY.renderers["kimi_k3"] = own
    parsers = [names.enforced(parser) for parser in dialects.parsers()]
    ToolParserManager.register_module(parsers, force=True, module=EnforcedToolParser)


def _wrap(function: str, by: Callable[..., Any]) -> None:
    """Replace a function, once, by one that calls ours with the original as first argument."""
    owner_name, _, name = function.rpartition(".")
    owner = fit.find(owner_name)
    found = inspect.getattr_static(owner, name)
    is_bare = not isinstance(found, classmethod | staticmethod)
    original = found if is_bare else found.__func__
    if hasattr(original, PATCHED):
        return

    @wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return by(original, *args, **kwargs)

    # A bound class method shows its signature without `cls`, so keep it bound.
    bound = getattr(owner, name) if isinstance(found, classmethod) else original
    setattr(wrapped, PATCHED, bound)
    setattr(owner, name, wrapped if is_bare else type(found)(wrapped))
