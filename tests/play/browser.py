"""A browser to look at pages with: Chromium, wherever it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from docs.static_play import named_runtime

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""It finds no machine but this one."""
PATIENCE = 120
"""Seconds that a page may take: Python starts in one, on a machine that is busy."""


class NoBrowserError(Exception):
    """There is none, or nothing to drive it by."""


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium without network; raises `NoBrowserError`.

    It is driven by Playwright.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise NoBrowserError(
            "playwright is not installed: pip install 'tensorgen[browser]'"
        ) from error
    found = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    # Its sandbox is made of what root may not have.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as driver:
        try:
            made = driver.chromium.launch(
                executable_path=found, args=[ALONE, *["--no-sandbox"] * root]
            )
        except Error as error:
            raise NoBrowserError("no Chromium: install it, or set CHROMIUM") from error
        try:
            yield made
        finally:
            made.close()


@contextmanager
def serving() -> Iterator[str]:
    """`tensorgen play`, and the address of its page."""
    command = [sys.executable, "-m", "tensorgen", "play", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().strip()
        finally:
            process.terminate()


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """A server of files and nothing else, and the address of a folder."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def runtime_folder() -> Path:
    """Where Pyodide was unpacked, by the environment; skips where nothing says so."""
    found = named_runtime()
    if found is None:
        pytest.skip("no Pyodide: set PYODIDE to the folder of its release")
    return found


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *told: object) -> None:
        """Tell nothing."""


@contextmanager
def opened(
    browser: Any, address: str, size: str = "desktop", scheme: str = "light"
) -> Iterator[Any]:
    """A page at an address; what its console says and asks for is `page.told`."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        has_touch=size == "phone",
        accept_downloads=True,
    )
    try:
        page = context.new_page()
        page.told = []
        page.on("console", lambda said: page.told.append(said.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(address)
        yield page
    finally:
        context.close()


def until(page: Any, told: str) -> None:
    """Wait until something holds of the page, whose policy lets it ask nothing."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(told):
        assert time.monotonic() < end, told
        page.wait_for_timeout(50)


def done(page: Any) -> None:
    """Wait until what was typed has been answered."""
    page.wait_for_selector("#function section")
    until(
        page,
        "document.querySelector('#status').textContent.startsWith('Compiled')"
        " && !document.querySelector('#told').classList.contains('stale')",
    )
