"""vLLM's `StructuredOutputManager` without an engine, and requests for it."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

from vllm import SamplingParams
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from enforcer.client.body import extra_body
from enforcer.vllm.server import runtime
from enforcer.vocabulary import Vocabulary
from tests.vocabularies import write


def know(tokenizer: Any, vocabulary: Vocabulary) -> None:
    """Take a tokenizer for one of this vocabulary, without reading it."""
    runtime._known[id(tokenizer)] = tokenizer, runtime._Model(vocabulary)


def manager(tokenizer: Any, size: int) -> Any:
    """Return vLLM's own manager without an engine; its configuration has only what is read."""
    config = SimpleNamespace(
        parallel_config=SimpleNamespace(distributed_executor_backend="mp"),
        scheduler_config=SimpleNamespace(max_num_seqs=16),
        model_config=SimpleNamespace(
            skip_tokenizer_init=True,
            is_diffusion=False,
            max_model_len=4096,
            get_vocab_size=lambda: size,
        ),
        structured_outputs_config=SimpleNamespace(
            reasoning_parser_plugin="", reasoning_parser="", enable_in_reasoning=False
        ),
        num_speculative_tokens=0,
        speculative_config=None,
    )
    built = StructuredOutputManager(config)
    built.tokenizer = tokenizer
    built.executor = ThreadPoolExecutor(2)
    return built


def bare(
    name: str, prompt_ids: Sequence[int], wanted: StructuredOutputsParams | None, **more: Any
) -> Any:
    """Build a request as the engine has it."""
    return Request(
        request_id=name,
        prompt_token_ids=list(prompt_ids),
        sampling_params=SamplingParams(max_tokens=64, structured_outputs=wanted),
        pooling_params=None,
        **more,
    )


def structured(tools: Any, choice: Any = "auto") -> StructuredOutputsParams:
    """Build the parameters that carry a spec."""
    return StructuredOutputsParams(**extra_body(tools, choice)["structured_outputs"])


def request(name: str, prompt_ids: Sequence[int], constraint: dict[str, Any], **more: Any) -> Any:
    """Build a request of another backend's; the constraint names it as `_backend`."""
    backend = constraint.pop("_backend")
    wanted = StructuredOutputsParams(**constraint)
    wanted._backend = backend
    return bare(name, prompt_ids, wanted, **more)


def enforced(
    name: str,
    prompt_ids: Sequence[int],
    tools: list[dict[str, Any]],
    choice: str = "auto",
    **more: Any,
) -> Any:
    """Build a request that carries a spec."""
    return bare(name, prompt_ids, structured(tools, choice), **more)


def ready(one: Any) -> Any:
    """Return a request's grammar, once it is made."""
    made = one.structured_output_request._grammar
    return made.result(60) if isinstance(made, Future) else made


OPENED = "<|im_assistant|>assistant<|im_middle|>"


def begin(made: Any, tag: str, prompt: str = OPENED, **params: Any) -> Any:
    """Begin a turn of the tiny model with a structural tag; return its grammar."""
    ids = write(runtime.table_for(made.tokenizer).vocabulary, prompt)
    one = request("r", ids, {"structural_tag": tag, "_backend": "xgrammar"})
    for name, value in params.items():
        setattr(one.sampling_params, name, value)
    made.grammar_init(one)
    return ready(one)
