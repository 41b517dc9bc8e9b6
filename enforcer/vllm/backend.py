"""vLLM's structured-output machinery, made to run our matcher.

Owns: the grammar object that the scheduler drives, the backend that makes one, and
the replacement of `StructuredOutputManager._create_grammar`. Runs in the engine
process. Must not know: HTTP requests, tool parsers.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMValidationError
from vllm.v1.structured_output.backend_types import (
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

from enforcer import dialect as dialects
from enforcer import spec as specs
from enforcer.errors import ConfigurationError, EnforcerError
from enforcer.vllm import frontend, metrics, runtime, settings, stock
from enforcer.vllm.metrics import Failure
from enforcer.vllm.readable import ReadableMatcher

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from enforcer.matcher import Matcher


class EnforcedGrammar(StructuredOutputGrammar):  # type: ignore[misc]
    """A matcher behind vLLM's interface.

    Never terminated: after the end of the turn only its end is legal, whereas vLLM gives a
    terminated grammar a mask that permits all.
    """

    def __init__(self, matcher: Matcher | ReadableMatcher, request_id: str) -> None:
        self.matcher = matcher
        self._request_id = request_id
        self._masked = metrics.recorder().observer(metrics.MASK)
        self._reported = False

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Advance; False, the state being unchanged then, makes vLLM end the request.

        It ends with an error. So does a turn whose gate was closed: its end, though legal
        then, is not the model's.
        """
        for count, token in enumerate(tokens):
            if not self.matcher.accept(token):
                metrics.failed(Failure.REJECTED, request_id, state=self.matcher.state)
                self.matcher.rollback(count)
                return False
        if self.matcher.failure is not None:
            self._report_failure(self.matcher.failure)
            # Where these ids are a draft, vLLM takes back only those that we said True to.
            self.matcher.rollback(len(tokens))
            return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Give the legal prefix of drafted tokens; the state is unchanged."""
        return tokens[: self.matcher.validate(tokens)]

    def rollback(self, num_tokens: int) -> None:
        """Take back drafted tokens that were not kept."""
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write one row (int32, on the CPU)."""
        begun = perf_counter_ns()
        self.matcher.fill(bitmask, batch_index)
        self._masked(perf_counter_ns() - begun)
        if self.matcher.failure is not None:
            self._report_failure(self.matcher.failure)

    def _report_failure(self, failure: EnforcerError) -> None:
        """Count and log a closed gate, once a turn."""
        if self._reported:
            return
        self._reported = True
        metrics.failed(
            Failure.GATE_CLOSED,
            self._request_id,
            state=self.matcher.state,
            error=type(failure).__name__,
        )

    def is_terminated(self) -> bool:
        """Never: see the class."""
        return False

    def reset(self) -> None:
        """Go back to where the turn started."""
        self.matcher.rollback(self.matcher.accepted)


class EnforcerBackend(XgrammarBackend):  # type: ignore[misc]
    """xgrammar's backend, which leaves structural tags with our key to us."""

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> StructuredOutputGrammar:
        """Compile; a spec that arrives here has lost its prompt, and is refused."""
        if _spec_of(request_type, grammar_spec) is not None:
            raise ConfigurationError(
                "a spec of the enforcer reached the backend without its prompt: "
                "StructuredOutputManager._create_grammar is not patched in this process"
            )
        return super().compile_grammar(request_type, grammar_spec, stop_token_ids)

    def start(self, text: str, prompt_ids: list[int] | None, request_id: str) -> EnforcedGrammar:
        """Start a request's turn from its spec and its prompt."""
        try:
            matcher = runtime.start(self.tokenizer, text, prompt_ids)
        except EnforcerError as error:
            metrics.failed(Failure.START, request_id, error=type(error).__name__)
            raise
        vocabulary = runtime.enforcer_for(self.tokenizer).vocabulary
        if self.vocab_size < vocabulary.size:
            raise ConfigurationError(
                f"the model has {self.vocab_size} ids, its tokenizer {vocabulary.size}"
            )
        return EnforcedGrammar(matcher, request_id)

    def start_stock(self, tag: str, request: Any) -> EnforcedGrammar:
        """Start a request's turn from a structural tag that vLLM's own front end built."""
        enforcer = runtime.enforcer_for(self.tokenizer)
        try:
            found = stock.recognise(tag, enforcer.table, request.prompt_token_ids)
            spec = found.spec
            frontend.refuse_sampling(request.sampling_params, spec)
            enforcer.check(spec)
            matcher = enforcer.start(spec, request.prompt_token_ids)
        except (EnforcerError, VLLMValidationError) as error:
            metrics.failed(Failure.START, request.request_id, error=repr(error))
            raise
        metrics.enforced(spec.toolset.choice)
        reader = stock.reader(enforcer.table, found.front_end)
        return EnforcedGrammar(ReadableMatcher(matcher, reader), request.request_id)


def _spec_of(request_type: StructuredOutputOptions, grammar_spec: str) -> str | None:
    if request_type != StructuredOutputOptions.STRUCTURAL_TAG:
        return None
    return specs.from_structural_tag(grammar_spec)


def create_grammar(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `StructuredOutputManager._create_grammar`, which alone sees prompt and grammar."""

    def _create_grammar(self: Any, request: Any) -> StructuredOutputGrammar:
        wanted = request.structured_output_request
        kind, source = wanted.structured_output_key
        spec = _spec_of(kind, source)
        stock_tag = (
            spec is None
            and kind == StructuredOutputOptions.STRUCTURAL_TAG
            and stock.concerns(source, dialects.load(settings.current().dialect))
        )
        if spec is None and not stock_tag:
            return original(self, request)
        if not isinstance(self.backend, EnforcerBackend):
            raise ConfigurationError(
                f"the enforcer rides on vLLM's xgrammar backend, not on "
                f"{type(self.backend).__name__}: remove `backend` from --structured-outputs-config"
            )
        # Our envelope has the think in it. vLLM's own gate would leave it unmasked.
        wanted.reasoning_ended = True
        if spec is None:
            return self.backend.start_stock(source, request)
        return self.backend.start(spec, request.prompt_token_ids, request.request_id)

    return _create_grammar
