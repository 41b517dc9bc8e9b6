"""vLLM's own engine loop, scheduler and structured-output manager, over a runner without a model.

Owns: what a model runner does with masks and drafts (some kept, some not, placeholders, ids
whose delivery is late or dropped), chosen at random, and following each request beside it.
Must not know: what is asserted of the histories that come of it.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import numpy as np
import torch
from vllm.engine.arg_utils import EngineArgs
from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.engine.core import EngineCore
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

import enforcer
from bench.speculation.ways import GRAMMAR
from enforcer.request import carrier, spec_text
from enforcer.turn.matcher import Matcher
from tests.vllm_servers import TINY, reader

_BLOCK = 16
_FRESH = 0.15  # of the rows behind a draft, so many are compared with a matcher begun anew
_HURRY = 0.35


_here = threading.local()


@contextmanager
def beside() -> Iterator[None]:
    """Mark what this thread does as the test's own; see `is_engine`."""
    before = getattr(_here, "beside", False)
    _here.beside = True
    try:
        yield
    finally:
        _here.beside = before


def is_engine() -> bool:
    """Tell whether this thread works for the engine, and not for what is compared with it."""
    return not getattr(_here, "beside", False)


@dataclass(frozen=True, slots=True)
class Mode:
    """How the engine runs.

    Attributes:
        drafts: proposed for each request and step.
        queued: asynchronous scheduling, with a batch in flight while the next is scheduled.
        ours: the drafts are the grammar's.
        blocks: of the KV cache; few make requests wait for one another and be preempted.

    """

    drafts: int
    queued: bool
    ours: bool = False
    blocks: int = 24
    sequences: int = 8


@cache
def enforcers() -> enforcer.Enforcer:
    """Give an enforcer that shares nothing with the engine's."""
    return reader(TINY)


@cache
def config(mode: Mode) -> Any:
    """Give vLLM's configuration; the CPU build would switch asynchronous scheduling off."""
    method = GRAMMAR if mode.ours else {"method": "ngram", "prompt_lookup_max": 3}
    drafts = {**method, "num_speculative_tokens": mode.drafts}
    small = {"max_model_len": 256, "max_num_batched_tokens": 64, "block_size": _BLOCK}
    made = EngineArgs(
        model=str(TINY),
        dtype="float32",
        enforce_eager=True,
        max_num_seqs=mode.sequences,
        speculative_config=drafts if mode.drafts else None,
        **small,
    ).create_engine_config()
    made.scheduler_config.async_scheduling = mode.queued
    made.cache_config.num_gpu_blocks = mode.blocks
    return made


@dataclass(slots=True)
class Sent:
    """A request, and what has come of it.

    Attributes:
        spec: text of the spec; None for a request that is not enforced.
        ids: what the engine has delivered.
        finish: vLLM's reason; None while it runs.

    """

    name: str
    spec: str | None
    prompt: list[int]
    ids: list[int] = field(default_factory=list)
    finish: str | None = None

    def matcher(self) -> Matcher:
        """Start the turn anew."""
        return enforcers().start(spec_text.read(self.spec), self.prompt)


class Follower:
    """One request as the runner sees it: ids that it has sampled, also those still in flight."""

    def __init__(self, sent: Sent, *, strict: bool) -> None:
        self.sent = sent
        self.lost = False  # an id came, or a mask, that is not what a matcher of ours allows
        self._strict = strict
        self.ids: list[int] = []
        self.drafts: list[int] = []
        self.matcher = sent.matcher() if sent.spec else None

    def go_to(self, ids: list[int]) -> None:
        """Begin where the scheduler says that a request which was preempted stands."""
        self.ids, self.drafts, self.lost = [], [], False
        if self.matcher is not None:
            self.matcher = self.sent.matcher()
        self.advance(ids)

    def advance(self, ids: list[int]) -> None:
        self.ids += ids
        for token_id in ids:
            if self.matcher is not None and not self.lost and not self.matcher.accept(token_id):
                self.lose(token_id)

    def lose(self, what: object) -> None:
        """Stop following, or fail where nothing is to go wrong."""
        assert not self._strict, (self.sent, what, self.matcher)
        self.lost = True


