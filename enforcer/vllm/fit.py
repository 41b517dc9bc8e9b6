"""Facts about vLLM that the plugin relies on, and whether the installed one has them.

`patches` has the functions that are replaced, with their parameters.
`python -m tests.support.compat` checks all these facts against the sources of a version.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pkgutil import resolve_name
from typing import Any

from enforcer.errors import UnsupportedHost
from enforcer.vllm.config.names import PATCHED, TESTED_VERSIONS

_OPENAI = "vllm.entrypoints.openai"
_TOKENS = "vllm.entrypoints.scale_out.token_in_token_out.protocol"
_PARSER = "vllm.parser.abstract_parser"
# Functions that are called or overridden, with their parameters: `is_signature`.
USED = {
    "vllm.v1.engine.detokenizer:BaseIncrementalDetokenizer.update": (
        "self, new_token_ids, stop_terminated"
    ),
    "vllm.renderers.kimi_k3:KimiK3Renderer._apply_chat_template": "self, conversation, params",
    f"{_PARSER}:DelegatingParser._apply_structural_tag": "self, request",
    f"{_OPENAI}.chat_completion.protocol:ChatCompletionRequest.to_sampling_params": (
        "self, max_tokens, default_sampling_params"
    ),
    f"{_OPENAI}.completion.protocol:CompletionRequest.to_sampling_params": (
        "self, max_tokens, default_sampling_params"
    ),
    f"{_OPENAI}.responses.protocol:ResponsesRequest.to_sampling_params": (
        "self, default_max_tokens, default_sampling_params"
    ),
    "vllm.entrypoints.serve.utils.api_utils:get_max_tokens": (
        "max_model_len, max_tokens, input_length, default_sampling_params, override_max_tokens, *"
    ),
    f"{_TOKENS}:GenerateRequest.is_sampling_param_provided": "self, name",
    f"{_PARSER}:Parser.parse": (
        "self, model_output, request, enable_auto_tools, model_output_token_ids"
    ),
    f"{_PARSER}:Parser.parse_delta": (
        "self, delta_text, delta_token_ids, request, prompt_token_ids, finished"
    ),
    f"{_PARSER}:Parser.adjust_request": "self, request",
    f"{_PARSER}:Parser.set_prompt_token_ids": "self, prompt_token_ids",
}


def check_version(version: str) -> bool:
    """Return whether the plugin was tested on exactly this version.

    Args:
        version: as in `vllm.__version__`; a local part such as `+cpu` does not count.

    Returns:
        False for another patch release of a version that was tested.

    Raises:
        UnsupportedHost: neither.

    """
    release = version.partition("+")[0]
    if release in TESTED_VERSIONS:
        return True
    minor, _, patch = release.rpartition(".")
    if patch.isdigit() and minor in {tested.rpartition(".")[0] for tested in TESTED_VERSIONS}:
        return False
    raise _unsupported(f"vLLM {version} is untested with this version of kimi-enforcer")


def check_signatures(signatures: Mapping[str, str] = USED) -> None:
    """Raise if a function of this vLLM is missing, or has other parameters.

    Raises:
        UnsupportedHost: it says which.

    """
    for name, expected in signatures.items():
        target = find(name)
        found = inspect.signature(getattr(target, PATCHED, target)).parameters
        if not is_signature(found, expected):
            raise _unsupported(
                f"this vLLM's {name} takes ({', '.join(found)}), expected ({expected})"
            )


def is_signature(found: Iterable[str], expected: str) -> bool:
    """Return whether parameters match a pattern, in which `*` stands for any."""
    return fnmatchcase(", ".join(found), expected)


def has_cohere() -> bool:
    """Return whether this server has Cohere's route, as vLLM decides: a broken SDK is none."""
    import vllm.envs

    with suppress(ImportError):
        return vllm.envs.VLLM_ENABLE_COHERE_API and bool(resolve_name("cohere"))
    return False


def find(name: str) -> Any:
    """Return an object of vLLM, named as `module:Class.attribute`.

    Raises:
        UnsupportedHost: it cannot be imported.

    """
    try:
        return resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise _unsupported(f"this vLLM has no {name}: {error}") from error


def _unsupported(what: str) -> UnsupportedHost:
    return UnsupportedHost(
        f"{what}. Install vLLM {' or '.join(TESTED_VERSIONS)} (or another patch release of these) "
        "or a newer kimi-enforcer. To serve a model without the plugin, set VLLM_PLUGINS to the "
        "names of the others, or to nothing"
    )
