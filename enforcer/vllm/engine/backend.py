"""Grammar objects for vLLM's scheduler, and the wrappers that make one for an enforced request.

`StructuredOutputManager.grammar_init` gives a request that carries a spec an `EnforcedGrammar`;
other requests keep vLLM's own backends. All of this runs in the engine process.

vLLM calls `fill_bitmask` before each token and `accept_tokens` behind it; with draft tokens
`validate_tokens` and `rollback` too. `is_terminated` is always False, and `reset`, which vLLM never
calls, fails closed. The adapter calls `fill`, `accept`, `rollback`, `validate` and `fail` of
`turn.matcher.Matcher`, and reads its `failure`, `state` and `tool`; the metrics read `text_weight`,
and `drafts` calls `propose`.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from enforcer.errors import ConfigurationError, EnforcerError
from enforcer.request import carrier
from enforcer.vllm import drafts
from enforcer.vllm.drafts import Proposed
from enforcer.vllm.engine import engine_admission
from enforcer.vllm.engine.compile_executor import CompileExecutor, fill_in_one_thread
from enforcer.vllm.native import native_tags
from enforcer.vllm.native.misreadings import MisreadError, ReadableMatcher, VllmReader
from enforcer.vllm.observe import metric_defs, metrics, recording, request_context
from enforcer.vllm.observe.metric_defs import Failure
from enforcer.vllm.server import reply_lengths, runtime, served_model

if TYPE_CHECKING:
    from concurrent.futures import Future

    import torch

    from enforcer.api import Enforcer, Prepared
    from enforcer.request.spec import Spec
    from enforcer.turn.matcher import Matcher
    from enforcer.vllm.engine.engine_admission import Source
    from enforcer.vllm.intake.settling import AdmittedSpec

_WORD = 32  # token ids a word of a mask
_BETWEEN = 1.0  # seconds, after which what turns weigh is published again
SHORTENED = "finish_within_budget"  # `stop_reason` of a reply with a call that had to end early
_NEAR = 1024  # token ids from a prompt's end; a millisecond or two where they stand in arguments

_slow_masks = metrics.SlowMasks()


class EnforcedGrammar(StructuredOutputGrammar):  # type: ignore[misc]
    """A matcher behind vLLM's interface.

    It is never terminated: after the end of the turn only its end is legal, whereas vLLM gives a
    terminated grammar a mask that permits all.

    No method raises: vLLM calls them in the thread that serves every request of the engine, where
    an exception ends them all.
    """

    def __init__(
        self, matcher: Matcher | ReadableMatcher, request_id: str, request: Any = None
    ) -> None:
        self.matcher = matcher
        self._request_id = request_id
        self._request = None if request is None else ref(request)  # which has this grammar
        self._is_told = False
        # Last; None for a turn that gets no drafts. See `drafts`.
        self.proposed: Proposed | None = Proposed(0, 0, in_call=False)
        self._masked = recording.recorder().observer(metric_defs.MASK)
        self._reported = False

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Advance; False, the state being unchanged then, makes vLLM end the request.

        It ends with an error. So does a turn that failed closed: its end, though legal then, is not
        the model's.
        """
        matcher, legal = self.matcher, 0
        for token_id in tokens:
            if not matcher.accept(token_id):
                break
            legal += 1
        else:
            if matcher.failure is None:
                if matcher.is_shortened:
                    self._tell_of_budget()
                return True
        if matcher.failure is None:
            metrics.failed(Failure.REJECTED, request_id, state=matcher.state)
        self._report_failure()
        # Of draft tokens vLLM takes back only those that were accepted.
        matcher.rollback(legal)
        return False

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Return the legal prefix of draft tokens; the state is unchanged."""
        return tokens[: self.matcher.validate(tokens)]

    def rollback(self, num_tokens: int) -> None:
        """Take back draft tokens that were not kept."""
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write one row (int32, on the CPU)."""
        begun = perf_counter_ns()
        self.matcher.fill(bitmask, batch_index)
        spent = perf_counter_ns() - begun
        self._masked(spent)
        if spent >= metrics.SLOW_MASK:
            _slow_masks.see(spent, self._tool, self._request_id)
        if self.matcher.failure is not None:
            self._report_failure()

    def _tell_of_budget(self) -> None:
        """Say in the reply, and once in the log, that its budget has shortened a call."""
        request = None if self._request is None else self._request()
        if request is not None:
            request.stop_reason = SHORTENED
        if not self._is_told:
            self._is_told = True
            metrics.shortened(self._request_id, self._tool())

    def _tool(self) -> str:
        return request_context.told_of_call(self.matcher.tool)["tool"]

    def _report_failure(self) -> None:
        """Count and log a turn that failed closed, once."""
        failure = self.matcher.failure
        if failure is None or self._reported:
            return
        self._reported = True
        is_theirs = isinstance(failure, MisreadError)  # `choice` of a marker alone
        metrics.failed(
            Failure.REFUSED if is_theirs else Failure.GATE_CLOSED,
            self._request_id,
            state=self.matcher.state,
            error=type(failure).__name__,
            tool=self._tool(),
        )

    def is_terminated(self) -> bool:
        """Return False: see the class."""
        return False

    def reset(self) -> None:
        """Fail closed: a turn cannot be taken back to its start. vLLM asks no grammar to."""
        self.matcher.fail(
            ConfigurationError("a grammar serves one turn and cannot be reset: create another one")
        )


