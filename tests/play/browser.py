"""A browser to look at pages with: Chromium, wherever it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}


class NoBrowserError(Exception):
    """There is none, or nothing to drive it by."""


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium, driven by Playwright; raises `NoBrowserError`."""
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
                executable_path=found, args=["--no-sandbox"] if root else []
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
        page.set_default_timeout(60_000)
        page.goto(address)
        yield page
    finally:
        context.close()
