"""What `register` does to vLLM: the patches.

Owns: which function of vLLM is replaced by what. Must not know: what the replacements do, what
else of vLLM they rely upon (that is `fit`).

Idempotent. Where the installed vLLM does not fit nothing is replaced but what reads the command
line, so that other models of the same environment are served as ever; whatever asks for the
enforcer then fails: its parser has no name, a body that brings a spec is refused (`unfit`), and the
tag that a spec rides in is one that no backend of vLLM's can compile.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from enforcer.errors import UnsupportedHost
from enforcer.turn import dialects
from enforcer.vllm import fit
from enforcer.vllm.config import names, settings
from enforcer.vllm.config.names import PATCHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.vllm.config.settings import Settings

logger = logging.getLogger("vllm.enforcer")

_BEHIND_RUST = (
    "vLLM's Rust front end loads no plugins. The engine enforces the tool calls that it asks for: "
    "`tool_choice` required or named; auto with --tool-strict-level function or parameter, or with "
    "a strict tool. Arguments fit the tool's schema only at level parameter or for a strict tool; "
    "else they are any object. Not enforced: replies that the front end reads no calls from (no "
    "tools, `tool_choice` none), and auto below level function. Start with --tool-strict-level "
    "parameter"
)


def install() -> None:
    """Patch vLLM in this process, if it fits.

    Raises:
        ConfigurationError: a setting of the operator is wrong, its dialect unknown, or asks for
            an engine that refuses what is not enforced where nothing can be.

    """
    import vllm
    import vllm.envs

    chosen = settings.current()
    dialects.load(chosen.dialect)
    try:
        exactly = fit.check_version(vllm.__version__)
        fit.check_signatures()
        if fit.has_cohere():
            fit.check_signatures(fit.COHERE)
    except UnsupportedHost as error:
        _unfit(error, chosen)
        return
    _patch()
    if vllm.envs.VLLM_USE_RUST_FRONTEND:
        logger.warning("enforcer: %s", _BEHIND_RUST)
    if exactly:
        return
    from enforcer.vllm.tryout import try_out

    try:
        try_out()
    except UnsupportedHost as error:
        _take_back()
        _unfit(error, chosen)
    else:
        logger.info(
            "enforcer: vLLM %s is not among the tested versions; a trial turn at start "
            "was enforced as it should be",
            vllm.__version__,
        )


def _unfit(error: UnsupportedHost, chosen: Settings) -> None:
    """Say why nothing is enforced; raise where the operator wants nothing else."""
    if chosen.requires():
        raise error
    logger.error(
        "enforcer: nothing is enforced, and no --tool-call-parser %s is known: %s",
        names.enforced("NAME"),
        error,
    )
    _refuse_specs(error)


def _refuse_specs(why: UnsupportedHost) -> None:
    """Have an API server of this process refuse what brings a spec, if that much of it fits."""
    from enforcer.vllm import unfit

    name = "vllm.engine.arg_utils.EngineArgs.from_cli_args"
    missing = "" if unfit.takes_middleware() else "vLLM's Rust front end takes no middleware"
    try:
        fit.check_signatures({name: fit.SIGNATURES[name]})
    except UnsupportedHost as error:
        missing = str(error)
    if missing:
        logger.warning("enforcer: a request with a spec may be served unenforced: %s", missing)
        return
    from vllm.engine.arg_utils import EngineArgs

    unfit.refuse_because(str(why))
    _wrap(EngineArgs, "from_cli_args", unfit.from_cli_args)


def _patch() -> None:
    from prometheus_client import multiprocess
    from vllm import sampling_params
    from vllm.engine.arg_utils import EngineArgs
    from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
    from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest
    from vllm.entrypoints.openai.responses import protocol, streaming_events
    from vllm.parser.abstract_parser import DelegatingParser
    from vllm.parser.parser_manager import ParserManager
    from vllm.tool_parsers import ToolParserManager
    from vllm.v1 import structured_output
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer
    from vllm.v1.engine.input_processor import InputProcessor

    from enforcer.vllm.engine import backend
    from enforcer.vllm.intake import client_paths, frontend
    from enforcer.vllm.observe import log_filters, recording, scores
    from enforcer.vllm.replies import cut_calls, parser_choice, stop_strings, tool_parser
    from enforcer.vllm.server import model_format, served_model

    manager = structured_output.StructuredOutputManager
    _wrap(manager, "__init__", backend.initialised)
    _wrap(manager, "grammar_init", backend.grammar_init)
    _wrap(manager, "_create_grammar", backend.create_grammar)
    _wrap(
        sampling_params.SamplingParams,
        "_validate_structured_outputs",
        frontend.validate_structured_outputs,
    )
    _wrap(EngineArgs, "from_cli_args", served_model.from_cli_args)
    _patch_engine_core()
    _wrap(AsyncLLM, "add_request", frontend.add_request)
    _wrap(InputProcessor, "__init__", model_format.input_processor)
    _wrap(InputProcessor, "process_inputs", frontend.process_inputs)
    for request in (ChatCompletionRequest, CompletionRequest):
        _wrap(request, "to_beam_search_params", frontend.beam_search_params)
    _wrap(
        AnthropicServingMessages,
        "to_chat_completion_request",
        client_paths.to_chat_completion_request,
    )
    client_paths.keep_unknown(AnthropicMessagesRequest)
    if fit.has_cohere():
        from vllm.entrypoints.cohere.protocol import CohereChatV2Request
        from vllm.entrypoints.cohere.serving import CohereServingChatV2

        _wrap(CohereServingChatV2, "to_chat_completion_request", client_paths.from_cohere)
        client_paths.keep_unknown(CohereChatV2Request)
    _wrap(ParserManager, "_compose_parser", parser_choice.compose_parser)
    _wrap(DelegatingParser, "_apply_structural_tag", parser_choice.apply_structural_tag)
    _wrap(IncrementalDetokenizer, "from_new_request", stop_strings.from_new_request)
    _patch_rendering()
    _wrap(streaming_events.SimpleStreamingEventProcessor, "__init__", cut_calls.initialised)
    _wrap(protocol.ResponsesResponse, "from_request", cut_calls.from_request)
    _wrap(multiprocess.MultiProcessCollector, "__init__", recording.collecting)
    if settings.current().scores_raw():
        scores.install(_wrap)
    recording.install()
    log_filters.install()
    ToolParserManager.register_module(
        _parser_names(), force=True, module=tool_parser.EnforcedToolParser
    )


def _patch_rendering() -> None:
    from vllm.renderers.kimi_k3 import KimiK3Renderer
    from vllm.renderers.online_renderer import OnlineRenderer

    from enforcer.vllm.intake import frontend, kimi_k3, requests, startup
    from enforcer.vllm.replies import parser_choice

    _wrap(OnlineRenderer, "__init__", startup.renderer_made)
    _wrap(
        OnlineRenderer,
        "preprocess_chat",
        lambda inner: frontend.rendered(requests.preprocess_chat(inner, parser_choice.ours)),
    )
    _wrap(OnlineRenderer, "preprocess_completion", frontend.rendered)
    _wrap(KimiK3Renderer, "_apply_chat_template", kimi_k3.apply_chat_template)


def _patch_engine_core() -> None:
    from vllm.v1.engine.core import EngineCore, EngineCoreProc
    from vllm.v1.engine.core_client import MPClient

    from enforcer.vllm.intake import required, worker_limits
    from enforcer.vllm.server import engine_marks

    _wrap(
        EngineCore,
        "preprocess_add_request",
        lambda original: required.preprocess_add_request(
            worker_limits.preprocess_add_request(original)
        ),
    )
    _wrap(EngineCoreProc, "_make_ready_response", engine_marks.make_ready_response)
    _wrap(MPClient, "_apply_ready_response", engine_marks.apply_ready_response)


def _parser_names() -> list[str]:
    return [names.enforced(parser) for parser in dialects.parsers()]


# What has been replaced: owner, name, what was there.
_replaced: list[tuple[Any, str, Any]] = []


def _wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method by one made from the original, once."""
    found = inspect.getattr_static(owner, name)
    is_class_method = isinstance(found, classmethod)
    is_bare = not isinstance(found, classmethod | staticmethod)
    original = found if is_bare else found.__func__
    if hasattr(original, PATCHED):
        return
    wrapped = make(original)
    # A bound class method shows its signature without `cls`, so keep it bound.
    setattr(wrapped, PATCHED, getattr(owner, name) if is_class_method else original)
    setattr(owner, name, wrapped if is_bare else type(found)(wrapped))
    _replaced.append((owner, name, found))


def _take_back() -> None:
    """Put back all that was there."""
    from vllm.tool_parsers import ToolParserManager

    from enforcer.vllm.observe import log_filters

    while _replaced:
        setattr(*_replaced.pop())
    log_filters.take_back()
    for name in _parser_names():
        ToolParserManager.tool_parsers.pop(name, None)
