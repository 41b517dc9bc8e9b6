"""Runs it: a server with the plugin, one without, Prometheus, the page, a picture.

Needs `npm`, `prometheus` and `chromium`; the first run installs 600 MB into `page/node_modules`.
Exits with 0 once the picture is written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import httpx
import yaml
from PIL import Image

from bench.dashboard import load
from bench.demo.__main__ import MODEL, ROOT
from bench.demo.servers import ENFORCED, FREE, Server, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).with_name("page")
MODULES = PAGE / "node_modules"
SCRAPED = 5  # seconds between two looks of Prometheus
WIDTH, HEIGHT = 1600, 2562
# What the page asks for, and where it lies.
FILES = {
    "/enforcer.json": ROOT / "deploy/grafana/dashboards/enforcer.json",
    "/public/fonts/inter/Inter-Regular.woff2": MODULES
    / "@fontsource/inter/files/inter-latin-400-normal.woff2",
    "/public/fonts/inter/Inter-Medium.woff2": MODULES
    / "@fontsource/inter/files/inter-latin-500-normal.woff2",
}
ICONS = "/public/build/img/icons"
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Files(SimpleHTTPRequestHandler):
    """The built page, and what it needs from elsewhere."""

    def translate_path(self, path: str) -> str:
        """Give the file of an address."""
        path = path.partition("?")[0]
        if path.startswith(ICONS):
            return str(MODULES / "@grafana/ui/dist/public/img/icons") + path[len(ICONS) :]
        return str(FILES.get(path, super().translate_path(path)))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Text(SimpleHTTPRequestHandler):
    """One text, whatever is asked."""

    def __init__(self, text: str, *rest: object) -> None:
        self._text = text
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer it."""
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.end_headers()
        with suppress(BrokenPipeError):  # whoever asked was ended, or waits no longer
            self.wfile.write(self._text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _served(handler: Callable[..., SimpleHTTPRequestHandler]) -> Iterator[str]:
    """Answer on a port of this machine; gives host and port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def _configuration(folder: Path, targets: list[str]) -> Path:
    """Write Prometheus's own of `deploy/`, for these targets, more often."""
    kept = ROOT / "deploy/prometheus"
    config = yaml.safe_load((kept / "prometheus.yml").read_text())
    config["global"] = dict.fromkeys(("scrape_interval", "evaluation_interval"), f"{SCRAPED}s")
    config["rule_files"] = [str(kept / file) for file in config["rule_files"]]
    config["scrape_configs"][0]["static_configs"] = [
        {"targets": [target], "labels": {"instance": f"kimi-{number}:8000"}}
        for number, target in enumerate(targets)
    ]
    file = folder / "prometheus.yml"
    file.write_text(json.dumps(config))  # JSON is YAML
    return file


def main() -> int:
    """Serve, ask, scrape, draw; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--theme", choices=("dark", "light"), default="dark")
    parser.add_argument("--png", type=Path, default=Path("dashboard.png"))
    arguments = parser.parse_args()
    os.environ.setdefault("ENFORCER_ALLOW_CLIENT", "off,relax,isolate")
    if not MODULES.exists():
        subprocess.run(("npm", "install"), cwd=PAGE, check=True)  # noqa: S607
    subprocess.run(("npx", "vite", "build", "--logLevel=error"), cwd=PAGE, check=True)  # noqa: S607
    with tempfile.TemporaryDirectory() as name:
        _run(Path(name), arguments)
    return 0


def _run(folder: Path, arguments: argparse.Namespace) -> None:
    with Server(MODEL, FREE, folder / "free.log") as free:
        free.wait_until_ready()
        without = httpx.get(f"{free.url}/metrics/").text
    port = free_port()
    with (
        _served(partial(Text, without)) as other,
        _served(partial(Files, directory=str(PAGE / "dist"))) as page,
        Server(MODEL, ENFORCED, folder / "enforced.log") as server,
    ):
        server.wait_until_ready()
        file = _configuration(folder, [server.url.removeprefix("http://"), other])
        words = (
            *("prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"),
            *(f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"),
        )
        with subprocess.Popen(words) as prometheus:
            try:
                begin = time.time()
                print(asyncio.run(load.send(server.url, arguments.minutes)))
                query = {
                    "prometheus": f"http://127.0.0.1:{port}",
                    "from": int(begin),
                    "to": int(time.time()),
                    "interval": SCRAPED,
                    "theme": arguments.theme,
                    "width": WIDTH,
                }
                _draw(folder, f"http://{page}/?{urlencode(query)}", arguments.png)
            finally:
                prometheus.terminate()


def _draw(folder: Path, url: str, png: Path) -> None:
    drawn = folder / "drawn.png"
    words = (
        *("chromium", *QUIET, f"--user-data-dir={folder / 'chromium'}", f"--screenshot={drawn}"),
        *(f"--window-size={WIDTH + 32},{HEIGHT}", "--virtual-time-budget=30000", url),
    )
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    quantized = (
        Image.open(drawn)
        .convert("RGB")
        .quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    quantized.save(png, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
