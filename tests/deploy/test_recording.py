"""The two ways of recording requests that a page shows give bodies that `enforcer check` reads."""

import importlib.util
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from enforcer.documents import Document
from enforcer.tools.cli import declarations
from tests.snippets import MESSAGES, ROOT, TOOLS, blocks

PAGE = ROOT / "docs/vllm/rolling-out.md"
BODY = {
    "model": "kimi",
    "messages": [*MESSAGES, {"role": "user", "content": 'Zoë says "é\\" \u2028 \n and\tmore'}],
    "tools": TOOLS,
}


def _order(*words: str) -> str:
    (found,) = (
        line
        for block in blocks(PAGE, "sh")
        for line in block.splitlines()
        if all(word in line for word in words)
    )
    return found


def _run(order: str, folder: Path) -> list[object]:
    subprocess.run([shutil.which("sh"), "-c", order], cwd=folder, check=True)
    recorded = (folder / "requests.jsonl").read_text()
    return [json.loads(line) for line in recorded.split("\n") if line]


def test_bodies_are_taken_out_of_vllms_log(tmp_path: Path) -> None:
    prefix = "(APIServer pid=7) DEBUG 11-24 06:50:09 [entrypoints/.../utils/request_logger.py:74]"
    lines = [
        "(EngineCore pid=8) DEBUG 11-24 06:50:08 [core.py:1] EngineCore loop active.",
        f"{prefix} Request b5db76b54cb8fbcc JSON body: {json.dumps(BODY, ensure_ascii=False)}",
        f"{prefix.replace('74', '65')} Received request chatcmpl-7: params: SamplingParams(n=1)",
    ]
    (tmp_path / "server.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert _run(_order("sed", "JSON body"), tmp_path) == [BODY]


def test_vllm_writes_such_lines() -> None:
    spec = importlib.util.find_spec("vllm")
    if spec is None:
        pytest.skip("vLLM is not installed")
    source = Path(spec.origin).parent / "entrypoints/serve/utils/request_logger.py"
    assert '"Request %s JSON body: %s"' in source.read_text()


_SCHEMA = {"properties": {"n": {"enum": [None, 1], "default": None}}}
_SAID = [*MESSAGES, {"role": "user", "content": [{"type": "text", "text": "a secret"}]}, "a secret"]
_NAMED = {"type": "json_schema", "name": "n", "schema": _SCHEMA}
_SERVER = {
    "type": "mcp",
    "server_label": "ours",
    "server_url": "https://mcp.example.com",
    "authorization": "a secret",
    "headers": {"key": "a secret"},
}
# One for each place where a body of any API has something to check, and what has nothing.
_BODIES: tuple[dict[str, object], ...] = (
    {"messages": _SAID, "tools": TOOLS},
    {"messages": _SAID, "response_format": {"type": "json_schema", "json_schema": _NAMED}},
    {"messages": _SAID, "response_format": {"type": "json_object"}},
    {"messages": _SAID, "structured_outputs": {"regex": "a+"}},
    {"messages": _SAID, "structured_outputs": {"json": _SCHEMA}, "tools": TOOLS},
    {"messages": [*_SAID, {"role": "system", "content": "a secret", "tools": TOOLS}]},
    {"messages": _SAID, "tools": [{"name": "n", "input_schema": _SCHEMA}], "system": "a secret"},
    {"messages": _SAID, "output_config": {"effort": "low", "format": _NAMED}},
    {"input": "a secret", "model": "kimi", "text": {"format": _NAMED}},
    {"input": _SAID, "model": "kimi", "tools": [_SERVER, {"type": "function", "name": "n"}]},
    {"input": "a secret", "model": "kimi", "tools": [_SERVER], "text": "a secret"},
    {"prompt": "a secret", "model": "kimi", "response_format": {"type": "json_object"}},
    {"messages": "a secret", "model": "kimi", "tools": [7, {"type": "function"}]},
)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize("body", _BODIES, ids=range(len(_BODIES)))
def test_check_input_is_kept_and_user_text_is_not(body: dict[str, object], tmp_path: Path) -> None:
    (order,) = (block for block in blocks(PAGE, "sh") if "output_config" in block)
    (tmp_path / "requests.jsonl").write_text(json.dumps(body) + "\n")
    subprocess.run([shutil.which("sh"), "-c", order], cwd=tmp_path, check=True)
    kept = (tmp_path / "tools.jsonl").read_text()
    assert "secret" not in kept
    assert MESSAGES[0]["content"] not in kept
    found = [_read(json.loads(line)) for line in kept.splitlines()]
    assert found == ([] if "prompt" in body else [_read(body)])


def _read(body: dict[str, object]) -> tuple[list[object], int]:
    """Give what `enforcer check` finds in a body, and how much it cannot read."""
    found = declarations.find(Document(body, "a file"))
    return [(one.name, one.schema, one.root, one.form) for one in found.declared], len(
        found.unreadable
    )


class _Upstream(BaseHTTPRequestHandler):
    ids: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.ids.append(self.headers["X-Request-Id"])  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), _Upstream)
    server.ids = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _free_port() -> int:
    with HTTPServer(("127.0.0.1", 0), _Upstream) as server:
        return server.server_port


@pytest.fixture
def gateway(tmp_path: Path, upstream: HTTPServer) -> Iterator[str]:
    """Run the page's nginx, in a folder of its own; gives its address."""
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("nginx is not installed")
    port = _free_port()
    (shown,) = blocks(PAGE, "nginx")
    for old, new in (
        ("http://vllm:8000", f"http://127.0.0.1:{upstream.server_port}"),
        ("listen 8080", f"listen 127.0.0.1:{port}"),
        ("/var/log/nginx/", f"{tmp_path}/"),
    ):
        assert shown.count(old) == 1
        shown = shown.replace(old, new)
    file = tmp_path / "nginx.conf"
    around = f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/errors;"
    file.write_text(
        f"{around}\nevents {{}}\nhttp {{\nclient_body_temp_path {tmp_path}/t;\n{shown}}}\n"
    )
    process = subprocess.Popen([nginx, "-c", str(file), "-e", f"{tmp_path}/errors"])
    yield f"http://127.0.0.1:{port}/v1/chat/completions"
    process.terminate()
    process.wait(10)


def _post(address: str, body: bytes) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(urllib.request.Request(address, body), timeout=10).close()  # noqa: S310 - http
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)  # it is being started
        else:
            return
    pytest.fail("nginx does not answer")


@pytest.mark.slow
def test_nginx_records_bodies(tmp_path: Path, gateway: str, upstream: HTTPServer) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    # As it is, and over several lines: recorded as one.
    _post(gateway, json.dumps(BODY, ensure_ascii=False).encode())
    _post(gateway, json.dumps(BODY, indent=1).encode())
    # Too large to be recorded: nginx keeps a quarter more than its buffer in memory.
    _post(gateway, b'{"messages": "' + b"x" * (12 << 20) + b'"}')
    _post(gateway, b'{"model": "last"}')
    log = tmp_path / "bodies.log"
    for _ in range(100):
        if log.is_file() and log.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.1)
    assert _run(_order("jq", "bodies.log"), tmp_path) == [BODY, BODY, {"model": "last"}]
    ids = upstream.ids  # type: ignore[attr-defined]
    assert len(set(ids)) == 4
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in ids)
