"""A real server in a process of its own, a real browser, and pages watched for what should not happen."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_COMMAND = "from matroid_bandits.cli import main; main()"
_WAIT = 240.0

#: Texts whose contrast with what is behind them is too low, and by how much a page is wider than the screen.
FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const over = (colors) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest('[disabled], noscript')) continue;
    const behind = [];
    for (let e = element; e; e = e.parentElement) behind.unshift(getComputedStyle(e).backgroundColor);
    const style = getComputedStyle(element);
    const ground = over(behind);
    const ink = over([...behind, element instanceof SVGElement ? style.fill : style.color]);
    const [a, b] = [light(ground), light(ink)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(`${texts.currentNode.data.trim()}: ${ink} on ${ground}`);
  }
  return faint;
}"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Site:
    """A server with keys of every role, and what a client from elsewhere does to it."""

    def __init__(self, folder: Path, *options: str) -> None:
        from matroid_bandits.service import Database, create_key  # not everybody has what it needs

        self._folder, self._options = folder, options
        database = Database(str(folder / "campaigns.db"))
        database.open()
        self.keys = {role: create_key(database, role) for role in ("read", "decide", "admin")}
        database.close()
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [
            sys.executable,
            "-c",
            _COMMAND,
            "serve",
            "--db",
            "campaigns.db",
            "--port",
            str(self.port),
            *self._options,
        ]
        environment = os.environ | {"MATROID_BANDITS_LOG_LEVEL": "warning"}
        with open(self._folder / "log", "a") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("Serving http://"):
            self.stop()
            pytest.fail(f"the server did not start: {line}{(self._folder / 'log').read_text()}")
        self.port = urlsplit(line.split()[1]).port or 0

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_WAIT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def send(self, method: str, path: str, body: Any = None, role: str = "admin") -> Any:
        """A request of a client that is no browser."""
        import httpx

        headers = {"Authorization": f"Bearer {self.keys[role]}"}
        response = httpx.request(method, self.address + path, json=body, headers=headers, timeout=_WAIT)
        assert response.is_success, response.text
        return response.json()

    def create(self, name: str, items: list[Any], rank: int = 1, **more: Any) -> None:
        matroid = {"kind": "uniform", "rows": items, "rank": rank}
        self.send("POST", "/v1/campaigns", {"name": name, "matroid": matroid, "policy": "OMM", "seed": 1} | more)

    def visit(self, name: str, weights: Callable[[Any], float], n: int = 1) -> None:
        """Ask and tell, as a product does."""
        for _ in range(n):
            decision = self.send("POST", f"/v1/campaigns/{name}/ask", {})
            told = [[label, weights(label)] for label in decision["items"]]
            self.send("POST", f"/v1/campaigns/{name}/tell", {"decision": decision["decision"], "weights": told})


@pytest.fixture(scope="module")
def site(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server for the tests of a file; not started where there is no browser."""
    made = Site(tmp_path_factory.mktemp("site"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Debian's browser, or the one that playwright brought along."""
    reason = "left out: the page's tests need playwright (make browser)"
    api = pytest.importorskip("playwright.sync_api", reason=reason)
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with api.sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("left out: the page's tests need a browser (apt-get install chromium)")
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS.split())
        yield browser
        browser.close()


@contextlib.contextmanager
def watched(chromium: Any, is_inside: Callable[[str], bool]) -> Iterator[tuple[Callable[..., Any], list[str]]]:
    """New pages, and what they complain of, which fails the test: messages, dialogs, requests to elsewhere."""
    contexts, complaints = [], []

    def new_page(width: int = 1280, **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 800}, **options)
        context.set_default_timeout(240_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: is_inside(request.url) or complaints.append(f"asked {request.url}"))
        return page

    yield new_page, complaints
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def visit(chromium: Any, site: Site) -> Iterator[Callable[..., Any]]:
    """Open a page, signed in with the key of a role."""
    with watched(chromium, lambda url: _is_inside(url, site)) as (new_page, complaints):

        def opened(path: str = "/", role: str | None = "admin", **options: Any) -> Any:
            page = new_page(**options)
            if role is not None:
                sign_in(page, site, site.keys[role])
            page.goto(site.address + path)
            return page

        opened.complaints = complaints  # type: ignore[attr-defined]
        yield opened


def sign_in(page: Any, site: Site, key: str) -> None:
    """Fill the login form in and send it."""
    page.goto(f"{site.address}/login")
    page.get_by_label("Key").fill(key)
    with page.expect_navigation():
        page.get_by_role("button", name="Sign in").click()


def _is_inside(url: str, site: Site) -> bool:
    return url.startswith((site.address + "/", "data:", "about:"))


def until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    """Wait for something that a page does not show."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@contextlib.contextmanager
def down(site: Site) -> Iterator[None]:
    """The server is away, and comes back at the same address."""
    site.stop()
    try:
        yield
    finally:
        site.start()
