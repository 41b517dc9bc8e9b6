"""Lets vLLM's CPU build use Ray: its CPU platform names the device that Ray counts.

By itself it refuses: "current platform cpu does not support ray" (`v1/executor/ray_utils.py`). It
goes on `PYTHONPATH`, for Ray's actors ask for the device before they load any plugin. vLLM is
not imported for it: Ray's own processes start with it, too.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PLATFORM = "vllm.platforms.cpu"


class _Named(MetaPathFinder):
    def find_spec(self, name: str, path: object, _: object = None) -> ModuleSpec | None:
        if name != _PLATFORM:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)  # type: ignore[arg-type]
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            module.CpuPlatform.ray_device_key = "GPU"

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _Named())
