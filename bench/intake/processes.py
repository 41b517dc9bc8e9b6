"""vLLM's API server and engine in a process each, without a socket and without a model.

The API server is vLLM's own application behind ASGI, with its `AsyncLLM`; the client of its engine
is replaced by one that encodes requests as vLLM's does and answers each with one token id. The
engine is the part of `EngineCore` that takes requests in, with its `StructuredOutputManager`, and
fills the first mask. Each has a process of its own, since both cache specs and schemas.

Owns: these processes and what is timed in them. Must not know: tables, which requests there are.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from unittest.mock import patch

import enforcer
from bench.demo.servers import MODEL_NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from types import FrameType, TracebackType

    from bench.demo.servers import Setting

_TOKEN_ID = 100  # of the reply
_STOP_SECONDS = 20


class FailedError(Exception):
    """A request was not answered with 200; the message has the answer."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds that a request took.

    Attributes:
        loop: processor time of the API server's event loop.
        engine: processor time of the engine process, up to the first mask.
        front_steps: functions of `enforcer.vllm` that the API server entered, as `FILE:NAME`, in
            the order of their first calls; empty without `trace`.
        engine_steps: the same of the engine.

    """

    loop: float
    engine: float
    front_steps: tuple[str, ...] = ()
    engine_steps: tuple[str, ...] = ()


class Pair:
    """The two processes of one way to serve; leaving the block ends them.

    Args:
        setting: how it is served.
        model: a model folder.
        log: where what they print goes.
        trace: whether to note which functions a request passes; times say nothing then.

    """

    def __init__(self, setting: Setting, model: Path, log: Path, *, trace: bool = False) -> None:
        self._log = log
        environment = {
            "VLLM_PLUGINS": setting.plugins,
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
            **dict(setting.environment),
        }
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._started = []
        for name, serve in (("APIServer", _front), ("EngineCore", _engine)):  # vLLM's own names
            mine, theirs = context.Pipe()
            told = _Told(setting, str(model), str(log), trace)
            process = context.Process(target=_run, args=(serve, theirs, told), name=name)
            with patch.dict(os.environ, environment):
                process.start()
            theirs.close()
            self._pipes.append(mine)
            self._started.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pipe in self._pipes:
            pipe.close()  # each process ends as its pipe does
        for process in self._started:
            process.join(_STOP_SECONDS)
            process.kill()

    def wait_until_ready(self) -> None:
        """Block until both take requests.

        Raises:
            FailedError: one ended.

        """
        for pipe in self._pipes:
            self._answer(pipe)

    def send(self, body: bytes) -> Spent:
        """Have a request taken in.

        Raises:
            FailedError: it was refused, or a process ended.

        """
        front, engine = self._pipes
        front.send(body)
        loop, frames, first = self._answer(front)
        engine.send(frames)
        spent, then = self._answer(engine)
        return Spent(loop, spent, first, then)

    def _answer(self, pipe: Connection) -> Any:
        try:
            answer = pipe.recv()
        except EOFError as error:
            raise FailedError(f"a process ended:\n{self._log.read_text()[-4000:]}") from error
        if isinstance(answer, str):
            raise FailedError(answer)
        return answer


class _Trace:
    """Functions of `enforcer.vllm`, in the order in which a process first enters them."""

    def __init__(self, *, on: bool) -> None:
        self._folder = str(Path(enforcer.__file__).parents[1]) + os.sep
        self._steps: dict[str, None] = {}
        if on:
            threading.setprofile(self._enter)
            sys.setprofile(self._enter)

    def _enter(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename.removeprefix(self._folder)
        if event == "call" and file.startswith(f"enforcer{os.sep}vllm{os.sep}"):
            self._steps.setdefault(f"{file}:{frame.f_code.co_qualname}")

    def taken(self) -> tuple[str, ...]:
        """Return the functions since the last time."""
        steps = tuple(self._steps)
        self._steps.clear()
        return steps


class _Told(NamedTuple):
    """What a process is started with."""

    setting: Setting
    model: str
    log: str
    trace: bool


def _run(serve: Callable[..., None], pipe: Connection, told: _Told) -> None:
    steps = _Trace(on=told.trace)
    for stream in (sys.stdout, sys.stderr):
        log = os.open(told.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, stream.fileno())
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.plugins import load_general_plugins
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    load_general_plugins()
    words = ["--model", told.model, "--served-model-name", MODEL_NAME, "--dtype", "float32"]
    words += ["--enforce-eager", "--no-enable-log-requests", *told.setting.flags]
    args = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    engine_args = AsyncEngineArgs.from_cli_args(args)
    serve(pipe, engine_args.create_engine_config(), steps, args)


def _received(pipe: Connection) -> Any:
    """Return the next message; None once the other end is closed."""
    try:
        return pipe.recv()
    except EOFError:
        return None


class _EngineClient:
    """Stands for the client of an engine that answers each request with one token id."""

    engine_ranks_managed = (0,)
    resources = SimpleNamespace(engine_dead=False)

    def __init__(self, **_: Any) -> None:
        from vllm.v1.serial_utils import MsgpackEncoder

        self._encoder = MsgpackEncoder()
        self._outputs: asyncio.Queue[Any] = asyncio.Queue()
        self.frames: list[bytes] = []

    async def get_supported_tasks_async(self) -> tuple[str, ...]:
        return ("generate",)

    async def add_request_async(self, request: Any) -> None:
        from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason

        self.frames = [bytes(frame) for frame in self._encoder.encode(request)]
        said = EngineCoreOutput(request.request_id, [_TOKEN_ID], finish_reason=FinishReason.LENGTH)
        self._outputs.put_nowait(EngineCoreOutputs(outputs=[said]))

    async def get_output_async(self) -> Any:
        return await self._outputs.get()

    def shutdown(self, timeout: float | None = None) -> None: ...


def _front(pipe: Connection, config: Any, trace: _Trace, args: Any) -> None:
    asyncio.run(_serve(pipe, config, trace, args))


async def _serve(pipe: Connection, config: Any, trace: _Trace, args: Any) -> None:
    from vllm.entrypoints.launchers.api_server.app_state import init_app_state
    from vllm.entrypoints.launchers.app import build_app
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.core_client import EngineCoreClient

    EngineCoreClient.make_async_mp_client = staticmethod(_EngineClient)
    llm = AsyncLLM.from_vllm_config(config)
    tasks = ("generate",)
    app = build_app(args, tasks, llm.model_config)
    await init_app_state(llm, app.state, args, tasks)
    gc.freeze()
    pipe.send(True)
    loop = asyncio.get_running_loop()
    # Read on a thread, so that checks that go on behind a reply can.
    while (body := await loop.run_in_executor(None, _received, pipe)) is not None:
        gc.collect()
        trace.taken()
        spent = time.thread_time()
        status, answer = await _post(app, body)
        loop_ms = (time.thread_time() - spent) * 1e3
        if status != 200:
            pipe.send(f"{status}: {answer.decode()[:500]}")
        else:
            pipe.send((loop_ms, llm.engine_core.frames, trace.taken()))
    llm.shutdown()


async def _post(app: Any, body: bytes) -> tuple[int, bytes]:
    """Post to the chat route of an ASGI application."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/v1/chat/completions", "raw_path": b"/v1/chat/completions",
        "root_path": "", "query_string": b"", "client": ("127.0.0.1", 1), "server": ("here", 80),
        "headers": [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ],
    }  # fmt: skip
    given = iter([{"type": "http.request", "body": body, "more_body": False}])
    gone = asyncio.Event()
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        for message in given:
            return message
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    await app(scope, receive, send)
    return said[0]["status"], b"".join(one.get("body", b"") for one in said)