class Runner:
    """Stands for vLLM's executor, worker and model.

    Args:
        random: draws everything.
        mode: says how many ids are proposed for each request.
        size: ids of the model.

    """

    def __init__(self, random: Random, mode: Mode, size: int) -> None:
        self._random = random
        self._count = mode.drafts
        self._ours = mode.ours
        self._size = size
        self.followers: dict[str, Follower] = {}
        self.requests: dict[str, Request] = {}
        self.kept = self.refused = self.rows = 0
        self._batch: tuple[Any, dict[str, bool]] | None = None
        self._proposed: list[str] = []

    def execute_model(self, batch: Any, *, non_block: bool) -> Future[Any]:
        assert non_block
        done: Future[Any] = Future()
        if not batch.total_num_scheduled_tokens:
            done.set_result(ModelRunnerOutput([], {}))
            return done
        again = {new.req_id for new in batch.scheduled_new_reqs}
        again |= batch.scheduled_cached_reqs.resumed_req_ids
        with beside():
            for name in again:
                self.followers[name].go_to(list(self.requests[name].output_token_ids))
        whole = {name: not self.requests[name].is_prefill_chunk for name in self.requests}
        self._batch = (batch, whole)
        done.set_result(None)
        return done

    def sample_tokens(self, masks: Any, *, non_block: bool = False) -> Any:
        with beside():
            output = self._sampled(masks)
        if not non_block:
            return output
        done: Future[Any] = Future()
        done.set_result(output)
        return done

    def _sampled(self, masks: Any) -> ModelRunnerOutput:
        assert self._batch is not None
        (batch, whole), self._batch = self._batch, None
        scheduled = batch.scheduled_spec_decode_tokens
        rows: dict[str, tuple[np.ndarray, int]] = {}
        if masks is not None:
            named = masks.structured_output_request_ids
            counts = [1 + len(scheduled.get(name, ())) for name in named]
            # vLLM 0.32 packs the rows of all requests; from 0.33 on each has as many as any may.
            wide = len(masks.grammar_bitmask) // len(named)
            is_packed = len(masks.grammar_bitmask) == sum(counts)
            assert is_packed or wide >= max(counts)
            at = 0
            for name, count, most in zip(named, counts, masks.num_acceptable_drafts, strict=True):
                rows[name] = (masks.grammar_bitmask[at : at + count].copy(), most)
                at += count if is_packed else wide
            assert at == len(masks.grammar_bitmask)
        names = list(batch.num_scheduled_tokens)
        sampled = []
        for name in names:
            new = []
            if whole.get(name):
                new = self._sample(self.followers[name], scheduled.get(name, []), rows.get(name))
                self.followers[name].advance(new)
            sampled.append(new)
        self._proposed = [name for name in names if whole.get(name)]
        for name in self._proposed:
            self.followers[name].drafts = self._propose(self.followers[name])
        return ModelRunnerOutput(names, {name: at for at, name in enumerate(names)}, sampled)

    def take_draft_token_ids(self) -> DraftTokenIds | None:
        if not self._count or not self._proposed:
            return None
        drafts = [list(self.followers[name].drafts) for name in self._proposed]
        return DraftTokenIds(list(self._proposed), drafts)

    def _sample(
        self, follower: Follower, drafts: list[int], masked: tuple[np.ndarray, int] | None
    ) -> list[int]:
        """Keep some drafts, from the first on, and sample the id behind them."""
        enforced = follower.matcher is not None and masked is not None
        if masked is None:
            # Not constrained, or ended while this batch was under way.
            drafts = follower.drafts[: len(drafts)]
            bits = np.ones((len(drafts) + 1, self._size), dtype=bool)
            most = len(drafts)
        else:
            rows, most = masked
            bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, : self._size]
            bits = bits.astype(bool)
        if enforced:
            self._compare(follower, drafts[:most], rows)
        kept = 0
        wanted = self._random.randint(0, len(drafts))
        while kept < min(wanted, most) and bits[kept][drafts[kept]]:
            kept += 1
        self.kept += kept
        self.refused += len(drafts) - kept
        if follower.matcher is not None and masked is None:
            return []
        return [*drafts[:kept], self._choose(bits[kept])]

    def _choose(self, bits: np.ndarray) -> int:
        legal = np.flatnonzero(bits).tolist()
        controls = enforcers().vocabulary.control_ids
        if self._random.random() < _HURRY:
            text = enforcers().vocabulary.token_bytes
            legal = [i for i in legal if i in controls or text(i) in _ENDS] or legal
        return int(self._random.choice(legal))

    def _compare(self, follower: Follower, drafts: list[int], rows: np.ndarray) -> None:
        """Compare masks with those of a matcher that saw no draft."""
        if follower.lost:
            return
        if not (rows[0] == _row(follower.matcher, rows.shape[1])).all():
            follower.lose("mask")
            return
        self.rows += 1
        if not drafts or self._random.random() > _FRESH:
            return
        fresh = follower.sent.matcher()
        for token_id in follower.ids:
            assert fresh.accept(token_id)
        for at, token_id in enumerate(drafts, 1):
            assert fresh.accept(token_id), "a draft that the engine took for legal"
            if not (rows[at] == _row(fresh, rows.shape[1])).all():
                follower.lose(f"mask behind draft {at}")
                return
            self.rows += 1

    def _propose(self, follower: Follower) -> list[int]:
        """Propose ids: legal ones, any, or legal ones and then any; or leave it to the grammar."""
        drafts: list[int] = []
        if self._ours:
            return drafts
        matcher = None if follower.lost else follower.matcher
        good = self._random.randint(0, self._count) if matcher is not None else 0
        while matcher is not None and len(drafts) < good:
            row = _row(matcher, -(-self._size // 32))
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            drafts.append(self._choose(bits))
            assert matcher.accept(drafts[-1])
        if matcher is not None and drafts:
            matcher.rollback(len(drafts))
        while len(drafts) < self._count:
            drafts.append(self._random.randrange(self._size))
        return drafts


_ENDS = (b'"', b"]", b"}", b'"}')


def _row(matcher: Any, words: int) -> Any:
    rows = np.zeros((1, words), dtype=np.int32)
    matcher.fill(rows)
    return rows[0]


class Engine(EngineCore):
    """The engine core of vLLM: its steps are inherited, what loads a model is not.

    Args:
        mode: how it runs.
        random: draws what the model samples and the drafts.
        strict: whether nothing is to go wrong; else a request that cannot be followed is
            marked as lost.

    """

    def __init__(self, mode: Mode, random: Random, *, strict: bool = True) -> None:
        vllm_config = config(mode)
        spec = FullAttentionSpec(
            block_size=_BLOCK, num_kv_heads=1, head_size=32, dtype=torch.float32
        )
        self.vllm_config = vllm_config
        self._strict = strict
        self.log_stats = False
        self._weight_version = "default"
        self.runner = Runner(random, mode, vllm_config.model_config.get_vocab_size())
        self.model_executor = self.runner
        self.structured_output_manager = StructuredOutputManager(vllm_config)
        self.scheduler = vllm_config.scheduler_config.get_scheduler_cls()(
            vllm_config=vllm_config,
            kv_cache_config=KVCacheConfig(mode.blocks, [], [KVCacheGroupSpec(["layer"], spec)]),
            structured_output_manager=self.structured_output_manager,
            block_size=_BLOCK,
        )
        self.use_spec_decode = self.check_for_draft_tokens = mode.drafts > 0
        self.async_scheduling = mode.queued
        self.batch_queue_size = 2 if mode.queued else 1
        self.batch_queue: deque[Any] | None = deque(maxlen=2) if mode.queued else None
        self.is_mm_encoder_only = self.is_pooling_model = False
        self.mm_receiver_cache = None
        self.aborts_queue: queue.Queue[Any] = queue.Queue()
        self.sent: dict[str, Sent] = {}
        self.preempted = 0
        self._tokenizer = cached_tokenizer_from_config(vllm_config.model_config)
        hashing = get_hash_fn_by_name(vllm_config.cache_config.prefix_caching_hash_algo)
        init_none_hash(hashing)
        self.request_block_hasher = get_request_block_hasher(_BLOCK, hashing)

    def send(self, sent: Sent, most: int, constraint: dict[str, Any] | None = None) -> None:
        """Add a request; `constraint` is one of vLLM's own for one that is not enforced."""
        structured = None
        if sent.spec is not None:
            structured = StructuredOutputsParams(structural_tag=carrier.structural_tag(sent.spec))
        elif constraint is not None:
            structured = StructuredOutputsParams(**constraint)
        params = SamplingParams(
            max_tokens=most,
            structured_outputs=structured,
            output_kind=RequestOutputKind.DELTA,
            skip_special_tokens=False,
        )
        end = enforcers().vocabulary.control("<|im_end|>")
        params.update_from_generation_config({}, end)
        if structured is not None:
            params._validate_structured_outputs(
                self.vllm_config.model_config,
                self.vllm_config.structured_outputs_config,
                self._tokenizer,
            )
        hasher = self.request_block_hasher
        request = Request(sent.name, list(sent.prompt), params, None, block_hasher=hasher)
        if request.use_structured_output:
            self.structured_output_manager.grammar_init(request)
        self.sent[sent.name] = sent
        self.runner.requests[sent.name] = request
        with beside():
            self.runner.followers[sent.name] = Follower(sent, strict=self._strict)
        self.add_request(request)

    def turn(self) -> None:
        """Run one step of the loop, and collect what it delivers."""
        if self.batch_queue is None:
            outputs, executed = self.step()
            self.post_step(executed)
        else:
            found, executed = self.step_with_batch_queue()
            outputs = found or {}
            self.post_step(executed)
        for delivered in outputs.values():
            for output in delivered.outputs:
                sent = self.sent[output.request_id]
                sent.ids += output.new_token_ids
                if output.finish_reason is not None:
                    sent.finish = str(output.finish_reason)

    def abort(self, name: str) -> None:
        """Give a request up, as a client that goes away does."""
        self.aborts_queue.put_nowait([name])
        self.sent[name].finish = "abort"

    def interrupt(self) -> None:
        """Make every running request begin again, and drop what is in flight for it."""
        self.scheduler.reset_prefix_cache(reset_running_requests=True)

    def busy(self) -> bool:
        return self.scheduler.has_requests() or bool(self.batch_queue)

    def close(self) -> None:
        self.preempted = sum(request.num_preemptions for request in self.runner.requests.values())
        self.structured_output_manager.clear_backend()


def drive(engine: Engine, new: Callable[[], bool], random: Random, steps: int = 100_000) -> None:
    """Run until nothing is left to send or to do; now and then a client gives up.

    Args:
        engine: it.
        new: sends one more request; False when there are none left.
        random: draws when.
        steps: more than these mean that the engine is stuck.

    """
    left = True
    for _ in range(steps):
        if left and len(engine.scheduler.requests) < 12 and random.random() < 0.5:
            left = new()
        event = random.random()
        running = [name for name, sent in engine.sent.items() if sent.finish is None]
        if running and event < 0.004:
            engine.abort(random.choice(running))
        elif event < 0.008:
            engine.interrupt()
        if engine.busy():
            engine.turn()
        elif not left:
            return
    raise AssertionError(f"the engine does not come to an end: {engine.scheduler.requests}")
