"""Triton's kernels on a machine without a GPU, so that vLLM's CPU build has its V2 runner.

Owns: what vLLM's CPU build and Triton's interpreter lack for one another, and keeping the
build from switching asynchronous scheduling off. Must not know: what is served.

Python imports a module of this name at the start of each process whose PYTHONPATH has its
folder; `bench.speculation.ways` sets that up for a server's processes. Slow, for tests only.
"""

from __future__ import annotations

import os

if os.environ.get("TRITON_INTERPRET") == "1":
    import functools
    import importlib.util
    import inspect
    import sys
    from typing import TYPE_CHECKING, Any

    import triton.backends
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    if TYPE_CHECKING:
        from collections.abc import Callable
        from importlib.machinery import ModuleSpec
        from types import ModuleType

    class _Interpreter:
        """What vLLM takes for a backend: it looks for one called `cpu`, with a driver."""

        class driver:  # noqa: N801 - the attribute's name
            """Says that it is there."""

            @staticmethod
            def is_active() -> bool:
                """Say so."""
                return True

    triton.backends.backends.setdefault("cpu", _Interpreter)

    def _takes_any_mask(original: Callable[..., Any]) -> Callable[..., Any]:
        """Make truth values of a mask of integers, as compiled kernels do."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def with_truth_values(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            mask = bound.arguments["mask"]
            if mask is not None:
                bound.arguments["mask"] = TensorHandle(mask.data != 0, mask.dtype)
            return original(*bound.args, **bound.kwargs)

        return with_truth_values

    InterpreterBuilder.create_masked_load = _takes_any_mask(InterpreterBuilder.create_masked_load)
    InterpreterBuilder.create_masked_store = _takes_any_mask(InterpreterBuilder.create_masked_store)

    class _Platform:
        """Finds vLLM's module of the CPU, which is not to be imported before vLLM wants it."""

        def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
            """Find that module, and change it once it has run."""
            if name != "vllm.platforms.cpu":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            if spec is None or spec.loader is None:
                return None
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                _keep_asynchronous(module.CpuPlatform)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
            return spec

    def _keep_asynchronous(platform: Any) -> None:
        """Leave asynchronous scheduling as it was asked for: it is what GPUs run with."""
        original = platform.check_and_update_config.__func__

        def check_and_update_config(cls: Any, vllm_config: Any) -> None:
            wanted = vllm_config.scheduler_config.async_scheduling
            original(cls, vllm_config)
            vllm_config.scheduler_config.async_scheduling = wanted
            if wanted:
                print("asynchronous scheduling stays on", file=sys.stderr)

        platform.check_and_update_config = classmethod(check_and_update_config)

    sys.meta_path.insert(0, _Platform())
