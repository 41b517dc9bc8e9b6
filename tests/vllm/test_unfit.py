"""On a vLLM that does not fit, what brings a spec is refused, and nothing else notices."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

import enforcer
from bench.demo.servers import FREE, MODEL_NAME
from enforcer.vllm import patches, unfit
from enforcer.vllm.config import settings
from enforcer.vllm.unfit import RefuseSpecs
from tests.vllm_servers import TINY, serving

if TYPE_CHECKING:
    from pathlib import Path

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
ASK = [{"role": "user", "content": "Where?"}]
ROUTES = list(enforcer.Route)


def sent(raw: bytes, path: str = "/v1/chat/completions") -> tuple[bytes | None, int, Any]:
    """Give what reaches vLLM, and what is answered in its place."""
    half = len(raw) // 2
    coming = [
        {"type": "http.request", "body": raw[:half], "more_body": True},
        {"type": "http.request", "body": raw[half:], "more_body": False},
    ]
    reached: list[bytes] = []
    answered: list[Any] = []

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        came = [await receive() for _ in range(2)]
        if came[0]["type"] == "http.disconnect":
            await send({"type": "http.response.start", "status": 400, "headers": []})
            return
        reached.append(b"".join(message["body"] for message in came))

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: Any) -> None:
        answered.append(message)

    scope = {"type": "http", "method": "POST", "path": path}
    asyncio.run(RefuseSpecs(app)(scope, receive, send))
    if not answered:
        return reached[0], 0, None
    assert not reached
    return None, answered[0]["status"], json.loads(answered[1]["body"])


@pytest.mark.parametrize("via", ROUTES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions", "/new"]
)
def test_a_spec_is_refused_with_who_has_to_mend_what(
    path: str, encoding: str, via: enforcer.Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfit, "_why", "")
    unfit.refuse_because("vLLM 9 is untested")
    raw = json.dumps({"messages": ASK, **enforcer.extra_body([TOOL], via=via)}).encode(encoding)
    reached, status, said = sent(raw, path)
    assert (reached, status) == (None, 501)
    message = said["error"]["message"]
    assert "vLLM 9 is untested" in message
    assert "operator" in message
    assert "$.structured_outputs.structural_tag" in message or "$.vllm_xargs.enforcer" in message
    assert (said.get("type") == "error") is (path == "/v1/messages")


@pytest.mark.parametrize("via", ROUTES)
def test_a_body_of_token_ids_has_its_spec_in_its_sampling_parameters(via: enforcer.Route) -> None:
    body = enforcer.extra_body([TOOL], via=via)
    own = {"extra_args": body["vllm_xargs"]} if "vllm_xargs" in body else body
    raw = json.dumps({"token_ids": [1], "sampling_params": own}).encode()
    reached, status, said = sent(raw, "/inference/v1/generate")
    assert (reached, status) == (None, 501)
    assert said["error"]["param"].startswith("sampling_params.")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"enforcer",
        b'["enforcer"]',
        json.dumps({"messages": ASK, "tools": [TOOL]}).encode(),
        json.dumps({"messages": [{"role": "user", "content": '"enforcer": {}'}]}).encode(),
        json.dumps({"vllm_xargs": {"enforcer": "off"}}).encode(),  # a word, which is no spec
        json.dumps({"structured_outputs": {"structural_tag": '{"type": "enforcer"}'}}).encode(),
        json.dumps({"structured_outputs": 3, "sampling_params": [], "x": "enforcer"}).encode(),
        b"[" * 100_000 + b"enforcer",
    ],
)
def test_others_reach_vllm_as_they_are(raw: bytes) -> None:
    assert sent(raw) == (raw, 0, None)


def test_it_gets_onto_the_command_line_once_and_not_beside_the_logits_processor() -> None:
    read = unfit.from_cli_args(lambda cls, args: (cls, args.middleware))
    args = SimpleNamespace(middleware=["own"], logits_processors=None)
    name = "enforcer.vllm.unfit.RefuseSpecs"
    assert read("C", args) == ("C", ["own", name])
    assert read("C", args) == ("C", ["own", name])
    processor = "enforcer.vllm.logits_processor:EnforcerLogitsProcessor"
    args = SimpleNamespace(middleware=[], logits_processors=[processor])
    assert read("C", args) == ("C", [])


def serve_unenforced() -> None:
    error = enforcer.UnsupportedHost("vLLM 9 is untested")
    patches._serve_unenforced(error, settings.read({}))


def test_where_not_even_the_command_line_is_read_alike_the_log_says_what_may_happen(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "vllm.engine.arg_utils:EngineArgs.from_cli_args"
    monkeypatch.setitem(patches.PATCHES, name, patches.Patch("other", ""))
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        serve_unenforced()
    own = [record for record in caplog.records if record.name == "vllm.enforcer"]
    _, line = [record.getMessage() for record in own]
    assert "may be served unenforced" in line
    assert name in line


def test_a_front_end_that_takes_no_middleware_gets_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It does not start with one."""
    wrapped: list[object] = []
    monkeypatch.setattr(patches, "_wrap", lambda *of: wrapped.append(of))
    monkeypatch.setattr(unfit, "_why", "")
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        serve_unenforced()
    assert "takes no middleware" in caplog.text
    assert not wrapped
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "0")
    serve_unenforced()
    assert len(wrapped) == 1


# In every process of a server, as no parent can patch what it spawns.
_OTHER = """
import importlib.util, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "vllm":
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        run = found.loader.exec_module

        def as_another(module):
            run(module)
            module.__version__ = "0.34.0"

        found.loader.exec_module = as_another
        return found

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.vllm
def test_no_route_serves_a_spec_unenforced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(_OTHER)
    monkeypatch.syspath_prepend(tmp_path)
    parts = FREE.__class__(FREE.name, (*FREE.flags, "--enable-scale-out"), "enforcer")
    log = tmp_path / "server.log"
    with serving(TINY, parts, log, PYTHONPATH=str(tmp_path)) as server:

        def post(path: str, body: dict[str, Any]) -> httpx.Response:
            asked = {"model": MODEL_NAME, "max_tokens": 8, **body}
            return httpx.post(f"{server.url}{path}", json=asked, timeout=300)

        anthropic = [{"name": "get", "input_schema": {"type": "object"}}]
        for via in ROUTES:
            own = enforcer.extra_body([TOOL], "required", messages=ASK, via=via)
            as_ids = {"extra_args": own["vllm_xargs"]} if "vllm_xargs" in own else own
            chat = {"messages": ASK, "tools": [TOOL], "tool_choice": "required", **own}
            bodies: dict[str, dict[str, Any]] = {
                "/v1/chat/completions": chat,
                "/v1/messages": {"messages": ASK, "tools": anthropic, **own},
                "/v1/responses": {"input": "Where?", "tools": [{"type": "function", "name": "get"}]}
                | own,
                "/v1/completions": {"prompt": "Where?", **own},
                "/inference/v1/generate": {"token_ids": [72], "sampling_params": as_ids},
            }
            for path, body in bodies.items():
                for stream in (False, True):
                    answer = post(path, body | {"stream": stream})
                    assert answer.status_code == 501, (path, answer.text)
                    assert "0.34.0 is untested" in answer.text
        plain = post("/v1/chat/completions", {"messages": ASK, "tools": [TOOL]})
        assert plain.status_code == 200, plain.text
    assert "nothing is enforced" in log.read_text()