class _Common(NamedTuple):
    """What the turns of one spec have in common, whatever their prompts.

    Attributes:
        spec: what they allow.
        enforcer: makes their matchers.
        reader: see `engine_admission.admit`.
        prepared: see `Enforcer.prepare`.

    """

    spec: Spec
    enforcer: Enforcer
    reader: VllmReader | None
    prepared: Prepared


class _Host:
    """The state beside one `StructuredOutputManager`.

    Attributes:
        executor: the threads that make turns ready.
        managers: copies of the manager, each with one of vLLM's own backends, by its name. vLLM
            fixes one by the first structured request, and fails, or misreads, those that its front
            end gave to another.

    """

    def __init__(self, manager: Any) -> None:
        self.executor = CompileExecutor()
        self.managers: dict[str, Any] = {}
        self._manager = manager
        size = manager.vllm_config.model_config.get_vocab_size()
        if manager._grammar_bitmask is None:  # noqa: SLF001 - vLLM asks its backend for it
            manager._grammar_bitmask = _rows(manager.vllm_config, size)  # noqa: SLF001
        executor = getattr(manager, "executor_for_fillmask", None)
        fill_in_one_thread(executor, lambda each: isinstance(each, EnforcedGrammar))
        self._ids = size
        # The draft tokens of a step, and the token that the model adds to them.
        self._drafts = manager.vllm_config.num_speculative_tokens + 1
        self.drafting = drafts.drafting(manager.vllm_config)
        self.live: WeakValueDictionary[str, Matcher] = WeakValueDictionary()
        self._common: WeakKeyDictionary[AdmittedSpec, _Common] = WeakKeyDictionary()
        # How often the cache had been asked by then, and when the next time is due.
        self._published = (-1, 0.0)

    def manager_of(self, backend: str) -> Any:
        """Return the manager that compiles with one of vLLM's own backends."""
        if backend not in self.managers:
            self.managers[backend] = copy.copy(self._manager)
            self.managers[backend].backend = self.managers[backend].backend_name = None
        return self.managers[backend]

    def begin(self, source: Source, request: Any) -> Future[EnforcedGrammar]:
        """Make a request's turn ready, on another thread unless its spec has been read before."""
        known = engine_admission.admitted(source, is_read=True)
        steps = self._steps(source, request, known)
        return self.executor.begin(steps, lambda: not request.is_finished(), here=known is not None)

    def _steps(
        self, source: Source, request: Any, known: AdmittedSpec | None = None
    ) -> Generator[None, None, EnforcedGrammar]:
        """Make a turn ready in steps: admit its spec, compile, read the prompt, start."""
        prompt_ids, spec = request.prompt_token_ids, None
        try:
            if request.resumable:
                raise ConfigurationError(carrier.SESSION)  # noqa: TRY301 - a turn that fails
            if known is None:
                request_context.change(tools=())  # not those of the last request on this thread
                known = engine_admission.admitted(source)
            common = None if known is None else self._common.get(known)
            if common is None:
                tokenizer = self._manager.tokenizer
                spec, reader = engine_admission.admit(
                    source, known, request, tokenizer, self.enforcer
                )
                enforcer = self.enforcer(spec)
                prepared = yield from enforcer.prepare(spec)
                common = _Common(spec, enforcer, reader, prepared)
                if known is not None and not prepared.has_grammars:
                    self._common[known] = common
            spec, enforcer, reader, prepared = common
            in_time = prepared.options.finish_within_budget
            if in_time:
                yield  # how short each tool's arguments can be has to be found out
            if prompt_ids is not None and not enforcer.table.opens_near(prompt_ids, _NEAR):
                yield  # reading the turn's part of the prompt takes as long as that is
            matcher = enforcer.start(
                spec,
                prompt_ids,
                # The deadline does not know which tokens a reader masks.
                self._budget(request) if in_time and reader is None else None,
                prepared=prepared,
                ahead=self.executor.short,
                rollback=self._drafts,
            )
        except GeneratorExit:
            raise  # the request is gone
        except BaseException as error:
            engine_admission.tell_of_failure(error, spec, request, is_admitted=known is not None)
            raise
        finally:
            self._publish()
        if known is None:
            metrics.count(metric_defs.REQUESTS, spec.toolset.choice)
        self.live[request.request_id] = matcher
        readable = matcher if reader is None else ReadableMatcher(matcher, reader)
        return EnforcedGrammar(readable, request.request_id, request)

    def _publish(self) -> None:
        """Publish what the cache holds, once it was asked; else now and then."""
        cache, now = runtime.kept(), monotonic()
        asked, (before, due) = cache.hits + cache.misses, self._published
        if asked == before and now < due:
            return
        self._published = asked, now + _BETWEEN
        live = filter(None, (found() for found in self.live.valuerefs()))
        metrics.cached(cache, sum(each.text_weight for each in live))

    def _budget(self, request: Any) -> int | None:
        """Return how many tokens a request may generate, where that matters."""
        config = self._manager.vllm_config.model_config
        return reply_lengths.budget(config, request.num_prompt_tokens, request.sampling_params)

    def enforcer(self, spec: Spec | None = None) -> Enforcer:
        """Return the engine's enforcer for the settings of a spec.

        Raises:
            ConfigurationError: there can be none for this model.

        """
        return runtime.enforcer_of_model(self._manager.tokenizer, self._ids, spec)


