"""vLLM's own renderer and input processor over the tiny model: a request's way in, without HTTP."""

import ast
import asyncio
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel
from vllm.engine.arg_utils import EngineArgs
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.renderers import renderer_from_config
from vllm.renderers.online_renderer import OnlineRenderer
from vllm.v1.engine import EngineCoreRequest
from vllm.v1.engine.input_processor import InputProcessor
from vllm.v1.request import Request
from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

from enforcer.vllm.engine.backend import EnforcedGrammar
from enforcer.vllm.replies.tool_parser import EnforcedParser
from tests import vllm_managers
from tests.vllm_servers import TINY

USER = {"role": "user", "content": "Where is it warm?"}
_ROOT = Path(__file__).resolve().parents[2] / "enforcer"


def undeclared(kind: type[BaseModel]) -> set[str]:
    """Return names under which our code could read a field that a request's class has not."""
    found = set()
    for file in [*(_ROOT / "vllm").rglob("*.py"), _ROOT / "request" / "carrier.py"]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                    found.add(name)
    assert {"sampling_params", "use_beam_search", "messages"} < found
    return {name for name in found if name.isidentifier()} - kind.model_fields.keys()


class Server:
    """vLLM's own objects on the way of a request, and what stands between API server and engine."""

    def __init__(self, manager: Any) -> None:
        config = EngineArgs(model=str(TINY), max_model_len=512).create_engine_config()
        self.renderer = OnlineRenderer(
            config.model_config,
            renderer_from_config(config),
            request_logger=None,
            chat_template=None,
            chat_template_content_format="auto",
        )
        self.renderer.parser = EnforcedParser
        self._inputs = InputProcessor(config)
        self.manager = manager

    def chat(self, *messages: Any, **fields: Any) -> tuple[Any, Any]:
        """Render a chat request; returns its prompt and its parameters."""
        body = {"model": "m", "messages": list(messages) or [USER], **fields}
        request = ChatCompletionRequest.model_validate_json(msgspec.json.encode(body))
        _, (prompt,) = asyncio.run(self.renderer.render_chat(request))
        return prompt, request.to_sampling_params(64, {})

    def completion(self, **fields: Any) -> tuple[Any, Any]:
        request = CompletionRequest.model_validate({"model": "m", "prompt": "Hi", **fields})
        (prompt,) = asyncio.run(self.renderer.render_completion(request))
        return prompt, request.to_sampling_params(64, {})

    def processed(self, prompt: Any, params: Any) -> bytes:
        """Take a request in, and encode it for the engine."""
        made = self._inputs.process_inputs("r", prompt, params, ("generate",), arrival_time=0.0)
        return b"".join(map(bytes, MsgpackEncoder().encode(made)))

    def begun(self, sent: bytes) -> EnforcedGrammar:
        """Begin a turn in the engine."""
        request = Request.from_engine_core_request(
            MsgpackDecoder(EngineCoreRequest).decode(sent), None
        )
        self.manager.grammar_init(request)
        found: EnforcedGrammar = vllm_managers.ready(request)
        return found