def _engine(pipe: Connection, config: Any, trace: _Trace, _: Any) -> None:
    import numpy as np
    import torch
    from vllm.envs import enable_envs_cache
    from vllm.utils.hashing import get_hash_fn_by_name
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.core import EngineCore
    from vllm.v1.serial_utils import MsgpackDecoder
    from vllm.v1.structured_output import StructuredOutputManager

    hashing = get_hash_fn_by_name(config.cache_config.prefix_caching_hash_algo)
    init_none_hash(hashing)

    class Engine(EngineCore):  # type: ignore[misc]
        """What of an engine core takes requests in."""

        def __init__(self) -> None:
            self.vllm_config = config
            self.structured_output_manager = StructuredOutputManager(config)
            self.mm_receiver_cache = None
            self.request_block_hasher = get_request_block_hasher(16, hashing)

    engine, decoder = Engine(), MsgpackDecoder(EngineCoreRequest)
    row = torch.from_numpy(
        np.zeros((1, -(-config.model_config.get_vocab_size() // 32)), dtype=np.int32)
    )
    # vLLM's engine has threads for its sockets. A process without any takes no locks for memory,
    # and hashes a prompt 5 % faster.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    enable_envs_cache()  # as `EngineCore` does
    gc.freeze()
    pipe.send(True)
    while (frames := _received(pipe)) is not None:
        gc.collect()
        trace.taken()
        spent = time.process_time()
        request, _ = engine.preprocess_add_request(decoder.decode(frames))
        constraint = request.structured_output_request
        if constraint is not None:
            made = constraint._grammar  # noqa: SLF001 - `grammar` would have to be asked again
            grammar = made.result() if isinstance(made, Future) else made
            grammar.fill_bitmask(row, 0)
        pipe.send(((time.process_time() - spent) * 1e3, trace.taken()))