def _rows(config: Any, ids: int) -> torch.Tensor:
    """Allocate the rows that vLLM's backends would: one for each draft token and one more."""
    import torch

    count = config.scheduler_config.max_num_seqs * (1 + config.num_speculative_tokens)
    return torch.full((count, -(-ids // _WORD)), -1, dtype=torch.int32)


def _host(manager: Any) -> _Host:
    if "_enforcer" not in vars(manager):
        manager._enforcer = _Host(manager)  # noqa: SLF001 - ours, on vLLM's object
    found: _Host = manager._enforcer  # noqa: SLF001
    return found


def initialised(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Wrap `StructuredOutputManager.__init__`, which runs before an engine is ready.

    It builds what the first enforced request needs: a second or three for Kimi's vocabulary.
    """
    original(self, *args, **kwargs)
    recording.runs_engine()
    host = _host(self)
    reply_lengths.meet(self.vllm_config)
    if getattr(self, "tokenizer", None) is None:
        return
    try:
        host.enforcer().warm()
        if served_model.has_stock_parser():
            native_tags.reader(host.enforcer().table)
        runtime.pool().warm()
    except EnforcerError as error:
        metrics.log_nothing(served_model.blamed(error), asked=served_model.has_our_parser())


def grammar_init(original: Any, self: Any, request: Any) -> None:
    """Wrap `StructuredOutputManager.grammar_init`: give an enforced request a grammar of ours.

    The grammar is a future, and covers the reasoning, so that `reasoning_ended` is set. Other
    requests go to the backend of their own. vLLM calls it on one thread, before a request is
    scheduled.
    """
    wanted = request.structured_output_request
    if wanted is None:
        return
    host = _host(self)
    source = engine_admission.source_of(request)
    if source is None:
        own = host.manager_of(request.sampling_params.structured_outputs._backend)  # noqa: SLF001
        original(own, request)
        self.backend = own.backend  # vLLM destroys it in the end
        return
    # Our grammar contains the reasoning, which vLLM's own gate would leave unmasked.
    wanted.reasoning_ended = True
    grammar = host.begin(source, request)
    if not self._use_async_grammar_compilation:
        grammar.exception()  # every rank must see it at the same step
    wanted.grammar = grammar


def validate_tokens(original: Any, self: Any, request: Any, spec_tokens: list[int]) -> Any:
    """Wrap `StructuredOutputManager.validate_tokens`: propose draft tokens where nobody else does.

    What it returns, vLLM verifies. A grammar of ours covers the reasoning.
    """
    host = _host(self)
    if host.drafting is not None and not spec_tokens:
        grammar = getattr(request.structured_output_request, "grammar", None)
        if isinstance(grammar, EnforcedGrammar) and grammar.proposed is not None:
            return host.drafting.propose(grammar, len(host.live))
    return original(self, request, spec_tokens)
